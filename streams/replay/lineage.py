"""The lineage of a problem: what forgetting it would do, told before anything is done, and what stays on the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from handlers.policies.base import Policy, learn_nothing
from schemas.events.episode import LimitReached
from schemas.events.learning import (
    KnowledgeConsolidated,
    MemoryVersioned,
    ProblemForgotten,
    Reflected,
)
from schemas.identity import digest, episode_id, episode_parts, learning_id
from schemas.problem import Limits
from schemas.settings import BadSetting
from schemas.written import problem_of
from streams.engine.learner import Learner
from streams.engine.policies import NoPolicy
from streams.engine.scopes import Scope
from streams.runtime.embedded.intake import SCOPE, episode_of, placed
from streams.runtime.embedded.queries.problems import begun, holds
from streams.runtime.embedded.records import LogRecords

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


@dataclass(frozen=True, slots=True)
class Lineage:
    """The things that one scope made of a problem, and the steps that withdraw them."""

    scope: str
    episodes: tuple[str, ...]
    versions: tuple[str, ...]
    """Versions that are closed again, by their new names."""
    lessons: tuple[str, ...]
    rules: Mapping[str, int]
    """Rules by role that rest on those lessons, in the newest version."""
    calls: int
    """Model calls that writing rules again takes, one a role and version."""
    influenced: tuple[str, ...]
    """Later episodes that had something withdrawn in their prompts."""
    warmed: tuple[str, ...]
    """Scopes that began with rules of a version that is closed again."""
    queued: int = 0
    """How often it waits to be admitted there: it will be answered, and nothing learned from it."""


def asked(log: SqliteLog, problem_id: str) -> dict[str, dict[str, list[str]]]:
    """Episodes of a problem by domain and scope."""
    found: dict[str, dict[str, list[str]]] = {}
    marker = f"/{episode_id('-', problem_id, '').split('/')[2]}/"
    for episode, said in begun(log, marker):
        domain, id, _ = episode_parts(episode)
        if id == problem_id:
            found.setdefault(domain, {}).setdefault(said.scope, []).append(episode)
    return found


def queued(
    log: SqliteLog, problem_id: str, find: Callable[[str], Policy[Any]], default_policy: str
) -> dict[str, dict[str, list[str]]]:
    """The episodes that a problem will have which no worker admitted yet, by domain and scope."""
    found: dict[str, dict[str, list[str]]] = {}
    for _, _, headers, value in log.messages("problems", log.position("intake", "problems")):
        try:
            problem = problem_of(value)
            if problem.id != problem_id:
                continue
            told = headers.get(SCOPE) or headers.get(f"ce_{SCOPE}")
            scope, _ = placed(find, problem, default_policy, told)
        except (ValidationError, NoPolicy, BadSetting):
            continue  # intake refuses it, and says why
        episode = episode_of(problem, default_policy)
        if log.find(episode, "admitted") is None:
            found.setdefault(problem.domain, {}).setdefault(scope, []).append(episode)
    return found


def command(
    scope: str, domain: str, problem_id: str, limits: Limits, by: str | None, reason: str | None
) -> tuple[str, str, ProblemForgotten]:
    """The command that forgets a problem in one scope: episode, address, event."""
    event = ProblemForgotten(
        scope=scope, domain=domain, problem_id=problem_id, limits=limits, by=by, reason=reason
    )
    return f"n/{scope}/-", f"forgotten.{digest([domain, problem_id])}", event


class Tracing:
    """Lineages read from one log."""

    def __init__(self, log: SqliteLog, find: Callable[[str], Policy[Any]]) -> None:
        self.log, self.learner = log, Learner(find, LogRecords(log))
        self.reflected: dict[str, Reflected] = {}
        self.origins: dict[str, str] = {}
        """Scope and version that each warm scope began with."""
        for record in log.records("learning"):
            event = record.event
            if isinstance(event, Reflected) and event.items:
                self.reflected[record.episode] = event
            elif isinstance(event, MemoryVersioned) and event.origin is not None:
                self.origins[event.scope] = event.origin
            self.learner.feed(record.episode, record.address, event)

    def of(self, scope: str, domain: str, problem_id: str, episodes: list[str]) -> Lineage | None:
        """Return what forgetting would do to a scope; none if it forgot the problem before.

        Raises ``NoPolicy`` where the scope's policy is not here: nobody could say what would be asked again.
        """
        where, address, event = command(scope, domain, problem_id, Limits(), None, None)
        if self.log.find(where, address) is not None:
            return None
        if scope not in self.learner:
            return Lineage(scope, tuple(episodes), (), (), {}, 0, (), ())
        known = self.learner.known(scope)
        before = set(known.memory.forgetting.owed)
        self.learner.feed(where, address, event)  # in memory alone
        # What other forgets owe already is not this one's doing.
        owed = [n for n in known.memory.forgetting.owed if n not in before]
        return self._traced(known, owed, tuple(episodes))

    def _traced(self, scope: Scope, owed: list[int], episodes: tuple[str, ...]) -> Lineage:
        memory, gone, calls = scope.memory, dict[int, set[str]](), 0
        it, lessons, stale = memory.forgetting, set[str](), set[str]()
        # In their order: what one version withdraws is withdrawn from those that were made of it.
        for number in [n for n in owed if n in memory.versions]:
            again = memory.closing_without(number)
            it.withdrawn, it.stale = memory.touched(again)
            lessons, stale = it.withdrawn, it.stale
            items = memory.versions[number].whole()
            gone[number] = {i.id for i in items if i.id in lessons or i.role in stale} - {
                i.id for i in items if i.kind == "lesson" and i.id not in lessons
            }
            if scope.policy.relearn is learn_nothing:
                continue
            # A call for each role whose rules were written of something that is withdrawn now; all
            # other rules stay as they are.
            said = (fact for _, journal in memory.said(again) for fact in journal.values())
            written = {
                fact.role
                for fact in said
                if isinstance(fact, KnowledgeConsolidated)
                and fact.result == "consolidated"
                and fact.source is not None
            }
            calls += len(written & stale)
        held = [i.role for i in memory.latest.items if i.kind == "rule" and i.role in stale]
        known = memory.versions
        closed_again = tuple(
            f"{number}.{known[number].revision + 1 if number in known else 1}" for number in owed
        )
        influenced = (
            episode
            for episode, event in self.reflected.items()
            if event.scope == scope.id
            and not it.covers(episode)
            and gone.get(event.memory_version, set()).intersection(event.items)
        )
        origins = ((other, origin.rpartition("@")) for other, origin in self.origins.items())
        return Lineage(
            scope.id,
            episodes,
            closed_again,
            tuple(sorted(lessons)),
            {role: held.count(role) for role in sorted(set(held))},
            calls,
            tuple(influenced),
            tuple(
                other
                for other, (name, _, number) in origins
                if name == scope.id and int(number.partition(".")[0]) in owed
            ),
        )


def remains(log: SqliteLog, domain: str, problem_id: str) -> dict[str, int]:
    """Return what the log continues to hold of a problem, whoever forgets it."""
    return holds(log, domain, problem_id)._asdict()


def cut_short(log: SqliteLog, closed: Iterable[str]) -> dict[str, list[str]]:
    """Versions closed again whose calls a limit ended, and the roles whose rules were not written."""
    found: dict[str, list[str]] = {}
    for name in closed:
        scope, _, version = name.rpartition("@")
        number, _, revision = version.partition(".")
        said = log.journal(learning_id(scope, int(number), int(revision or 0))).values()
        if any(isinstance(event, LimitReached) for event in said):
            rules = (event for event in said if isinstance(event, KnowledgeConsolidated))
            found[name] = sorted({rule.role for rule in rules if rule.result != "consolidated"})
    return found
