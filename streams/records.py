"""The log as folds read it back: for forgetting, which needs what they do not keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from schemas.events.base import Event

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

NAMED = """
select distinct episode from records where episode >= ? and episode < ?
  and kind in ('problem.admitted', 'trace.taken', 'reflected', 'graded') and json_extract(body, '$.scope') = ?
"""


class LogRecords:
    """Single records and episodes of an embedded log."""

    def __init__(self, log: SqliteLog) -> None:
        self.log = log

    def find(self, episode: str, address: str) -> Event | None:
        """One record's event, if it is there."""
        return self.log.find(episode, address)

    def journal(self, episode: str) -> Mapping[str, Event]:
        """The records of one episode by address."""
        return self.log.journal(episode)

    def episodes(self, scope: str, prefix: str) -> Iterable[str]:
        """Names of a scope's episodes that begin with this."""
        last = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return [row[0] for row in self.log.db.execute(NAMED, (prefix, last, scope))]
