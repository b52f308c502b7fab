"""Messages beside the record: problems that were admitted, and answers that episodes gave, compared both ways."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import orjson
from pydantic import ValidationError

from schemas.asking import Diverged
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.identity import canonical
from schemas.problem import Problem
from schemas.settings import PROMPTS
from streams.core.closing import answer_of
from streams.core.judgements import judgements
from streams.producing.sources import BadLine
from streams.replay.claimed import Sort
from streams.replay.left_out import Leftovers
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import messages, problems
from streams.runtime.embedded.queries.messages import as_bytes
from streams.runtime.kafka.admission import foreign

LATER_IN_ANSWERS = (("plain",), ("judgements",), ("confidence_source", "calibrated"))
"""What answers of earlier builds lack, the newest first."""
SOLVED = "problems that solve was given"
WHY_SOLVED = "they stand in their admissions alone"


@dataclass
class Messages:
    """The messages of one log, as far as they say what its record says too."""

    log: SqliteLog
    sort: Sort
    left: Leftovers

    # -- answers -----------------------------------------------------------------------------------

    def answered(self, episode: str, journal: Mapping[str, Event], met: Iterable[Event]) -> None:
        """Raises ``Diverged`` where an answer on its topic is not what its episode ended with.

        ``met`` is what was met on the way: for the member of a set its part of the set's record.
        """
        closed, opened, admitted = (journal.get(at) for at in ("closed", "opened", "admitted"))
        if not (
            isinstance(closed, EpisodeClosed)
            and isinstance(opened, EpisodeOpened)
            and isinstance(admitted, ProblemAdmitted)
        ):
            return
        derived = canonical(answer_of(episode, admitted, opened, closed, judgements(met)))
        said = messages.value_of(self.log, "answers", episode)
        if said is not None:
            # As this build gives it, or as an earlier one did, which each lacked a little more: a log
            # stays verifiable when the product is installed anew.
            known, fields = [derived], orjson.loads(derived)
            for names in LATER_IN_ANSWERS:
                fields = {name: fields[name] for name in fields if name not in names}
                known.append(canonical(fields))
            if said not in known:
                told = said.decode("utf-8", "replace")
                raise Diverged(episode, "closed", "answer", told, derived.decode())
        # Answers are relayed behind their records, and a broker forgets them by its own rules:
        # nothing there is no sign of a change.
        elif self.sort == "kafka":
            self.left.add("closings without an answer", "not relayed yet, or no longer kept")
        else:
            raise Diverged(episode, "closed", "answer", "nothing on the topic", derived.decode())

    def forged(self) -> Iterator[Diverged]:
        """Answers of episodes that were never closed."""
        for key, value in problems.unasked(self.log):
            said = value.decode("utf-8", "replace")
            yield Diverged(key, "closed", "answer", said, "no episode that ended so")

    # -- problems ----------------------------------------------------------------------------------

    def admitted(self, episode: str, admitted: ProblemAdmitted) -> None:
        """Raises ``Diverged`` where a problem is not what was put on its topic."""
        problem = admitted.problem
        if self.sort == "file":
            if admitted.offset == 0:
                self.left.add(SOLVED, WHY_SOLVED)
                return
            put = problems.put_at(self.log, admitted.offset)
            if put is None:
                raise Diverged(episode, "admitted", "problem", _said(problem), "no such message")
            sent = problem_of(put)
            if sent is None or not _is_sent(problem, sent):
                now = _said(sent or put)
                raise Diverged(episode, "admitted", "problem", _said(problem), now)
        elif not any(_is_sent(problem, s) for s in self._sent[problem.domain, problem.id]):
            if self.sort == "part" and not self._sent[problem.domain, problem.id]:
                self.left.add("problems as they were put", "they are not in this part of the log")
                return
            found = self._sent[problem.domain, problem.id]
            now = _said(found[0]) if found else "no such message"
            raise Diverged(episode, "admitted", "problem", _said(problem), now)

    @cached_property
    def _sent(self) -> defaultdict[tuple[str, str], list[Problem]]:
        """Return the problems that were put, by domain and id: on Kafka admissions name other offsets than this
        file's.
        """
        found: defaultdict[tuple[str, str], list[Problem]] = defaultdict(list)
        for _, value in messages.values(self.log, "problems"):
            problem = problem_of(value)
            if problem is not None:
                found[problem.domain, problem.id].append(problem)
        return found

    def unadmitted(self) -> Iterator[Diverged]:
        """Problems on their topic that were read, and neither admitted nor refused."""
        if self.sort != "file":
            return
        taken = problems.taken_upto(self.log)
        waiting = messages.count(self.log, "problems", after=taken)
        self.left.add("problems", "nobody has read them yet", waiting)
        for key, value in problems.unadmitted(self.log, taken):
            problem = problem_of(value)
            if problem is not None and problems.is_admitted(self.log, problem.domain, problem.id):
                self.left.add("messages of problems", "the same problem was admitted from another")
            else:
                yield Diverged(key, "admitted", "problem", "nothing", _said(problem or value))

    @property
    def settled(self) -> bool:
        """Whether every problem on the topic was admitted, none refused."""
        if self.sort != "file":
            return False
        waiting = messages.count(self.log, "problems", after=problems.taken_upto(self.log))
        return not waiting and not problems.refused(self.log)


def _is_sent(problem: Problem, sent: Problem) -> bool:
    """Whether a problem is the one that was sent, but for prompts that it left to its worker."""
    # Whoever names no policy leaves the choice of prompts to the worker, which then writes it into
    # the admission.
    left = sent.policy is None and PROMPTS not in sent.settings
    if left and PROMPTS in problem.settings:
        kept = {name: said for name, said in problem.settings.items() if name != PROMPTS}
        problem = problem.model_copy(update={"settings": kept})
    return problem == sent


def problem_of(value: bytes | str) -> Problem | None:
    """The problem of a message, ours or a foreign client's."""
    try:
        return Problem.model_validate_json(value)
    except ValidationError:
        try:
            # A file keeps a message as text where it is one, and a foreign client's is read as bytes.
            return foreign(as_bytes(value))[0]
        except BadLine:
            return None


def _said(problem: Problem | bytes | str) -> str:
    if isinstance(problem, Problem):
        return problem.model_dump_json(exclude_defaults=True)
    return problem if isinstance(problem, str) else problem.decode("utf-8", "replace")
