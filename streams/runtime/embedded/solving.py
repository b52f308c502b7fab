"""Solving one problem now, on a partition of its own beside a worker's. Every door's `solve` does this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from handlers.policies.base import Policy
from schemas.answer_type import AnswerType
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.identity import digest
from schemas.memory import Memory
from schemas.problem import Limits, Problem
from state.journal import Recorder
from streams.answering.world import World
from streams.core.closing import Closing
from streams.core.drive import Run, Waiting
from streams.core.grants import Lacking
from streams.engine.episode import settings_of
from streams.engine.policies import find
from streams.engine.running import run_episode
from streams.runtime.embedded.intake import episode_of, scope_of
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.embedded.queries.spending import SpentBeside, spent_since
from streams.runtime.embedded.sides import alone_on, beside, left_by_worker
from streams.runtime.embedded.snapshots import newest_learned


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


def text_id(text: str, typed: AnswerType | None = None) -> str:
    """The id of a problem that was given none: the same text is the same problem, of the same type of answer."""
    # A type is a part of the question: the same words with another type may have another right
    # answer.
    text = text if typed is None else f"{typed.text}\n{text}"
    return f"solve-{digest(text.encode('utf-8', 'surrogatepass').hex())}"


async def solve_on(
    log: SqliteLog,
    policy: Policy[Any],
    problem: Problem,
    world: World,
    onlooker: Onlooker | None = None,
) -> Solved:
    """Solve one problem on a log; what it may know is the latest memory of its scope.

    Raises ``BackboneError`` where no model can be asked, ``OutOfBudget`` where its tenant may ask none today, and
    ``Draining`` where the world was told to stop.
    """
    told = onlooker or Onlooker()
    episode = episode_of(problem, policy.name)
    budgets, end = world.budgets, log.end()
    if budgets is not None and problem.tenant is not None:
        # A tenant's budget covers what is solved now as what waits for a worker.
        budgets.load(partial(spent_since, log, upto=end))
        budgets.tenant_of = lambda episode: problem.tenant
    await left_by_worker(log, episode, world, told.waits)
    async with alone_on(log, episode, world, told.waits):
        journal = log.journal(episode)
        # Read under the lock only: whoever worked on it before us may have ended it while we waited.
        known = journal.get("closed")
        if isinstance(known, EpisodeClosed):
            told.is_known(episode, journal)
            return Solved(episode, known, known=True)
        admitted = journal.get("admitted")
        if not isinstance(admitted, ProblemAdmitted):
            admitted = ProblemAdmitted(problem=problem, scope=scope_of(policy, problem), offset=0)
        opened = journal.get("opened")
        world.terms(
            settings_of(policy, admitted.problem).backbone
        )  # raises before anything is on the log
        # A killed owner may have begun it under other limits. They stand, since its replies were given under them.
        if not isinstance(opened, EpisodeOpened):
            told.begins(log)
        elif opened.limits != problem.limits:
            told.resumes(opened.limits)
        with beside(log, "solve", episode) as writer:
            if budgets is not None:
                budgets.elsewhere = SpentBeside(log, writer.epoch, end)
            if "admitted" not in journal:
                # It is not awaited: the first answer's commit takes it along, and without one it is
                # not missed.
                writer.state("events", episode, "admitted", admitted)
            record = {**journal, "admitted": admitted}
            store = SolveStore(log, policy, record, world, told.recorder(writer))
            await run_episode(store, episode)
            return Solved(episode, store.closed, known=False)


class SolveStore:
    """Implements ``streams.engine.running.EpisodeStore`` for one episode, whose answer somebody waits for.

    Nobody else would go on with it: what makes a worker park or wait is raised here.
    """

    room: int | None = None
    purpose: str | None = "solve"

    def __init__(
        self,
        log: SqliteLog,
        policy: Policy[Any],
        record: dict[str, Event],
        world: World,
        writer: Recorder,
    ) -> None:
        self.log, self.solver, self.record = log, policy, record
        self.world, self.writer = world, writer
        self.terms = world.terms
        self.ended: EpisodeClosed | None = None

    @property
    def closed(self) -> EpisodeClosed:
        """The end of the episode, once it has been run."""
        assert self.ended is not None
        return self.ended

    def journal(self, episode: str) -> dict[str, Event]:
        """The record of the episode."""
        return self.record

    def policy(self, admitted: ProblemAdmitted) -> Policy[Any]:
        """The policy that was asked for."""
        return self.solver

    def memories(self, scope: str) -> Mapping[int, Memory]:
        """The memory versions of its scope, from the log. Raises ``Lacking`` where something is being forgotten."""
        known = newest_learned(self.log, find).memory(scope)
        owed, admitted = known.forgetting.owed, self.record["admitted"]
        assert isinstance(admitted, ProblemAdmitted)
        # Whoever began now would be shown what a forgotten problem taught. No worker would begin.
        withdrawn = {*owed} - known.forgetting.regraded and "opened" not in self.record
        if withdrawn and self.solver.reads(settings_of(self.solver, admitted.problem)):
            detail = "a problem was forgotten, and no worker has made the memory without it yet"
            raise Lacking("forgetting", scope, detail)
        return known.versions

    def wait(self, episode: str, run: Run | None, why: Waiting) -> None:
        """Raises why it would have to wait."""
        raise why

    def leave(self, episode: str) -> None:
        """Nobody else ends it: whoever solves it holds it."""
        raise AssertionError(episode)

    async def park(self, episode: str, error: Exception, journal: dict[str, Event]) -> None:
        """Raises why it cannot go on."""
        raise error

    async def close(self, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        """Record closing and answer. No worker learns from it."""
        for episode, end in ends:
            self.writer.state("events", episode, "closed", end.closed)
            self.writer.send("answers", episode, end.answer)
            # No reflection is stated, and so no window of a worker waits for it.
            self.ended = end.closed
        await self.writer.commit()
