"""Forks: a recorded prefix at no cost, then live; and the first difference between two episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from handlers.limits import Reservation
from handlers.policies.base import Policy
from schemas.asking import Ask
from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.identity import address_order, probe_id, text_digest
from schemas.problem import Limits
from state.folds.versions import pinned
from streams.drive import Run
from streams.episodes import Work, conclude, settings_of
from streams.grants import NO_GRANT, Grant
from streams.learner import Learner, settings_text
from streams.records import LogRecords
from streams.relay import close, trace_of
from streams.replay.compare import difference, same
from streams.replay.verify import before, empty, numbered
from streams.runtime.embedded.log import SqliteLog
from streams.world import World


class CannotFork(ValueError):
    """The episode or address cannot be forked; the message says why."""


@dataclass(frozen=True, slots=True)
class Forked:
    """A fork's end: its episode, its closing, how many calls of the parent it kept and reused."""

    episode: str
    closed: EpisodeClosed
    kept: int
    reused: int


class Reusing:
    """A world that reuses the parent's answer where address, question and backbones are unchanged."""

    def __init__(self, world: World, parent: dict[str, Event], same_backbones: bool) -> None:
        self.world, self.parent, self.same_backbones = world, parent, same_backbones
        self.reused = 0

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        """The parent's answer, or the world's."""
        known = self.parent.get(address)
        if self.same_backbones and isinstance(known, Completed) and known.asked == asked:
            self.reused += 1
            return known
        return await self.world.answer(run, question, asked, address, reserved)


def forked_work(
    log: SqliteLog,
    find: Callable[[str], Policy[Any]],
    parent: str,
    at: str,
    changed: dict[str, Any],
    limits: Limits,
    backbones: str,
    grant: Grant = NO_GRANT,
) -> tuple[Work, dict[str, Event]]:
    """The fork's work and the parent's record. Raises ``CannotFork``."""
    journal = log.journal(parent)
    admitted, opened = journal.get("admitted"), journal.get("opened")
    if not isinstance(admitted, ProblemAdmitted) or not isinstance(opened, EpisodeOpened):
        raise CannotFork(f"{parent} was never opened as a problem's episode")
    if at not in numbered(journal):
        raise CannotFork(f"{parent} has no record at {at}")
    values = {**admitted.problem.settings, **changed}
    problem = admitted.problem.model_copy(update={"settings": values})
    admitted = admitted.model_copy(update={"problem": problem})
    policy = find(opened.policy)
    settings = settings_of(policy, problem)
    what = [backbones, changed, limits.model_dump(exclude_none=True)]
    limited = limits.over(opened.limits)
    opened = opened.model_copy(
        update={
            "parent": parent,
            "at": at,
            "purpose": "fork",
            "limits": limited,
            "prices": grant.prices_of(limited),
            "settings": text_digest(settings_text(settings)),
            "backbones": backbones,
        }
    )
    memories = memories_of(log, find, admitted.scope)
    memory = pinned(memories, opened.memory_version, opened.memory_revision)
    episode = probe_id(parent, at, "fork", what)
    prefix = before(journal, at) | numbered(log.journal(episode))
    return Work(episode, admitted, opened, policy, settings, memory, prefix), journal


def memories_of(
    log: SqliteLog, find: Callable[[str], Policy[Any]], scope: str
) -> Mapping[int, Any]:
    """Every memory version of a scope."""
    learner = Learner(find, LogRecords(log))
    for record in log.records("learning"):
        learner.feed(record.episode, record.address, record.event)
    known = learner.scopes.get(scope)
    return empty(scope) if known is None else known.memory.versions


async def run_fork(log: SqliteLog, work: Work, parent: dict[str, Event], world: World) -> Forked:
    """Run a fork to its end under a claim of its own; no relay sees it."""
    known = log.find(work.episode, "closed")
    opened = parent["opened"]
    assert isinstance(opened, EpisodeOpened)
    kept = sum(
        isinstance(event, Completed) for event in before(parent, work.opened.at or "").values()
    )
    if isinstance(known, EpisodeClosed):
        return Forked(work.episode, known, kept, 0)
    writer = log.claim("fork", log.free_partition())
    writer.keep(work.opened.settings, settings_text(work.settings))
    writer.state("events", work.episode, "opened", work.opened)
    reusing = Reusing(world, numbered(parent), opened.backbones == world.description)
    prefix = set(before(parent, work.opened.at or ""))
    run = replace(work.run(writer, None), world=reusing)
    conclusion, seconds = await conclude(work, run)
    own = {address: event for address, event in work.journal.items() if address not in prefix}
    closed = close(trace_of(own), conclusion, seconds)
    writer.state("events", work.episode, "closed", closed)
    await writer.commit()
    return Forked(work.episode, closed, kept, reusing.reused)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two episodes part: the address, the part, both sides, and what each spent from there on."""

    address: str
    part: str
    left: str
    right: str
    left_calls: int
    right_calls: int


def first_difference(left: dict[str, Event], right: dict[str, Event]) -> Difference | None:
    """The first address at which two records differ in question, answer or fact."""
    a, b = numbered(left), numbered(right)
    for address in sorted({*a, *b}, key=address_order):
        one, other = a.get(address), b.get(address)
        if one is None or other is None:
            sides = ("present" if one else "nothing", "present" if other else "nothing")
            return _difference(address, ("length", *sides), a, b)
        if not same(meant(one), meant(other)):
            return _difference(address, difference(meant(one), meant(other)), a, b)
    return None


def meant(event: Event) -> Event:
    """A completion without what is incidental to it."""
    if isinstance(event, Completed):
        return event.model_copy(update={"seconds": None, "attempts": 1, "cached_tokens": None})
    return event


def _difference(
    address: str, what: tuple[str, str, str], a: dict[str, Event], b: dict[str, Event]
) -> Difference:
    return Difference(address, *what, _calls_from(a, address), _calls_from(b, address))


def _calls_from(journal: dict[str, Event], address: str) -> int:
    start = address_order(address)
    return sum(isinstance(e, Completed) and address_order(x) >= start for x, e in journal.items())
