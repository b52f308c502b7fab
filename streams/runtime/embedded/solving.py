"""Solving one problem now, on a partition of its own beside a worker's. Every door's `solve` does this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec import structs

from handlers.policies.base import Policy
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.identity import digest
from schemas.problem import Limits, Problem
from state.journal import Recorder
from streams.answering.world import World
from streams.core.closing import closing
from streams.engine.episode import conclude, prepare
from streams.engine.policies import find
from streams.engine.scopes import settings_text
from streams.runtime.embedded.intake import episode_of, scope_of
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.embedded.records import memories_of
from streams.runtime.embedded.sides import alone_on, beside


@dataclass(frozen=True, slots=True)
class Solved:
    """The end of a problem's episode. ``known``: it had ended on this log before, and nothing was asked."""

    episode: str
    closed: EpisodeClosed
    known: bool


class Onlooker:
    """An onlooker is told how solving goes. This one ignores it; subclasses show it."""

    def waits(self, why: str) -> None:
        """Somebody else works on the same episode."""

    def is_known(self, episode: str, journal: dict[str, Event]) -> None:
        """The recorded answer follows."""

    def begins(self, log: SqliteLog) -> None:
        """The first question comes next."""

    def resumes(self, limits: Limits) -> None:
        """The episode goes on under other limits than were asked for: those that it was begun with."""

    def recorder(self, writer: Writer) -> Recorder:
        """Return the recorder of the episode; a subclass may watch through it what is recorded."""
        return writer


def text_id(text: str) -> str:
    """The id of a problem that was given none: the same text is the same problem."""
    return f"solve-{digest(text.encode('utf-8', 'surrogatepass').hex())}"


async def solve_on(
    log: SqliteLog,
    policy: Policy[Any],
    problem: Problem,
    world: World,
    onlooker: Onlooker | None = None,
) -> Solved:
    """Solve one problem on a log; what it may know is the latest memory of its scope.

    Raises ``BackboneError`` where no model can be asked, and ``Draining`` where the world was told to stop.
    """
    told = onlooker or Onlooker()
    episode = episode_of(problem, policy.name)
    async with alone_on(log, episode, world, told.waits):
        journal = log.journal(episode)
        known = journal.get("closed")
        if isinstance(known, EpisodeClosed):
            told.is_known(episode, journal)
            return Solved(episode, known, known=True)
        with beside(log, "solve", episode) as writer:
            closed = await _worked(log, writer, episode, journal, policy, problem, world, told)
            return Solved(episode, closed, known=False)


async def _worked(
    log: SqliteLog,
    writer: Writer,
    episode: str,
    journal: dict[str, Event],
    policy: Policy[Any],
    problem: Problem,
    world: World,
    told: Onlooker,
) -> EpisodeClosed:
    """Work on the episode to its end, from wherever its record stands."""
    admitted = journal.get("admitted")
    if not isinstance(admitted, ProblemAdmitted):
        admitted = ProblemAdmitted(problem=problem, scope=scope_of(policy, problem), offset=0)
        writer.state("events", episode, "admitted", admitted)
    memories = memories_of(log, find, admitted.scope)
    work = prepare(episode, admitted, journal, policy, memories, world.description, world.grant)
    known = journal.get("opened")
    if not isinstance(known, EpisodeOpened):
        told.begins(log)
        opened = structs.replace(work.opened, purpose="solve")
        writer.keep(opened.settings, settings_text(work.settings))
        writer.state("events", episode, "opened", opened)
    elif known.limits != problem.limits:
        told.resumes(known.limits)
    conclusion, seconds = await conclude(work, work.run(told.recorder(writer), world))
    end = closing(
        *(work.policy, work.settings, episode, admitted, work.opened, work.journal),
        *(conclusion, seconds),
    )
    writer.state("events", episode, "closed", end.closed)
    writer.send("answers", episode, end.answer)
    await writer.commit()
    return end.closed
