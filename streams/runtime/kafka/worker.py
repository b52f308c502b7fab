"""The worker on Kafka: its membership in the group, the partitions that it owns, and how its parts work together.

Theory of operation. Faust tells ``Ownership`` which partitions are ours and hands problems to ``Intake``. For
each partition a claim is appended and the log is read up to it; only then episodes of that partition open. The
``Appender`` writes under the claims; a follower reads our partitions again behind it, and only what it reads
there and the fence lets count is relayed, graded and learned from. A second follower reads ``learning``,
``feedback`` and ``checkpoints`` of the whole log into the ``View``, so that every worker knows all memory versions.

A policy goes on as soon as its answer is acknowledged. The relay and the learner go further: they act only on what
was read back and counts, since another owner may have claimed the partition in between. No part may hold up the others
while it waits for a broker, since one loop serves all.

What survives kill -9 is what a broker acknowledged: admissions, answers, closings, memory versions. An offset of
``problems`` is acknowledged only behind its admission, so a problem is delivered again or is on the log. A closing
whose answer was not relayed is owed, and found by whoever reads the partition next. Files of a worker (``kept``,
``past``) are caches; each of them says up to which offset it holds, and is dropped where that is in doubt.

Source: design/kafka.md#ownership.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from handlers.policies.base import Policy
from schemas.events.base import Event
from schemas.events.episode import ProblemAdmitted
from schemas.events.learning import (
    MemoryVersioned,
    PositionVoided,
    ProblemForgotten,
    Reflected,
    SeriesOpened,
)
from schemas.problem import Feedback, Limits
from state.folds.strays import Strays
from state.journal import Fenced
from streams.answering.grading.grader import Grading
from streams.answering.world import World
from streams.engine.learner import Learner
from streams.engine.pending import seat_of
from streams.engine.progress import Outcome, Progress, warn_of_lost, warn_of_stray
from streams.engine.references import References
from streams.engine.running import run_episode, run_set
from streams.engine.schedule import Schedule
from streams.runtime.embedded.intake import Usual, nothing_usual
from streams.runtime.kafka.admission import Refused
from streams.runtime.kafka.append import Appender, KafkaWriter
from streams.runtime.kafka.budgets import KafkaBudgets
from streams.runtime.kafka.ending import Ending, unless
from streams.runtime.kafka.fence import CLAIMED
from streams.runtime.kafka.follow import Follower
from streams.runtime.kafka.health import Health
from streams.runtime.kafka.idle import Idle
from streams.runtime.kafka.intake import Intake, headers_of_message
from streams.runtime.kafka.kept import KeptRows
from streams.runtime.kafka.learning import KafkaLearner
from streams.runtime.kafka.lease import Lease, LeasedWorld
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.ownership import Ownership
from streams.runtime.kafka.past import ClosedEpisodeIndex
from streams.runtime.kafka.place import KafkaAddress, partition_of
from streams.runtime.kafka.relay import Relay
from streams.runtime.kafka.reread import Rereader
from streams.runtime.kafka.sending import Unrecorded
from streams.runtime.kafka.snapshot import ViewSnapshot
from streams.runtime.kafka.store import KafkaStore
from streams.runtime.kafka.tailing import EventsConsumer
from streams.runtime.kafka.view import View
from streams.runtime.kafka.watchdog import STILL_S, Watchdog

POLL_S = 0.1
LOOP_S = 1.0
"""How long a turn of the loop may take once the worker was told to end."""
NO_LIMITS = Limits()


class KafkaWorker:
    """One worker of a group. ``run`` ends when idle (if asked), drained, or when the set-up is broken."""

    error: BaseException | None = None
    drained = False
    guard: asyncio.Task[None] | None = None
    app: Any = None
    on_start: Callable[[], object] = staticmethod(lambda: None)
    """Called once it reads the log and is on its way into the group."""

    def __init__(
        self,
        place: KafkaAddress,
        partitions: int,
        world: World,
        find: Callable[[str], Policy[Any]],
        *,
        name: str = "worker",
        default_policy: str = "cot",
        max_concurrency: int = 256,
        learning_limits: Limits = NO_LIMITS,
        session_ms: int = 20_000,
        still_s: float = STILL_S,
        max_ready: int = 2_000,
        index: Path | None = None,
        kept: Path | None = None,
        on_change: Callable[[Progress], None] | None = None,
        grading: Grading | None = None,
        usual: Usual = nothing_usual,
    ) -> None:
        self.place, self.partitions, self.name = place, partitions, name
        self.world, self.default_policy = world, default_policy
        self.max_ready = max_ready
        self.on_change, self.progress = on_change, Progress()
        self.lease = Lease(session_ms / 1000)
        self.leased: Any = LeasedWorld(world, self.lease)
        self.learner = Learner(find, told=warn_of_lost, strays=Strays(warn_of_stray))
        self.appender = Appender(place, self.broke, patience_s=None)
        self.schedule = Schedule(self.learner, max_concurrency, self.broke)
        self.view = View(place, self.learner, partitions, self.heard, KeptRows.of(kept))
        self.snapshot = ViewSnapshot(self.view, self.learner)
        self.shared = Follower(place, self.view.take, self.view.passed)
        self.tailing = EventsConsumer(self)
        self.tail = Follower(place, self.tailing.take, self.tailing.passed)
        self.reread = Rereader(place, partitions)
        self.past = ClosedEpisodeIndex(index)
        self.intake = Intake(
            *(place, self.appender, find, default_policy, partitions),
            *(self.past, self.tail.until, usual, world.offered),
        )
        self.relay = Relay(place, self.appender, self.learner, default_policy, partitions)
        self.owning = Ownership(self)
        self.ending = Ending(self)
        self.health = Health(self)
        self.watchdog = Watchdog(self._mark, self._busy, still_s)
        self._wire(learning_limits, grading)

    def _wire(self, limits: Limits, grading: Grading | None) -> None:
        """Make the parts that need other parts."""
        self.teacher = KafkaLearner(
            self.learner,
            self.view,
            self.schedule,
            self.leased,
            limits,
            self.owning.learning_writer,
            self.shared.until,
            grading,
        )
        self.idle = Idle(self)
        self.view.on_feedback = self.told
        self.world.people = self.view.said
        self.world.references = References(self.teacher.grader, self.view.said)
        self.budgets = KafkaBudgets.of(self)
        self.view.on_refused = self.refused
        self.appender.outgrown = self.owning.outgrown
        self.intake.is_open = self.owning.is_open

    # -- life --------------------------------------------------------------------------------------

    async def run(self, *, until_idle: bool = False, settle: bool = False) -> Outcome:
        """Work until idle, drained or broken. Raises what broke the set-up."""
        try:
            await unless(self.ending.told, self._start())
            if not self.ending.told.is_set():
                await unless(self.ending.told, self._loop(until_idle, settle), LOOP_S)
        finally:
            await self._stop()
        if self.error is not None:
            raise self.error
        if self.ending.left:
            raise Unrecorded(f"{self.ending.left:,} records were taken by no broker")
        if self.drained:
            return Outcome(spent=self.world.exhausted)
        # What else there was is done by now; for these a person has to name a price or a backbone.
        for why in self.schedule.lacking.values():
            raise why
        held, asked = self.idle.held(), sorted(self.schedule.asleep)
        unpaid = self.schedule.owing()
        return Outcome(held, self.idle.parked(), self.world.exhausted, asked, unpaid)

    async def _start(self) -> None:
        from streams.runtime.kafka import group

        group.quiet()
        self.guard = asyncio.create_task(self.watchdog.run())
        await self.appender.start()
        await self.snapshot.begin(self.shared)
        self.shared.after.append(self.snapshot.look)
        self.shared.after.append(self.schedule.changed.set)
        self.tail.after.append(self.schedule.changed.set)
        await self.shared.start()
        await self.health.start()
        # Whoever joins the group is given partitions at once, and opens episodes with versions that it must know.
        await self.shared.caught_up()
        await self.tail.start()
        self.app = group.make(self.place, self.owning, self.lease)
        self.app.finalize()
        await self.app.maybe_start()
        self.on_start()

    async def _loop(self, until_idle: bool, settle: bool) -> None:
        while not self.world.draining and self.error is None:
            self.schedule.changed.clear()
            # A part that ended by itself ends the worker: its supervisor starts it anew.
            for follower in (self.tail, self.shared):
                if follower.task is not None and follower.task.done():
                    follower.task.result()
                    raise RuntimeError("reading the log ended")
            if self.app.crash_reason is not None:
                raise RuntimeError(f"the group's client ended: {self.app.crash_reason!r}")
            self.dispatch()
            if (until_idle or settle) and await self.idle.reached(settle=settle) and until_idle:
                return
            # Not all that moves says so: that the others are idle, for one, shows only by looking again.
            with suppress(TimeoutError):
                await asyncio.wait_for(self.schedule.changed.wait(), POLL_S)

    def drain(self) -> None:
        """Stop gracefully: no new episode or question; what is in flight is still recorded."""
        self.drained = self.world.draining = True
        self.ending.told.set()
        self.schedule.changed.set()

    def broke(self, error: BaseException) -> None:
        """Something ended that should not: a lost claim or our own end ends nothing else, all else the worker."""
        if isinstance(error, (Fenced, Unrecorded)):
            return
        if self.error is None:
            self.error = error
        self.drain()

    def _mark(self) -> object:
        """Return a mark that changes when anything moves."""
        read = (self.appender.appended, self.relay.relayed, self.world.calls_begun, self.past.read)
        return read, sum(self.view.upto), sum(o.fold.upto for o in self.owning.partitions.values())

    def _busy(self) -> bool:
        """Whether there is work that should move. A model may think for as long as it likes, brokers be away."""
        if self.health.outage.since_s is not None:
            return False
        owned = self.owning.partitions.values()
        queued = self.owning.room > 0 and any(each.queue for each in owned)
        if self.owning.taking or queued or any(each.owed for each in owned):
            return True
        return not self.lease.fresh if self.leased.asking else self.schedule.busy

    async def _stop(self) -> None:
        """Let go of everything, from the last to the first; what cannot be ended keeps nothing else open."""
        self.world.draining = True
        async with AsyncExitStack() as parts:
            # The watchdog goes last of all: it ends a process that hangs while it stops.
            if self.guard is not None:
                parts.callback(self.guard.cancel)
            parts.callback(self.watchdog.stopped.set)
            parts.callback(self.snapshot.close)
            parts.callback(self.past.close)  # who reads the log to the last asks what is closed
            for each in (self.appender, self.reread, self.shared, self.tail, self.health):
                parts.push_async_callback(self.ending.let_go, each.stop)
            if self.app is not None:
                parts.push_async_callback(self.ending.let_go, self.app.stop)
            parts.callback(self.teacher.close)
            parts.push_async_callback(self.ending.let_go, self.owning.stop)
            await self.ending.finished()
            # What was closed is relayed as far as that takes no time. The rest is owed, and whoever comes next pays.
            for _ in range(50 if self.error is None and not self.ending.hurried else 0):
                self.owning.dispatch()
                if self.owning.relayed():
                    break
                await asyncio.sleep(0.05)

    # -- what comes in -----------------------------------------------------------------------------

    def heard(self, partition: int, episode: str, event: Event) -> None:
        """A record of `learning` counts."""
        match event:
            case Reflected():
                self.teacher.reflected(episode, event)
            case MemoryVersioned():
                self.schedule.release(event.scope)
                for owned in self.owning.partitions.values():
                    self.relay.again(owned, event.scope)
            case SeriesOpened() | PositionVoided() | ProblemForgotten():
                self.schedule.release(event.scope)
            case _ if event.kind == CLAIMED:
                self.owning.claimed_learning(partition)
            case _:
                pass

    def told(self, feedback: Feedback) -> None:
        """New feedback, and of an episode that waits for a person its answer."""
        self.teacher.told(feedback)
        if feedback.review is not None and feedback.episode is not None:
            self.schedule.wake(feedback.episode)

    def refused(self, partition: int) -> None:
        """Feedback that cannot be read gets its dead letter where the partition is ours, or once it is."""
        if self.owning.learning_writer(partition) is None:
            return
        unread = self.view.unread
        # They stay unread until their letters come back: who starts again behind them would send none.
        found = [
            (key, each)
            for key, each in unread.items()
            if each[0] == partition and key not in self.view.refused
        ]
        for key, (_, record, why) in found:
            self.view.refused.add(key)
            error = Refused("input.feedback", why)
            self.intake.refuse("feedback", record, headers_of_message(record), error)
        if found:
            _ = self.appender.lane(self.place.dead("feedback"), partition).commit()

    # -- episodes ----------------------------------------------------------------------------------

    def admitted(self, owned: Owned, episode: str, event: ProblemAdmitted) -> None:
        """An admission of ours counts."""
        self.progress.admitted += 1
        self.enqueue(owned, episode, event)

    def enqueue(self, owned: Owned, episode: str, admitted: ProblemAdmitted) -> None:
        """An admitted episode is to be worked on."""
        series = admitted.problem.series
        seat = seat_of(
            self.learner,
            admitted,
            self.default_policy,
            lambda: "opened" in owned.fold.journal(episode),
            partition=owned.index,
            # Sets take whole series, which lie where their name does. A member that strayed is by itself.
            in_sets=series is not None
            and owned.index == partition_of(series.encode(), self.partitions),
        )
        self.schedule.enqueue(episode, seat)

    def dispatch(self) -> None:
        """Begin whatever can begin."""
        self.snapshot.look()
        self.owning.dispatch()
        if not self.world.draining:
            self.teacher.dispatch()
        while not self.world.draining and (found := self.schedule.next()) is not None:
            episode, seat = found
            # It may have moved since the episode was enqueued; then its next owner opens it.
            owned = self.owning.partitions.get(seat.partition)
            if owned is not None and owned.live and owned.events is not None:
                self.schedule.start(
                    episode, self._work(owned, episode, owned.events), seat.partition
                )
        self.progress.running = len(self.schedule.tasks)
        self.progress.batches = self.teacher.batches
        if self.on_change is not None:
            self.on_change(self.progress)

    async def _work(self, owned: Owned, name: str, writer: KafkaWriter) -> None:
        """Work on an episode, or on a set of them, to its end."""
        members = self.schedule.sets.members(name)
        store = KafkaStore(self, owned, writer)
        if not await store.at_hand([name] if members is None else members):
            return
        if members is None:
            await run_episode(store, name)
        else:
            await run_set(store, name, members)
            if name not in self.schedule.lacking:  # else it waits for a price or a backbone
                self.schedule.leave(name)
