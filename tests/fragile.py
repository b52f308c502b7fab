"""Logs whose writers die after so many appends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from schemas.events.base import Event
from schemas.record import Record
from state.journal import Crashed
from streams.runtime.embedded.log import SqliteLog, Writer


class Dying(Writer):
    """A writer whose process dies at its n-th append; what was not yet committed is lost."""

    left = -1

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        if self.left == 0:
            raise Crashed
        self.left -= 1
        super().state(topic, episode, address, event)

    def flush(self) -> None:
        if self.left == 0:
            self.rows.clear()
            self.sent.clear()
            self.positions.clear()
        super().flush()


@dataclass
class Fragile(SqliteLog):
    """A log whose writers die; ``meanwhile`` is published between two reads of the next worker."""

    left: int = -1
    meanwhile: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        super().__init__(":memory:", create=True)
        self.reads = 0

    def claim(self, worker: str, partition: int = 0) -> Writer:
        made = super().claim(worker, partition)
        writer = Dying(self, made.partition, made.epoch)
        writer.left = self.left
        return writer

    def records(self, topic: str | None = None, **given: Any) -> Iterator[Record]:
        yield from super().records(topic, **given)
        self.reads += 1
        if self.reads > 1:  # the first reads what was there at the start
            self._meanwhile()

    def messages(
        self, topic: str, after: int = 0, limit: int = -1
    ) -> Iterator[tuple[int, str, dict[str, Any], bytes]]:
        yield from super().messages(topic, after, limit)
        if topic == "problems":
            self._meanwhile()

    def _meanwhile(self) -> None:
        while self.meanwhile:
            self.publish(*self.meanwhile.pop())
