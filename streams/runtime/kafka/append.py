"""The append side: one idempotent producer a worker, and for each partition a lane that batches by itself.

Theory of operation. Whoever states something adds it to a lane, and awaits its commit before acting on it. A lane has
one batch under way at most. What is stated meanwhile becomes the next. It goes at once, unless most of those who waited
for the last one are still to come back: a batch costs the same however few are in it. So the order in which things
were stated is their order on the log, even where batches are sent again.

After a batch failed for good its lane must send nothing more, since later records may rest on the lost ones. What was
stated and never acknowledged dies with the process. That is why nothing is done on its strength before. A
``KafkaWriter`` puts a claim on each record of a lane; whether the claim still holds is not asked here but decided by
whoever reads, in the order of the log.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import EpisodeClosed, TextKept
from schemas.identity import text_key
from state.journal import Fenced, TooLarge
from streams.runtime.embedded.log import now_ms
from streams.runtime.kafka.envelope import Headers, headers_of
from streams.runtime.kafka.follow import unheard
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.refusals import RefusedByBroker
from streams.runtime.kafka.sending import (
    GRACE_S,
    PATIENCE_S,
    Filled,
    OnRefused,
    Row,
    Sessions,
    Unrecorded,
)
from streams.runtime.kafka.sizes import Sizes, record_bytes
from streams.runtime.kafka.stamping import Stamps

Waiting = tuple["asyncio.Future[int]", int]
LINGER_S = 0.004
"""So long a batch waits for those who waited together for the last one."""
Until = Callable[[Callable[[], bool]], Coroutine[Any, Any, None]]
"""Waits for records until something holds."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a worker's appends stand; moments are those of ``time.monotonic``."""

    waiting: int
    """Records that no broker has acknowledged yet, whether they were sent or not."""
    since_s: float | None
    """When the oldest of them was added; nothing while none waits."""
    appended_s: float | None
    """When a broker last acknowledged records; nothing before the first."""


class Appender:
    """The lanes of one process. ``broken`` is told when an append failed: its lane sends nothing more.

    Without patience an append waits for ever: what a worker paid for is nowhere else.
    """

    def __init__(
        self,
        place: KafkaAddress,
        broken: Callable[[Exception], None] = unheard,
        patience_s: float | None = PATIENCE_S,
        sizes: Sizes | None = None,
    ) -> None:
        self.place, self.broken = place, broken
        self.sizes = Sizes(place) if sizes is None else sizes
        self.sessions = Sessions(place, patience_s)
        self.lanes: dict[tuple[str, int], Lane] = {}
        self.given_up: Exception | None = None
        self.outgrown: Callable[[int], None] = unheard
        """Told of a partition that took less than its topic says."""
        self.appended = 0
        self.appended_s: float | None = None

    @property
    def standing(self) -> Standing:
        """Return how much waits for a broker, and since when."""
        begun = [since for lane in self.lanes.values() if (since := lane.since_s) is not None]
        waiting = sum(lane.waits for lane in self.lanes.values())
        return Standing(waiting, min(begun, default=None), self.appended_s)

    async def start(self) -> None:
        """Connect, and learn what each topic takes."""
        await self.sessions.start()
        await self.sizes.ask()

    async def stop(self) -> None:
        """Send what is left, unless it was given up, and disconnect."""
        try:
            async with asyncio.timeout(GRACE_S):
                for lane in self.lanes.values():
                    if lane.rows and self.given_up is None:
                        await lane.commit()
        except (TimeoutError, Unrecorded):
            self.give_up(Unrecorded("no broker took what was left"))
        finally:
            await self.sessions.stop(GRACE_S if self.given_up is None else 0.1)

    def give_up(self, error: Exception) -> None:
        """Send nothing more: whoever waits for an append hears why."""
        self.given_up = error
        for lane in self.lanes.values():
            lane.give_up(error)

    def lane(self, topic: str, partition: int) -> Lane:
        """The lane of a partition, by the topic's full name."""
        known = self.lanes.get((topic, partition))
        if known is None:
            known = self.lanes[topic, partition] = Lane(self, topic, partition)
        return known


class Lane:
    """Appends to one partition, in order, one batch at a time. After a failure nothing more is sent."""

    def __init__(self, appender: Appender, topic: str, partition: int) -> None:
        self.appender, self.topic, self.partition = appender, topic, partition
        self.rows: list[Row] = []
        self.waiting: list[Waiting] = []
        self.pump: asyncio.Task[None] | None = None
        self.broken: Exception | None = None
        self.company = 0
        """How many waited for the last batch."""
        self.last = -1
        """Offset of the last record that the broker acknowledged."""
        self.flying = 0
        """Rows that were taken up and are not acknowledged yet."""
        self.fallen = set[OnRefused]()
        """Of whom a row was refused that others rest on: what they state behind it would count without it, and is
        left out."""
        self.asked_s: float | None = None
        """When somebody first asked for what is not taken up yet."""
        self.flown_s: float | None = None

    @property
    def quiet(self) -> bool:
        """Whether nothing is waiting or under way."""
        return not self.rows and self.pump is None

    @property
    def since_s(self) -> float | None:
        """Since when somebody waits for an acknowledgement; nothing where nobody does.

        Rows that nobody waits for yet go with the next that somebody does: a fact with the reply that follows it,
        however long a model thinks about that.
        """
        return self.asked_s if self.flown_s is None else self.flown_s

    @property
    def waits(self) -> int:
        """Rows that somebody waits for."""
        return self.flying + (len(self.rows) if self.waiting else 0)

    def add(
        self,
        key: bytes,
        value: bytes | None,
        headers: Headers,
        on_refused: OnRefused | None = None,
    ) -> None:
        """Append with the next batch. A record that the broker refuses breaks the lane, unless ``on_refused``
        is there to be told: then the others go on without it.
        """
        self.rows.append((key, value, headers, on_refused))

    def commit(self) -> asyncio.Future[int]:
        """Done when everything added so far is on the broker: the offset of what was added last."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if self.broken is not None:
            _fail([(done, 0)], self.broken)
            return done
        if self.asked_s is None:
            self.asked_s = time.monotonic()
        self.waiting.append((done, len(self.rows) - 1))
        if self.pump is None:
            self.pump = asyncio.create_task(self._pump())
        return done

    def forget(self) -> None:
        """Drop the rows that nobody waits for: their claim was lost, so that they would count nowhere."""
        if not self.waiting:
            self.rows.clear()

    def give_up(self, error: Exception) -> None:
        """Send nothing more."""
        self.broken = self.broken or error
        if self.pump is not None:
            self.pump.cancel()
        _fail(self.waiting, self.broken)
        self.waiting = []

    async def _pump(self) -> None:
        while self.waiting:
            await asyncio.sleep(0)  # what the rest of this turn states rides along
            if 2 * len(self.waiting) < self.company:
                await asyncio.sleep(LINGER_S)
            self.company = len(self.waiting)
            rows, self.rows = self.rows, []
            waiting, self.waiting = self.waiting, []
            self.flying, self.flown_s, self.asked_s = len(rows), self.asked_s, None
            try:
                before = self.last
                spans = await self._send(rows)
            except asyncio.CancelledError:
                _fail(waiting, self.broken or Unrecorded("it was stopped"))
                raise
            except Exception as error:
                self.broken = error
                _fail([*waiting, *self.waiting], error)
                self.waiting = []
                self.appender.broken(error)
                break
            self.flying, self.flown_s = 0, None
            for done, index in waiting:
                if not done.done():
                    # Batches need not lie side by side: other writers append to the partition, too.
                    # Who stated nothing gets the place of what was there before.
                    first, base = max(
                        (span for span in spans if span[0] <= index), default=(index, before)
                    )
                    done.set_result(base + index - first)
        self.pump = None

    async def _send(self, rows: list[Row]) -> list[tuple[int, int]]:
        """Append rows. A batch that is refused for its size goes in halves: one record may be to blame."""
        at, index, end = now_ms(), 0, len(rows)
        spans: list[tuple[int, int]] = []
        while index < len(rows):
            if rows[index][3] in self.fallen:
                index, end = index + 1, len(rows)
                continue
            end = next((n for n in range(index, end) if rows[n][3] in self.fallen), end)
            filled = Filled(rows, index, end, at)
            try:
                offset = await self.appender.sessions.send(filled, self.topic, self.partition)
            except RefusedByBroker as refused:
                # Where a right is lacking all of them are refused, and halving would ask for each.
                if filled.records > 1 and refused.why != "right":
                    end = index + filled.records // 2
                    continue
                on_refused = rows[index][3]
                if on_refused is None or refused.why == "right":
                    raise
                instead = on_refused(refused)
                if instead is not None:
                    rows[index] = instead  # alone, for its size is not known to fit yet
                    end = index + 1
                    continue
            else:
                spans.append((index, offset))
                self.last = offset + filled.records - 1
                self.appender.appended += filled.records
                self.appender.appended_s = time.monotonic()
            index, end = index + filled.records, len(rows)
        return spans


def _fail(waiting: list[Waiting], error: Exception) -> None:
    for done, _ in waiting:
        if not done.done():
            done.set_exception(error)
            done.exception()  # whoever awaits it hears it; a checkpoint is awaited by nobody


class KafkaWriter:
    """Appends to one partition under one claim; implements ``state.journal.Recorder``."""

    def __init__(self, lane: Lane, epoch: int) -> None:
        self.lane, self.epoch = lane, epoch
        self.claim = str(epoch).encode()
        self.fenced = False
        self.kept: set[str] = set()
        self.stamps = Stamps()

    @property
    def room(self) -> int:
        """The most bytes of anything that an episode leaves when it ends."""
        return self.lane.appender.sizes.room

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        """Record with the next commit. Raises ``Fenced`` after the claim was lost, and ``TooLarge``.

        An answer may take half of what others may: what is made of it has to fit as well.
        """
        self._check()
        at_ms = now_ms()
        # Kafka stamps whole batches; when each record was stated is told by the closing, once for all.
        if isinstance(event, EpisodeClosed):
            event = structs.replace(event, stamps=self.stamps.closed(episode, at_ms))
        key, value = episode.encode(), event.to_json()
        headers = headers_of(event.kind, episode, address, at_ms, self.claim)
        # It is refused here, where its policy can still do otherwise, and not by a broker that breaks the lane.
        most = self.lane.appender.sizes.most(self.lane.topic)
        room = (most - record_bytes(key, b"", headers)) // (1 + isinstance(event, AnswerEvent))
        if len(value) > room:
            raise TooLarge(event.kind, len(value), room)
        # Only now: what is too large was never stated, and no closing may be stamped with it.
        self.stamps.stated(episode, address, at_ms, value)
        self.lane.add(key, value, headers, self._outgrown)

    def _outgrown(self, refused: RefusedByBroker) -> None:
        """The topic takes less than it says: what counts is read again, and goes on with less room."""
        if refused.why != "size":
            raise refused
        self.fenced = True
        self.lane.fallen.add(self._outgrown)
        self.lane.appender.sizes.lower(refused)
        self.lane.appender.outgrown(self.lane.partition)

    async def commit(self) -> None:
        """Done when everything stated so far is on the broker. Raises ``Fenced``."""
        await self.lane.commit()
        self._check()

    async def land(self, until: Until, upto: Callable[[], int]) -> None:
        """Done when everything stated so far was read back, so that it counts. Raises ``Fenced``."""
        await self.commit()
        last = self.lane.last
        # A claim that is lost fences our records off: then they are read and never count.
        await until(lambda: upto() > last or self.fenced)
        self._check()

    def _check(self) -> None:
        if self.fenced:
            raise Fenced(f"partition {self.lane.partition} was claimed by another worker")

    def keep(self, digest: str, text: str) -> None:
        """Keep a text once per partition and claim."""
        if digest not in self.kept:
            self.state("events", text_key(digest), "text", TextKept(text=text))
            self.kept.add(digest)

    def send(self, topic: str, key: str, value: bytes) -> None:
        """Answers leave through the relay, once their closing was accepted."""
        raise NotImplementedError(topic)


def free(lane: Lane, key: str, episode: str, address: str, event: Event) -> None:
    """A command or projection: no claim, a deterministic id."""
    headers = headers_of(event.kind, episode, address, now_ms())
    lane.add(key.encode(), event.to_json(), headers)


def message_headers(kind: str, subject: str) -> Headers:
    """The headers of a problem, an answer or feedback."""
    return headers_of(kind, subject, kind, now_ms())


def as_headers(errors: dict[str, Any]) -> Headers:
    """Plain values as headers."""
    return [(name, str(value).encode()) for name, value in errors.items()]
