"""Which partitions are ours: claimed by a record, read up to it, and let go when they move.

Theory of operation. The group deals partitions out, but its word comes late and from memory; the log's claims alone say
who may write. So each partition that we are given goes through the same steps: a claim is appended to ``events``
and to ``learning``, both are read up to these claims, and only if they are still the latest the partition goes
live. From then on a newer claim ends our work there at once, whatever the group says. If the group keeps saying
that the partition is ours, we claim it anew.

Nothing may be appended under a claim that was not read back as the one in force, and nothing may be admitted before
the index of closed episodes covers the partition: a user's duplicate would run, and be paid for, once more.

A rebalance is eager: the work of partitions that stay with us goes on; only what really moved is cancelled. After a
kill -9 the next owner finds all of this on the log: the checkpoint says from where to read, claims who wrote, and
offsets of `problems` what still comes. Checkpoints may be as old as they like; reading then takes longer.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from schemas.events.episode import PartitionClaimed
from streams.runtime.embedded.log import now_ms
from streams.runtime.kafka import aio
from streams.runtime.kafka.append import KafkaWriter, Lane
from streams.runtime.kafka.checkpoint import checkpoint_of, fitted
from streams.runtime.kafka.envelope import headers_of
from streams.runtime.kafka.fence import Fence, OddReplies
from streams.runtime.kafka.follow import Follower
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.place import checkpoint_bytes

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker

CHECKPOINT_S, CHECKPOINT_SHARE = 0.25, 0.05
"""How often checkpoints are looked at, and the most of the time that this may take."""
FIRST_S = 5.0
"""How long at most what was closed long ago waits for the partitions that are being taken over."""
LOOKS_BACK = ("past", "grades")
"""Work on what was closed long ago: whoever comes next begins it anew."""
PAUSE_AT, RESUME_AT = 2_000, 500
"""Messages that wait for admission in one partition. They lie apart, so that fetching does not flutter."""


class Ownership:
    """Partitions, by number, that the group gave us."""

    def __init__(self, worker: KafkaWorker) -> None:
        self.worker = worker
        self.partitions: dict[int, Owned] = {}
        self.taking: dict[int, asyncio.Task[None]] = {}
        self.taken_since_s: dict[int, float] = {}
        """When the take-overs under way began."""
        self.again: dict[int, asyncio.Task[None]] = {}
        """Partitions that are to be claimed once more."""
        self.busy: dict[tuple[str, int], asyncio.Task[Any]] = {}
        self.owing: set[int] = set()
        """Partitions of which nobody has looked yet whether their former owners owe grades."""
        self.odd: defaultdict[int, OddReplies] = defaultdict(OddReplies)
        """Replies that do not count, of every partition that was ever ours."""
        self.stopped = False
        """Whether we are on our way out of the group, which may still deal partitions out to us."""
        self.assignments = 0
        """How often the group dealt out its partitions anew."""
        self.note_s = 0.0
        self.takeovers: list[float] = []
        """Seconds that each take-over took, from its beginning to the partition being live."""
        self.replayed: list[int] = []
        """Records that each take-over read."""

    @property
    def joined(self) -> bool:
        """Whether the group dealt us our part."""
        return self.assignments > 0

    # -- what the group says -----------------------------------------------------------------------

    def offered(self, event: Any) -> None:
        """A problem came in; the intake task of its partition admits it."""
        owned = self.partitions.get(event.message.partition)
        if owned is not None:
            owned.queue.append(event)
            if len(owned.queue) > PAUSE_AT and not owned.paused:
                owned.paused = True
                self.worker.app.consumer.pause_partitions({event.message.tp})
            self.worker.schedule.changed.set()

    async def assigned(self, partitions: set[int]) -> None:
        """These are ours now, and no others."""
        for index in set(self.partitions) - partitions:
            self.let_go(index)
        for index in partitions:
            owned = self.partitions.get(index)
            if owned is None:
                self.partitions[index] = Owned(index)
                self._take(index)
            else:
                owned.queue.clear()  # what is not acknowledged comes again
                owned.paused = False
        self.assignments += 1
        self.worker.schedule.changed.set()

    def let_go(self, index: int) -> None:
        """The partition moved: nothing of it goes on here."""
        task = self.taking.pop(index, None)
        if task is not None:
            del self.taken_since_s[index]
            task.cancel()
        self._drop(index)
        self.partitions.pop(index, None)

    def _drop(self, index: int) -> None:
        owned = self.partitions[index]
        # First of all: tasks that are cancelled below may still state something while they end.
        owned.fence_off()
        self.owing.discard(index)
        self.worker.teacher.fenced(index)
        self.worker.past.let_go(index)
        # What it would call whole ends where our claim began: others may close something before our next one.
        filling = self.busy.pop(("past", index), None)
        if filling is not None:
            filling.cancel()
        self.worker.schedule.cancel(index)
        self.worker.tail.drop((self.worker.place.topic("events"), index))

    # -- claims ------------------------------------------------------------------------------------

    def _take(self, index: int) -> None:
        if self.stopped:
            return
        task = asyncio.create_task(self._take_over(index))
        self.taking[index], self.taken_since_s[index] = task, time.perf_counter()
        task.add_done_callback(lambda done: self._ended(self.taking, index, done))

    def _ended(self, under_way: dict[Any, asyncio.Task[Any]], name: Any, task: Any) -> None:
        # A take-over that was cancelled may end after the next one of its partition has begun.
        if under_way.get(name) is task:
            del under_way[name]
            if under_way is self.taking:
                del self.taken_since_s[name]
        if not task.cancelled() and (error := task.exception()) is not None:
            self.worker.broke(error)
        self.worker.schedule.changed.set()

    async def _take_over(self, index: int) -> None:
        """Claim, read up to the claim, then go live. One at a time for a partition."""
        worker, place = self.worker, self.worker.place
        checkpoint = worker.view.checkpoints.get(index)
        before = self.partitions[index]
        owned = Owned.beginning(index, checkpoint, worker.past, self.odd[index])
        begins = owned.reads_from = owned.fold.upto
        fold, view = owned.fold, worker.view
        # What was delivered meanwhile comes from the group only once, and only we resume what we paused.
        owned.queue, owned.paused = before.queue, before.paused
        self.partitions[index] = owned
        worker.tail.add([(place.topic("events"), index)], begins)
        lane = worker.appender.lane(place.topic("events"), index)
        events = await self._claim(lane, worker.tail, fold.fence, lambda: fold.upto)
        lane = worker.appender.lane(place.topic("learning"), index)
        learning = await self._claim(
            lane, worker.shared, view.fences[index], lambda: view.upto[index]
        )
        owned.events, owned.learning = events, learning
        events.stamps.read = owned.fold.journal
        owned.position = int((checkpoint or {}).get("problems", 0))
        committed = await worker.idle.committed(index)
        owned.source = max(owned.source, before.source)  # we may have closed them since
        owned.position = max(owned.position, before.position, committed, owned.source + 1)
        # Former owners may have gone on with these. A checkpoint of ours must not tell of sums without their calls.
        while owned.adopted:
            await self._adopt(owned)
        # While `learning` was claimed another worker may have claimed `events` after us.
        if fold.fence.epoch != events.epoch or view.fences[index].epoch != learning.epoch:
            self._lost(owned)
            return
        # From here on we write. Nothing above has stated anything but the claims.
        owned.live = owned.learns = True
        for episode in owned.unfinished():
            worker.tailing.adopted(owned, episode)
            worker.tailing.lighten(owned, episode)
        self.owing.add(index)
        worker.refused(index)
        self.takeovers.append(time.perf_counter() - self.taken_since_s[index])
        self.replayed.append(events.epoch - begins)

    def waits_s(self) -> float:
        """How long the longest of the take-overs under way has taken so far; 0 where there is none."""
        now_s = time.perf_counter()
        return max((now_s - since_s for since_s in self.taken_since_s.values()), default=0.0)

    async def _when_open(self, work: Callable[..., Awaitable[None]], *about: Any) -> None:
        """Look at what was closed long ago once open episodes continue: one loop serves both."""
        if self.taking:
            await asyncio.wait(list(self.taking.values()), timeout=FIRST_S)
        await work(*about)

    async def _claim(
        self, lane: Lane, follower: Follower, fence: Fence, upto: Callable[[], int]
    ) -> KafkaWriter:
        """Claim a partition after whoever claimed it last, and read it up to the claim.

        Of a claim that was sent twice the first counts; where another came in between, none does.
        """
        name, event = self.worker.name, PartitionClaimed(worker=self.worker.name)
        spot = lane.topic, lane.partition
        # Without this the claim would follow one that is no longer in force, and count for nothing.
        ends = await aio.patiently(lambda: follower.ends([spot]))
        await follower.until(lambda: upto() >= ends[spot])
        while True:
            # Two claims at one address would be taken for one that was sent twice.
            address = f"claimed.{name}.{time.time_ns()}"
            after = str(fence.epoch).encode()
            headers = headers_of(event.kind, f"w/{lane.partition}", address, now_ms(), after)
            lane.add(b"w/%d" % lane.partition, event.to_json(), headers)
            await lane.commit()
            await follower.until(lambda: upto() > lane.last)
            if fence.by == address:
                return KafkaWriter(lane, fence.epoch)
            # Only a heartbeat after the other's claim shows that we are still in the group.
            await self.worker.lease.renewed_after(time.monotonic())

    def claimed(self, owned: Owned, offset: int) -> None:
        """A claim on a partition of `events` was read: one newer than ours ends our work there."""
        if owned.events is not None and offset > owned.events.epoch:
            self._lost(owned)

    def claimed_learning(self, partition: int) -> None:
        """A claim on a partition of `learning` was read."""
        owned = self.partitions.get(partition)
        if owned is None or owned.learning is None:
            return
        if self.worker.view.fences[partition].epoch > owned.learning.epoch:
            self._lost(owned)

    def is_open(self, episode: str) -> bool:
        """Whether an episode is open on any of our partitions. One on a shelf is: a person decides about it."""
        return any(
            episode in owned.fold.open or episode in owned.shelf
            for owned in self.partitions.values()
        )

    def outgrown(self, partition: int) -> None:
        """A topic takes less than it said: we claim the partition again, and go on from what is on it."""
        if partition in self.partitions and partition not in self.taking:
            self._drop(partition)
            self._take(partition)

    def _lost(self, owned: Owned) -> None:
        """Another worker claimed it. If the group still says that it is ours, we claim it again."""
        if self.partitions.get(owned.index) is not owned or owned.index in self.again:
            return
        self._drop(owned.index)
        self.again[owned.index] = asyncio.create_task(self._again(owned))

    async def _again(self, owned: Owned) -> None:
        # Only a heartbeat after the claim shows that we are still in the group.
        await self.worker.lease.renewed_after(time.monotonic())
        self.again.pop(owned.index, None)
        if self.partitions.get(owned.index) is owned and owned.index not in self.taking:
            self._take(owned.index)

    def learning_writer(self, partition: int) -> KafkaWriter | None:
        """Where we may append learner's records of a partition."""
        owned = self.partitions.get(partition)
        return owned.learning if owned is not None and owned.learns else None

    # -- moving ------------------------------------------------------------------------------------

    def dispatch(self) -> None:
        """Admit, relay and note how far each partition is."""
        for owned in self.partitions.values():
            # Until the index is whole here, duplicates of what was closed long ago would be admitted.
            known = owned.index in self.worker.past.whole
            if owned.live and not known:
                self._start(
                    ("past", owned.index),
                    self._when_open(self.worker.past.fill, self.worker.reread, owned),
                )
            draining = self.worker.world.draining
            if owned.live and known and owned.queue and self.room > 0 and not draining:
                self._start(("intake", owned.index), self._admit(owned))
            if owned.live and owned.adopted:
                self._start(("adopt", owned.index), self._adopt(owned))
            if owned.index in self.owing and ("grades", owned.index) not in self.busy:
                self.owing.discard(owned.index)
                catch_up = self.worker.teacher.catch_up
                self._start(("grades", owned.index), self._when_open(catch_up, owned.index))
            if owned.live and owned.owed:
                self._start(("relay", owned.index), self.worker.relay.take(owned))
        # Checkpoints look at all that is open. With many episodes they must not become the worker's main work.
        if time.monotonic() > self.note_s:
            began = time.monotonic()
            self._note()
            took = time.monotonic() - began
            self.note_s = began + max(CHECKPOINT_S, took / CHECKPOINT_SHARE)

    def looks_back(self, index: int) -> bool:
        """Whether a former owner may still owe grades of a partition."""
        return index in self.owing or ("grades", index) in self.busy

    @property
    def room(self) -> int:
        """How many more problems may lack a slot. Those that wait for a version take no room."""
        return self.worker.max_ready - len(self.worker.schedule.ready)

    def _start(self, name: tuple[str, int], work: Any) -> None:
        if name in self.busy:
            work.close()  # or Python complains that nobody awaited it
            return
        task = self.busy[name] = asyncio.create_task(work)
        task.add_done_callback(lambda done: self._ended(self.busy, name, done))

    async def _admit(self, owned: Owned) -> None:
        await self.worker.intake.take(owned, max(1, self.room))
        if owned.paused and len(owned.queue) < RESUME_AT:
            owned.paused = False
            tps = {
                tp for tp in self.worker.app.consumer.assignment() if tp.partition == owned.index
            }
            self.worker.app.consumer.resume_partitions(tps)

    async def _adopt(self, owned: Owned) -> None:
        """Bring back an episode on the shelf that a person decided about, with what its calls took."""
        episode = next(iter(owned.adopted))
        shelved = owned.shelf.get(episode)
        if shelved is not None:
            for offset, said in await self.worker.reread.journal(owned, episode, shelved):
                self.worker.budgets.completed(owned, offset, said)
        del owned.adopted[episode]
        if shelved is None:
            return
        # A former owner may have ended it, and have been stopped before its answer was sent.
        if "closed" in owned.fold.journal(episode):
            self.worker.tailing.over(owned, episode)
        elif owned.live:
            self.worker.tailing.adopted(owned, episode)

    def _note(self) -> None:
        """Write the checkpoints that changed, and keep the index of what is closed."""
        worker = self.worker
        waiting: dict[int, list[str]] = defaultdict(list)
        for episode, seat in worker.schedule.waiting():
            waiting[seat.partition].append(episode)
        for owned in self.partitions.values():
            if not owned.live or owned.events is None:
                continue
            # What is closed and not relayed is not in it yet, and another worker may relay it.
            start = owned.needed()
            worker.past.note(owned.index, start, owned.fold.fence.in_force(start))
            found = checkpoint_of(worker, owned, waiting[owned.index])
            # A copy of an older one may come late. Its number tells, which is no part of what changed.
            if found != owned.told:
                owned.told, owned.notes = found, owned.notes + 1
                lane = worker.appender.lane(worker.place.topic("checkpoints"), owned.index)
                noted = fitted({**found, "number": owned.notes}, worker.appender.sizes)
                lane.add(b"%d" % owned.index, checkpoint_bytes(noted), [])
                _ = lane.commit()

    def relayed(self) -> bool:
        """Whether nothing that we closed is still to be read back or sent."""
        return all(
            not owned.owed and not owned.relaying and not owned.closings
            for owned in self.partitions.values()
            if owned.live
        )

    async def stop(self) -> None:
        """Nothing goes on, and nothing begins."""
        self.stopped = True
        hurried = self.worker.ending.hurried
        ours = [task for (name, _), task in self.busy.items() if hurried or name in LOOKS_BACK]
        # Admissions and answers that are under way end by themselves, and are awaited below.
        tasks = [*self.taking.values(), *self.again.values(), *ours]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self.busy.values(), return_exceptions=True)
        if not self.worker.ending.hurried:
            self._note()
