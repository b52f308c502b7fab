"""Faust's app and aiokafka driver: a safe commit, heartbeats that are told, no wait and no disk for tables."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from faust.app.base import App as TheirApp
from faust.tables.manager import TableManager
from faust.transport.drivers import aiokafka as theirs
from mode.threads import WorkerThread

from streams.runtime.kafka.lease import Lease

LEASE: Lease | None = None
SOUGHT_S: Final = 5.0
"""How long the beginning of a partition is waited for; Faust waits no longer than a request may take."""
_HEARTBEAT: Final = 12
_DEALT: Final = 14
"""Hearing what the group's leader dealt to whom."""
_IS_MEMBER: Final = frozenset({0, 27})
"""Answers to a heartbeat: granted, and that the group is being dealt out anew, which is told to members alone."""


class Aside(WorkerThread):
    """A thread that keeps no process from ending: with brokers away its client may not be able to leave."""

    def __init__(self, service: Any, **options: Any) -> None:
        super().__init__(service, **options)
        self.daemon = True


class Thread(theirs.AIOKafkaConsumerThread):
    """The consumer's thread; what its coordinator answers renews the lease."""

    Worker = Aside

    async def on_start(self) -> None:
        """Listen to the coordinator once the client is there."""
        await super().on_start()
        client: Any = self._ensure_consumer()
        if LEASE is not None:
            listen(client._coordinator, LEASE)

    async def seek_to_committed(self) -> Any:
        """Go back to what was committed, and where nothing was to the beginning.

        aiokafka stays where it is there. What it had fetched while the group was dealt out, and nobody took, would
        be passed over: by a worker that a second one joins before its first commit.
        """
        me: Any = self
        client: Any = self._ensure_consumer()

        async def seek() -> Any:
            found = await client.seek_to_committed()
            never = [tp for tp, offset in found.items() if not offset]
            if never:
                # What was asked for stands. Faust ends for good where this takes as long as a request may.
                with suppress(TimeoutError):
                    await asyncio.wait_for(client.seek_to_beginning(*never), SOUGHT_S)
            return found

        return await me.call_thread(seek)

    async def again_from(self, tp: Any, offset: int) -> None:
        """Fetch a partition again from an offset, if it is still ours."""
        me: Any = self
        client: Any = self._ensure_consumer()

        async def seek() -> None:
            if tp in client.assignment():
                client.seek(tp, offset)

        await me.call_thread(seek)


def listen(coordinator: Any, lease: Lease) -> None:
    """Renew a lease with all that a group's coordinator says to a member of it.

    aiokafka tells nobody that it was answered, and the lease has nothing else to go by.
    """
    send = coordinator._send_req

    async def told(request: Any) -> Any:
        # An answer may lie in a socket for as long as this process is frozen: it says nothing of the time since.
        asked = time.monotonic()
        answer = await send(request)
        if request.API_KEY == _HEARTBEAT and answer.error_code in _IS_MEMBER:
            lease.renew(asked)
        elif request.API_KEY == _DEALT and not answer.error_code:
            lease.dealt = asked
        return answer

    coordinator._send_req = told


class Consumer(theirs.Consumer):
    """Commits never pass a message that is in flight, and what was fetched is delivered or fetched again."""

    _fetched: tuple[int, Mapping[Any, Sequence[Any]]] = (0, {})
    """The batch that is being delivered, and which dealing out of the group it belongs to."""

    def _new_consumer_thread(self) -> Thread:
        me: Any = self
        return Thread(self, loop=self.loop, beacon=me.beacon)

    async def _wait_next_records(self, timeout: float) -> Any:  # noqa: ASYNC109
        me: Any = self
        found: Any = await super()._wait_next_records(timeout)
        self._fetched = me.app.consumer_generation_id, found[0] or {}
        return found

    async def getmany(self, timeout: float) -> AsyncIterator[Any]:  # noqa: ASYNC109
        """Deliver a batch; what is left of it is fetched again.

        Where one of its partitions is paused while a batch is delivered, Faust drops the rest, takes the hole for
        one of the topic's own, and commits past it. It drops the middle where the partition is resumed before the
        batch ends: then nothing behind that is delivered either. Where the group is dealt out anew it reads again
        by itself, from what was committed.
        """
        me: Any = self
        given = Counter[Any]()
        async for tp, message in super().getmany(timeout):
            if message.offset == self._fetched[1][tp][given[tp]].offset:
                given[tp] += 1
                # Right behind offset 0 Faust sees no hole of the topic's own; from two on it would commit nothing more.
                if me._read_offset[tp] == 0 and message.offset > 2:
                    await me._add_gap(tp, 1, message.offset - 1)
                yield tp, message
        dealt, batch = self._fetched
        for tp, records in batch.items():
            left = records[given[tp] :]
            if left and me.flow_active and me.app.consumer_generation_id == dealt:
                await me._thread.again_from(tp, left[0].offset)

    def verify_event_path(self, now: float, tp: Any) -> None:
        """Say nothing: to Faust whoever waits for a broker or a slot hangs. Our watchdog knows better."""

    def _new_offset(self, tp: Any) -> Any:
        acked = self._acked[tp]
        if not acked:
            return None
        flying = (m.offset for m in self._unacked_messages if not m.acked and m.tp == tp)
        # Faust 0.15 commits past messages in flight where work is acknowledged late. A kill then lost problems.
        floor = min(flying, default=None)
        if floor is None:
            return super()._new_offset(tp)
        # What was acknowledged behind a message in flight is held back, and counts as soon as that one is done.
        held = [offset for offset in acked if offset >= floor]
        self._acked[tp] = [offset for offset in acked if offset < floor]
        try:
            return super()._new_offset(tp)
        finally:
            self._acked[tp].extend(held)


class Producer(theirs.Producer):
    """Faust's own sends are idempotent too."""

    def _settings_extra(self) -> dict[str, Any]:
        return {**super()._settings_extra(), "acks": "all", "enable_idempotence": True}


class App(TheirApp):
    """The app keeps nothing on disk: there are no tables."""

    def _init_signals(self) -> None:
        """Tell only those who listen to this app.

        Faust keeps the listeners of all apps in one table, by the app's `id` and for as long as the process
        lives: the listeners of an app that is gone would be told of another that has got its place in memory.
        """
        super()._init_signals()
        own: Any = self.on_partitions_assigned
        self.on_partitions_assigned = own.clone(default_sender=self)

    async def on_first_start(self) -> None:
        """Begin without making a folder for them."""


class NoTables(TableManager):
    """There are no tables; Faust would wait a second for them at each start."""

    async def on_start(self) -> None:
        """Begin without waiting."""
        if not self.should_stop:
            await self._update_channels()
            await self.recovery.start()


class Transport(theirs.Transport):
    """The transport ``metalogue://``."""

    Consumer = Consumer
    Producer = Producer
