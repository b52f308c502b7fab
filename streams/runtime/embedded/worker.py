"""The embedded worker: intake, scheduler, relay and learner over one SQLite log, in one event loop.

Theory of operation. Each turn of the loop takes in what others put on the log (problems first, then commands,
so that whoever has seen a problem has seen its series), starts what may start, and learns what is due; then it
waits for a change. Episodes run as tasks of the schedule. They state records through one writer, whose commit
at the end of the turn holds what all of them stated.

The claim of the writer is looked at once a second and before each question that costs money: a worker that was
stopped for long, and replaced meanwhile, must not go on paying. A defect in a task that is no outcome of its
episode ends the worker, since nothing that it would do afterwards could be trusted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from sqlite3 import OperationalError
from typing import Any

from handlers.policies.base import Policy
from schemas.events.episode import EpisodeAdopted, ProblemAdmitted
from schemas.events.learning import BatchClosed, Reflected
from schemas.identity import is_taken, learning_id
from schemas.problem import Limits
from state.collecting import uncollected
from state.folds.strays import Strays
from streams.answering.grading.grader import Grading
from streams.answering.world import Draining, World
from streams.engine.learner import HEARD_KINDS
from streams.engine.pending import seat_of
from streams.engine.progress import Outcome, Progress, warn_of_lost, warn_of_stray
from streams.engine.references import References
from streams.engine.resuming import learner_of
from streams.engine.running import run_episode, run_set
from streams.engine.schedule import Schedule
from streams.engine.scopes import Scope
from streams.runtime.embedded.batches import Batches
from streams.runtime.embedded.intake import Intake, Usual, nothing_usual
from streams.runtime.embedded.labels import Labels
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.embedded.marks import leave
from streams.runtime.embedded.queries.spending import SpentBeside, spent_since
from streams.runtime.embedded.records import LogRecords, known_of, learned
from streams.runtime.embedded.sides import GLANCE_S, SideRuns
from streams.runtime.embedded.snapshots import snapshots_of
from streams.runtime.embedded.store import EmbeddedStore

POLL_S = 0.1
"""SQLite tells nobody that another process has committed: so we look."""
STILL_S = 1.0
"""How long a claim is taken for ours without a look at the log."""
FRESH = 4096
"""Admitted problems that are kept in memory until they open; others are read again."""


class Worker:
    """One worker on one log. ``run`` ends when idle (if asked), drained, or when the set-up is broken."""

    def __init__(
        self,
        log: SqliteLog,
        world: World,
        find: Callable[[str], Policy[Any]],
        *,
        name: str = "worker",
        default_policy: str = "cot",
        max_concurrency: int = 256,
        learning_limits: Limits | None = None,
        on_change: Callable[[Progress], None] | None = None,
        grading: Grading | None = None,
        usual: Usual = nothing_usual,
    ) -> None:
        self.log, self.world = log, world
        # The claim comes before anything is read: nobody can add to what follows as the owner any
        # more.
        self.writer: Writer = log.claim(name)
        self.learner, self.heard = learner_of(
            lambda: snapshots_of(log),
            log.end(),
            find,
            LogRecords(log),
            warn_of_lost,
            Strays(warn_of_stray),
            partial(known_of, log),
            lambda: learned(log, find),
        )
        self.intake = Intake(
            log, self.writer, find, default_policy, self.learner, usual, world.offered
        )
        self.labels = Labels(log, self.writer, self.learner, grading)
        # Policies that compare with a reference, and those that ask people, read what feedback
        # said.
        world.references = References(self.labels.grader, self.labels.said)
        world.people = self.labels.said
        limits = learning_limits or Limits()
        self.batches = Batches(log, self.writer, self.learner, world, limits)
        self.progress, self.on_change = Progress(why=world.why), on_change
        self.fresh: dict[str, ProblemAdmitted] = {}
        self.schedule = Schedule(self.learner, max_concurrency, self._broke)
        self.store = EmbeddedStore(self)
        self.sides, self.aside = SideRuns(log.path), set[str]()
        """Which episodes side runs hold, and which of ours a side run began."""
        budgets = world.budgets
        if budgets is not None:
            # What tenants have spent today is on the log: no restart gives anybody a second budget.
            end = log.end()
            budgets.load(partial(spent_since, log, upto=end))
            budgets.elsewhere = SpentBeside(log, self.writer.epoch, end)
            budgets.tenant_of = self.schedule.tenant_of
            self.schedule.budgets = budgets
        self.error: BaseException | None = None
        self.version, self.behind = -1, False
        """The log as it was last looked at; whether a batch waits for what others stated since to be heard."""
        self.drained = False
        self.held_s = time.monotonic()
        """When the claim was last known to be ours, by ``time.monotonic``."""
        world.watch(self._is_ours)

    # -- life --------------------------------------------------------------------------------------

    async def run(self, *, until_idle: bool = False, settle: bool = False) -> Outcome:
        """Work until idle, drained or broken. Raises what broke the set-up."""
        with closing(self.sides):
            return await self._run(until_idle, settle)

    async def _run(self, until_idle: bool, settle: bool) -> Outcome:
        with uncollected():
            # Records before tasks: whatever opens an episode has to know its scope's memory.
            # What others said since the claim is read among the commands, and must be heard once.
            said = self.log.records(
                "learning", kinds=HEARD_KINDS, after=self.heard, upto=self.intake.commands_read
            )
            for record in said:
                self.learner.feed(record.episode, record.address, record.event)
            for episode, admitted in self.intake.unfinished():
                self._enqueue(episode, admitted)
            self.labels.load()
        # A kill may have come between taking a case in and grading it. What is graded already adds nothing.
        for scope in self.learner.scopes.values():
            for episode in [each for each in scope.reflected if is_taken(each)]:
                await self._grade_taken(episode, scope.reflected[episode])
        try:
            await self._loop(until_idle, settle)
        except Exception as error:
            self._broke(error)  # tasks hear of it before they ask for more
            raise
        finally:
            # Tasks end first: what they were answered is still to be recorded, even where one of them failed.
            await self.schedule.finished()
            self.labels.close()
            if not self.writer.fenced:
                await self.writer.commit()
                with suppress(OperationalError):  # whoever comes after reads more, and that is all
                    leave(self.log)
        if self.error is not None:
            raise self.error
        if self.drained:
            return Outcome(spent=self.world.exhausted)
        # What else there was is done by now; for these a person has to name a price or a backbone.
        for why in self.schedule.lacking.values():
            raise why
        held, asked = self.schedule.held(), sorted(self.schedule.asleep)
        unpaid = self.schedule.owing()
        return Outcome(held, self.intake.parked(), self.world.exhausted, asked, unpaid)

    def drain(self) -> None:
        """Stop gracefully: no new episode or question; what is in flight is still recorded."""
        self.drained = self.world.draining = True
        self.schedule.changed.set()

    def _broke(self, error: BaseException) -> None:
        """A task ended that should not: the first of them ends the worker."""
        # What breaks afterwards is mostly a consequence.
        if self.error is None:
            self.error = error
            self.world.draining = True

    def _is_ours(self, *, at_once: bool = False) -> bool:
        """Whether the log is still ours, by a look at it every second: whoever was stopped for long looks first."""
        now = time.monotonic()
        # Looking costs a query, which a thousand questions a second must not each pay.
        if at_once or now - self.held_s >= STILL_S:
            self.held_s = now
            if not self.writer.holds():
                self._broke(self.writer.lost())
                return False
        return True

    async def _loop(self, until_idle: bool, settle: bool) -> None:
        while not self.world.draining and self.error is None:
            # Cleared before the look and not after it: what changes meanwhile wakes the loop at
            # once.
            self.schedule.changed.clear()
            moved = self.behind = False
            version = self.log.data_version()
            if version != self.version or self._has_more:
                if not self._is_ours(at_once=True):
                    break
                moved = await self._take_in()
            # Only now: a task may look while this waits, and not all is heard.
            self.version = version
            self._dispatch()
            # Only a turn that took nothing in shows that nothing is left: what came may have freed something.
            if self.error is None and not (moved or self.behind or self.schedule.busy):
                if settle:
                    # Each scope has its turn, also after one of them moved: they share the commit.
                    taken = self.intake.is_admitted
                    scopes = self.learner.scopes.values()
                    settled = [self.batches.settle(each, taken) for each in scopes]
                    if any(settled):
                        await self.writer.commit()
                        continue
                if until_idle:
                    return
            if self._has_more:
                await asyncio.sleep(0)
            else:
                # Until something changed here, or it is time to look whether somebody else changed the log.
                look = asyncio.get_running_loop().call_later(POLL_S, self.schedule.changed.set)
                await self.schedule.changed.wait()
                look.cancel()

    # -- intake ------------------------------------------------------------------------------------

    @property
    def _has_more(self) -> bool:
        """Whether a topic holds more than was read of it at once."""
        return self.intake.more or self.labels.more

    async def _take_in(self) -> bool:
        taken_out = list[str]()
        # Problems are read before commands: who has seen a problem has then seen its series too.
        before = self.intake.position
        arrived = list(self.intake.take())
        # Also where all that came was refused: who put it waits for that word, and nothing else may ever come.
        moved = self.intake.position != before
        for record in self.intake.commands():
            self.learner.feed(record.episode, record.address, record.event)
            if isinstance(record.event, EpisodeAdopted) and record.event.void:
                taken_out.append(record.episode)
            elif isinstance(record.event, Reflected):
                await self._grade_taken(record.episode, record.event)
            moved = True
        for episode, admitted in arrived:
            if len(self.fresh) < FRESH:
                self.fresh[episode] = admitted
            self._enqueue(episode, admitted)
            self.progress.admitted += 1
            moved = True
        while self.intake.left:
            episode, admitted = self.intake.left.pop()
            self.aside.add(episode)
            self._enqueue(episode, admitted)
            moved = True
        # After all that arrived: whoever puts a problem and takes it out at once wants it out.
        for episode in taken_out:
            self.fresh.pop(episode, None)
            self.schedule.take_out(episode)
        moved = await self.labels.meet() or moved
        moved = await self.labels.take(self.intake.commands_read) or moved
        while self.labels.replied:
            self.schedule.wake(self.labels.replied.pop())
        if moved:
            # One commit takes admissions, grades and both positions.
            await self.writer.commit()
        return moved

    async def _grade_taken(self, episode: str, taken: Reflected) -> None:
        """Grade a case that came from elsewhere; its verdict, if it came with one, is read as any feedback is."""
        for address, graded in await self.labels.of_taken(episode, taken):
            self.batches.say(episode, address, graded)

    def _enqueue(self, episode: str, admitted: ProblemAdmitted) -> None:
        default = self.intake.default_policy
        seat = seat_of(
            self.learner, admitted, default, lambda: self.log.find(episode, "opened") is not None
        )
        self.schedule.enqueue(episode, seat)

    # -- scheduling --------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        for scope in list(self.learner.scopes.values()):
            if self.batches.warm_up(scope):
                self.schedule.release(scope.id)
            name = learning_id(scope.id, scope.window.versioned + 1)
            # Versions of a scope rest on one another: one at a time.
            if name not in self.schedule.tasks and not self.world.draining:
                closed = scope.unfinished
                # Who holds the log holds it for all scopes: the loop is held up once a turn.
                if closed is None and not self.behind:
                    closed = self._close(scope)
                if closed is not None:
                    self.schedule.start(name, self._learn(scope, closed))
        while not self.world.draining and (found := self.schedule.next()) is not None:
            name = found[0]
            members = self.schedule.sets.members(name)
            work = self._alone(name) if members is None else self._set(name, members)
            self.schedule.start(name, work)
        self.progress.running = len(self.schedule.tasks)
        if self.on_change is not None:
            self.on_change(self.progress)

    async def _alone(self, episode: str) -> None:
        """Work on an episode while no side run does."""
        begun_aside = episode in self.aside
        while not self.sides.take(episode) if begun_aside else self.sides.has(episode):
            if self.world.draining:
                raise Draining
            await asyncio.sleep(GLANCE_S)
        # It was admitted with a commit, and whoever takes it from now on finds it ours. Who had it before may
        # have worked on it meanwhile, so that its record is more than its admission.
        if self.sides.any:
            self.fresh.pop(episode, None)
        try:
            await run_episode(self.store, episode)
        finally:
            if begun_aside:
                self.sides.give_back(episode)

    async def _set(self, name: str, members: Sequence[str]) -> None:
        await run_set(self.store, name, members)
        if name not in self.schedule.lacking:  # else it waits for a price or a backbone
            self.schedule.leave(name)

    # -- learning ----------------------------------------------------------------------------------

    @contextmanager
    def _hearing(self) -> Generator[bool]:
        """Keep others from the log. Whether all that stands on it is known; else it is heard at once."""
        with self.writer.alone() as alone:
            heard = alone and (self.log.data_version() == self.version or not self.intake.is_behind)
            self.behind = self.behind or not heard
            # Who holds the log may hold it for long, and is asked again at the next look.
            if alone and not heard:
                self.schedule.changed.set()
            if heard:
                self.batches.give_up_voided()
            yield heard

    def _close(self, scope: Scope) -> BatchClosed | None:
        """Close the batch that is due, if there is one, knowing all that stands before it on the log."""
        if scope.window.due() is None:
            return None
        # A series or a word that somebody put meanwhile would stand before the batch for whoever reads the log,
        # and behind it for us: another batch might be due then.
        with self._hearing() as heard:
            due = scope.window.due() if heard else None
            return None if due is None else self.batches.close(scope, due)

    async def _learn(self, scope: Scope, closed: BatchClosed) -> None:
        """Make the next version; where nothing is asked, also those that are due by then, in one commit."""
        await self.batches.learn(scope, closed)
        self.progress.batches += 1
        if scope.policy.learns == "none" and scope.window.due() is not None:
            with self._hearing() as heard:
                while heard and (due := scope.window.due()) is not None:
                    # Nobody is asked, and so nothing is waited for while others are kept from the log.
                    await self.batches.learn(scope, self.batches.close(scope, due))
                    self.progress.batches += 1
        await self.writer.commit()
        self.schedule.release(scope.id)
