"""The log as folds read it back: for forgetting, which needs what they do not keep, and for memory versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from schemas.events.base import Event
from schemas.events.learning import Graded
from schemas.places import stands
from state.folds.grades import GradesFold, Known
from streams.engine.learner import Learner
from streams.engine.policies import Find
from streams.runtime.embedded.queries.conditions import span

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
        return [row[0] for row in self.log.db.execute(NAMED, (*span(prefix), scope))]


def known_of(log: SqliteLog, episode: str, *, upto: int) -> Known:
    """What was known of an answer at an offset of the log."""
    grades = GradesFold()
    for each in log.records("learning", episode=episode, kinds=("graded",), upto=upto):
        if isinstance(each.event, Graded) and stands(episode, each.address, each.event):
            grades.feed(episode, each.event)
    return grades.of(episode)


def learned(log: SqliteLog, find: Find) -> Learner:
    """All that a log taught, read from its beginning: every scope's memory versions, windows and grades."""
    learner = Learner(find, LogRecords(log))
    for record in log.records("learning"):
        learner.feed(record.episode, record.address, record.event)
    return learner
