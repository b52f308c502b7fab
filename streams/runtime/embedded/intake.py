"""Intake: turns problems on the topic into admitted episodes; what it cannot admit is kept as it came."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from typing import Any, TypeAlias

from pydantic import ValidationError

from handlers.policies.base import Policy
from schemas.carried import TooMuch, carried, of_text
from schemas.events.codec import decode
from schemas.events.episode import ProblemAdmitted
from schemas.identity import digest, episode_id, names_a_file, run_id, scope_id
from schemas.letters import errors_of
from schemas.problem import Problem
from schemas.record import Record
from schemas.settings import BACKBONE, BadSetting, chosen, unoffered
from schemas.subjects import subject_of
from schemas.written import problem_of
from streams.engine.episode import settings_of
from streams.engine.policies import Find, NoPolicy
from streams.producing.sources import BadLine
from streams.producing.typed import need_same_type, type_mark
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.embedded.marks import left
from streams.runtime.embedded.queries.conditions import (
    IS_CLOSED,
    IS_PUT,
    IS_TAKEN_OUT,
    TAKEN,
    TIMES_ADOPTED,
    TIMES_PARKED,
)
from streams.runtime.embedded.queries.episodes import is_open_on
from streams.runtime.faults import told

BATCH = 64
OPEN = f"""
select partition, episode, kind, body from records a where address = 'admitted' and offset >= ?
  and {IS_PUT} and not {IS_CLOSED} and not {IS_TAKEN_OUT} and {TIMES_PARKED} {{}} {TIMES_ADOPTED}
  order by offset
"""
SCOPE = "scope"
"""Header of a problem whose policy is a file: the scope that it belongs to."""
_DIGEST = re.compile(r"[0-9a-f]{12}")
UNHEARD = "select 1 from records where offset > ? and topic = 'learning' and epoch = 0 limit 1"
Usual: TypeAlias = Callable[[Problem], Mapping[str, Any]]
"""What a worker sets for its own policy where a problem does not: prompts of its files, a strong model."""
POSITION = """
select 1 from records where address = 'admitted' and json_extract(body, '$.scope') = ?
  and json_extract(body, '$.problem.series') = ? and json_extract(body, '$.problem.position') = ? limit 1
"""


def episode_of(problem: Problem, default_policy: str) -> str:
    """The episode of a problem."""
    policy = problem.policy or default_policy
    run = run_id(
        policy, problem.profile, problem.settings, problem.seed, problem.walk, problem.series
    )
    return episode_id(problem.domain, problem.id, run)


def scope_of(policy: Policy[Any], problem: Problem) -> str:
    """The scope that a problem's episode belongs to."""
    values = policy.settings.learning_values(problem.profile, problem.settings)
    return scope_id(problem.domain, policy.name, problem.memory, values)


def nothing_usual(problem: Problem) -> Mapping[str, Any]:
    """What a worker sets that was told nothing."""
    return {}


def as_usual(problem: Problem, usual: Usual) -> Problem:
    """The problem with what its worker usually sets, where it leaves to the worker how it is worked on.

    One that names its policy does not: whoever put it knows its episode's name, which settings are part of.
    """
    if problem.policy is not None:
        return problem
    return problem.model_copy(update={"settings": {**usual(problem), **problem.settings}})


def need_offered(policy: Policy[Any] | None, problem: Problem, offered: Collection[str]) -> None:
    """Raises ``BadSetting`` where a problem chooses a backbone that its worker does not offer."""
    # Only who has the policy knows what it usually chooses.
    name = chosen(problem.settings) if policy is None else settings_of(policy, problem).backbone
    if name is not None and name not in offered:
        raise BadSetting(f"settings.{BACKBONE}: {unoffered(name, offered)}")


def placed(
    find: Find, problem: Problem, default_policy: str, told: object
) -> tuple[str, Policy[Any] | None]:
    """The scope of a problem and its policy. Raises ``NoPolicy``, or ``BadSetting`` for its settings.

    Where its policy is a file that was not given here, the scope is the one that its producer ``told``:
    only who has a policy can say it. The problem is admitted and waits.
    """
    try:
        policy = find(problem.policy or default_policy)
    except NoPolicy:
        # What a stranger's header says becomes the name under which things are learned. So only one
        # that this problem could have had is believed.
        begins = f"{problem.domain}/{problem.policy}/{problem.memory}/"
        scope = told if isinstance(told, str) and names_a_file(problem.policy or "") else ""
        if not scope.startswith(begins) or not _DIGEST.fullmatch(scope.removeprefix(begins)):
            raise
        return scope, None
    settings_of(policy, problem)
    return scope_of(policy, problem), policy


class Intake:
    """Reads the problems topic from its committed position on."""

    def __init__(
        self,
        log: SqliteLog,
        writer: Writer,
        find: Callable[[str], Policy[Any]],
        default_policy: str,
        scopes: Container[str] = (),
        usual: Usual = nothing_usual,
        offered: Collection[str] = (),
    ) -> None:
        self.log, self.writer, self.find = log, writer, find
        self.default_policy, self.scopes, self.usual = default_policy, scopes, usual
        self.offered = offered
        self.position = log.position("intake", "problems")
        # What others said before this is read with all that the learner starts from.
        self.commands_read = log.end()
        self.more = True
        self.left: list[tuple[str, ProblemAdmitted]] = []
        """Problems that came and are open already, by a solve that works on them or was killed."""

    def unfinished(self) -> Iterator[tuple[str, ProblemAdmitted]]:
        """Admitted episodes that are neither closed nor parked, oldest first; those of side runs are in ``left``."""
        for partition, episode, admitted in self._admitted(OPEN.format("=")):
            if partition:
                self.left.append((episode, admitted))
            else:
                yield episode, admitted

    def parked(self) -> list[str]:
        """Episodes that wait for a person."""
        return [episode for _, episode, _ in self._admitted(OPEN.format(">"))]

    def _admitted(self, query: str) -> Iterator[tuple[int, str, ProblemAdmitted]]:
        # Without a mark every episode that was ever admitted is looked at.
        first = left(self.log).open_from
        for partition, episode, kind, body in self.log.db.execute(query, (first,)).fetchall():
            event = decode(kind, body)
            assert isinstance(event, ProblemAdmitted)
            yield partition, episode, event

    def is_admitted(self, scope: str, series: str, position: int) -> bool:
        """Whether a place of a series has an episode."""
        return self.log.db.execute(POSITION, (scope, series, position)).fetchone() is not None

    def commands(self) -> Iterator[Record]:
        """Return what others stated on ``learning`` since the last look; this worker's own words were fed when
        stated.
        """
        # The end is fixed before the look: what another process appends while we read is read the
        # next time, and not skipped.
        end = self.log.end()
        yield from self.log.records("learning", after=self.commands_read, upto=end, epoch=0)
        self.commands_read = end

    @property
    def is_behind(self) -> bool:
        """Whether others stated something on ``learning`` since the last look."""
        return self.log.db.execute(UNHEARD, (self.commands_read,)).fetchone() is not None

    def take(self) -> Iterator[tuple[str, ProblemAdmitted]]:
        """Admit the next problems; they are durable with the writer's next commit."""
        taken = list(self.log.messages("problems", self.position, BATCH))
        self.more = len(taken) == BATCH
        understood = [(each, found) for each in taken if (found := self._understand(*each))]
        # A problem may come twice; asked for all at once, since a batch is one look at the index.
        known = self.log.holding((episode for _, (episode, _) in understood), "admitted")
        new: dict[str, ProblemAdmitted] = {}
        for message, (episode, event) in understood:
            before = self.log.find(episode, "admitted") if episode in known else new.get(episode)
            try:
                # What an erased subject's problem was nobody can tell.
                if isinstance(before, ProblemAdmitted):
                    need_same_type(event.problem, type_mark(before.problem))
            except BadLine as error:
                self._refuse(*message, str(error))
                continue
            if before is None and episode not in known:
                new[episode] = event
                self.writer.state("events", episode, "admitted", event)
                yield episode, event
            elif isinstance(before, ProblemAdmitted) and is_open_on(self.log, episode, aside=True):
                self.left.append((episode, before))
                # Its message may bear another key: whoever comes after us reads the topic from behind it.
                self.writer.advance(f"{TAKEN}{episode}", "problems", message[0])
        if taken:
            # The position rides in the commit of the admissions. Were it committed before them, a
            # kill in between would lose problems.
            self.position = taken[-1][0]
            self.writer.advance("intake", "problems", self.position)

    def _understand(
        self, offset: int, key: str, headers: dict[str, Any], value: bytes
    ) -> tuple[str, ProblemAdmitted] | None:
        # No message of a stranger may end the worker: it would end the next one too. What cannot be
        # taken is kept as it came, and the topic is read on.
        problem: Problem | None = None
        try:
            problem = as_usual(problem_of(value), self.usual)
            scope, policy = placed(self.find, problem, self.default_policy, headers.get(SCOPE))
            need_offered(policy, problem, self.offered)
            if policy is not None:
                source = policy.warm_source(settings_of(policy, problem))
                # Erasing a subject erases its own scopes alone: what it taught may stand in no
                # other's.
                if source is not None and subject_of(source) not in (None, problem.subject):
                    raise BadSetting(
                        "settings.warm_start: what a subject's problems taught stays with it"
                    )
                if source is not None and source not in self.scopes:
                    raise BadSetting(
                        f"settings.warm_start: nothing was learned in scope {source!r} here"
                    )
            kept = carried(of_text(headers))
            episode = episode_of(problem, self.default_policy)
        except NoPolicy as error:
            why = f"policy: {error}"
        except (BadSetting, TooMuch) as error:
            why = str(error)
        except (ValidationError, TypeError) as error:
            why = told(error, problem)
        else:
            event = ProblemAdmitted(problem=problem, scope=scope, offset=offset, headers=kept)
            return episode, event
        self._refuse(offset, key, headers, value, why)
        return None

    def _refuse(
        self, offset: int, key: str, headers: dict[str, Any], value: bytes, why: str
    ) -> None:
        """A dead letter with its own bytes as they came, in the commit that passes it over: nothing is lost."""
        errors = errors_of("problems", offset=offset, message=why)
        name = f"problems/{offset}/{digest(key)}"
        self.writer.send("dead-letters", name, value, headers | errors)
