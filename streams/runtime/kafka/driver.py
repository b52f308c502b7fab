"""Faust's app and aiokafka driver: a safe commit, heartbeats that are told, no wait and no disk for tables."""

from __future__ import annotations

from typing import Any

from faust.app.base import App as TheirApp
from faust.tables.manager import TableManager
from faust.transport.drivers import aiokafka as theirs
from mode.threads import WorkerThread

from streams.runtime.kafka.lease import Lease

LEASE: Lease | None = None


class Aside(WorkerThread):
    """A thread that keeps no process from ending: with brokers away its client may not be able to leave."""

    def __init__(self, service: Any, **options: Any) -> None:
        super().__init__(service, **options)
        self.daemon = True


class Thread(theirs.AIOKafkaConsumerThread):
    """The consumer's thread; its heartbeats renew the lease."""

    Worker = Aside

    async def on_start(self) -> None:
        """Listen to the heartbeats once the client is there."""
        await super().on_start()
        client: Any = self._ensure_consumer()
        coordinator = client._coordinator
        # aiokafka tells nobody that a heartbeat was answered, and the lease has nothing else to go by.
        beat = coordinator._do_heartbeat

        async def told() -> bool:
            before = LEASE
            success = bool(await beat())
            if success and before is not None:
                before.renew()
            return success

        coordinator._do_heartbeat = told


class Consumer(theirs.Consumer):
    """Commits never pass a message that is in flight."""

    def _new_consumer_thread(self) -> Thread:
        me: Any = self
        return Thread(self, loop=self.loop, beacon=me.beacon)

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
