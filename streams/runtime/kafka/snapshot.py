"""From where a worker goes on at its start: its view of the shared topics as it was when it was committed last.

All of it lies in one file and is written in one commit: what was learned, as a snapshot of the folds; what the view
keeps in rows; and up to where each partition was read. So there is no state of one moment with the offsets of
another, whenever the process ends. The file is a cache. Whatever is not sure of it is not used: the worker says so
once, and reads the topics from their beginning.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final, TypeAlias

import orjson

from schemas.events.base import Event
from schemas.events.codec import BadEvent
from state.collecting import uncollected
from state.folds.state import State
from state.snapshot import TABLES, Snapshots
from streams.engine.learner import Learner
from streams.engine.resuming import resumed
from streams.runtime.kafka import aio
from streams.runtime.kafka.fence import Fence
from streams.runtime.kafka.follow import Follower, Spot
from streams.runtime.kafka.view import JOURNAL, PROPOSED, View, ViewRecords, grade_proposed

_log = logging.getLogger(__name__)
FORMAT: Final = 2
EVERY_S, SHARE = 1.0, 0.05
"""How often it is written, and the most of the time that this may take."""
HEAD, OWING = ("head", "all"), "owing"
BROKEN = (sqlite3.DatabaseError, BadEvent, LookupError, TypeError, ValueError, AssertionError)
"""What reading a file may raise that is not what we wrote."""
Marks: TypeAlias = dict[Spot, tuple[int, str]]
"""Of the last record that was read of a partition the offset, and what tells it from others."""


class Unusable(Exception):
    """The file cannot be gone on from, for the reason that it gives."""


class ViewSnapshot:
    """The file of one worker, which nobody else has. A view whose rows live in memory leaves none."""

    def __init__(self, view: View, learner: Learner) -> None:
        self.view, self.learner, self.rows = view, learner, view.rows
        self.state = State()
        self.owing: dict[str, int] = {}
        """What the file says of who lacks grades."""
        self.marks: Marks = {}
        self.looked_s = 0.0
        self.began_at = 0
        """How many records that count are not read again."""
        self.build = version("metalogue")
        self.follower: Follower | None = None
        self.sure = True
        """Whether the folds of the file took every record."""
        self.log_id = f"{view.place.topic('learning')} of {len(view.fences)} partitions"
        if self.rows.path is not None:
            self.snapshots = Snapshots(self.rows.path, self.log_id)
            view.on_accepted = self._accepted

    # -- beginning ---------------------------------------------------------------------------------

    async def begin(self, follower: Follower) -> None:
        """Let the follower of the shared topics begin where the file ends, or at their beginning."""
        self.follower, starts = follower, dict[Spot, int]()
        if self.rows.path is not None:
            try:
                starts = await self._resume()
            except Unusable as reason:
                # An empty file is the first start of all, and nothing that anybody need look at.
                level = logging.INFO if str(reason) == NOTHING else logging.WARNING
                told = "topics are read from their beginning, for %s %s"
                _log.log(level, told, self.rows.path, reason)
                self.learner.scopes.clear()
                self.rows.clear()
                self.rows.db.executescript(TABLES)
                self.state = State()
                self.state.attach(ViewRecords(self.view))
                self.snapshots.follow(self.state)
        for topic in self.view.topics():
            for partition in range(len(self.view.fences)):
                spot = topic, partition
                follower.add([spot], starts.get(spot, 0))

    async def _resume(self) -> dict[Spot, int]:
        """Put back what the file holds; from where on each partition is to be read. Raises ``Unusable``."""
        try:
            head = self._head()
            starts = {(topic, p): int(at) for topic, p, at in head["starts"]}
            marks: Marks = {(topic, p): (int(at), mark) for topic, p, at, mark in head["marks"]}
        except BROKEN as error:
            raise Unusable(f"is damaged ({error})") from error
        # Whether the topics are those that the file tells of: they may have been deleted and made anew.
        consumer = aio.consumer(self.view.place, fetch_max_wait_ms=50)
        await aio.patiently(consumer.start)
        try:
            found = await aio.patiently(lambda: last_records(consumer, starts, marks))
        finally:
            await consumer.stop()
        if any(found.get(spot) != mark for spot, (_, mark) in marks.items()):
            raise Unusable(ANOTHER)
        with uncollected():
            try:
                self._put_back(head)
            except BROKEN as error:
                raise Unusable(f"is damaged ({error})") from error
        self.marks = marks
        return starts

    def _head(self) -> dict[str, Any]:
        if self.rows.damaged:
            raise Unusable("was damaged")
        head: dict[str, Any] = orjson.loads(self.rows.get(*HEAD) or b'{"records":0}')
        if not head["records"]:
            raise Unusable(NOTHING)
        if (head.get("format"), head.get("build")) != (FORMAT, self.build):
            raise Unusable("was written by another build")
        if head.get("log") != self.log_id:
            raise Unusable(ANOTHER)
        return head

    def _put_back(self, head: dict[str, Any]) -> None:
        """Raises ``Unusable``, and then the learner may know something; else ``BROKEN``, or all is as it was."""
        view, learned = self.view, self.snapshots.learning()
        self.state = self.snapshots.load()
        if learned is None or not learned.offset == self.state.offset == head["records"]:
            raise Unusable("is damaged")
        # All that may raise is read first. The view is changed below, where nothing can fail half-way any more.
        journals = {key.rpartition("@")[0] for key, _ in self.rows.under(JOURNAL, "")}
        said = {episode: view.said_in(JOURNAL, episode) for episode in journals}
        graders = [(source, (grader, by)) for source, grader, by in head["graders"]]
        checkpoints = {int(each["partition"]): each for each in head["checkpoints"]}
        fences = [Fence(epoch, [epoch] if epoch >= 0 else [], by) for epoch, by in head["fences"]]
        owing = {episode: int(at) for episode, at in self.rows.under(OWING, "")}
        proposed = {
            episode: grade_proposed(body) for episode, body in self.rows.under(PROPOSED, "")
        }
        upto = head["learning"], head["feedback"], head["said_ms"]
        if not resumed(self.learner, learned):
            raise Unusable(UNSURE)
        view.fences, view.checkpoints, view.owing = fences, checkpoints, owing
        view.upto, view.feedback_upto, view.said_ms = upto
        view.journals.update(said)
        for episode, event in proposed.items():
            view.proposed[event.scope][episode] = event
        for source, each in graders:
            view.graders[source][each] = None
        self.state.attach(ViewRecords(view))
        self.owing, self.began_at = dict(owing), self.state.offset
        _log.info("%s holds the first %s records that taught", self.rows.path, self.began_at)

    # -- going on ----------------------------------------------------------------------------------

    def _accepted(self, episode: str, address: str, event: Event) -> None:
        """A record of ``learning`` counts."""
        try:
            self.state.feed(self.state.offset + 1, episode, address, event)
        except (LookupError, ValueError) as error:
            # The worker itself is right without the file: it goes on, and only its next start is slower.
            if self.sure:
                _log.warning("the next start reads the topics from their beginning: %s", error)
            self.sure = False

    def look(self) -> None:
        """Write what changed, now and then. It is called between records, never within one."""
        if time.monotonic() >= self.looked_s:
            began_s = time.monotonic()
            self.save()
            took_s = time.monotonic() - began_s
            self.looked_s = began_s + max(EVERY_S, took_s / SHARE)

    def save(self) -> None:
        """Write what changed since the last time, in one commit."""
        if self.rows.path is not None and self.rows.db.in_transaction:
            self._note()
        self.rows.commit()

    def _note(self) -> None:
        if not self.sure:
            self.rows.put(*HEAD, None)  # without a head the next start takes the file for empty
            return
        assert self.follower is not None
        view = self.view
        for episode in self.owing.keys() ^ view.owing.keys():
            at = view.owing.get(episode)
            self.rows.put(OWING, episode, None if at is None else b"%d" % at)
        self.owing = dict(view.owing)
        starts, topic = dict(self.follower.positions), view.place.topic("feedback")
        # What still needs its dead letter is nowhere but in memory: the next start has to read it again.
        for partition, record, _ in view.unread.values():
            starts[topic, partition] = min(starts[topic, partition], record.offset)
        self.marks |= {spot: (last.offset, aio.mark_of(last)) for spot, last in view.last.items()}
        view.last.clear()
        head = {
            "format": FORMAT,
            "build": self.build,
            "log": self.log_id,
            "records": self.state.offset,
            "starts": [[*spot, at] for spot, at in starts.items()],
            "marks": [[*spot, *mark] for spot, mark in self.marks.items()],
            "fences": [[fence.epoch, fence.by] for fence in view.fences],
            "learning": view.upto,
            "feedback": view.feedback_upto,
            "said_ms": view.said_ms,
            "checkpoints": [*view.checkpoints.values()],
            "graders": [
                [source, *each] for source, known in view.graders.items() for each in known
            ],
        }
        self.rows.put(*HEAD, orjson.dumps(head))
        self.snapshots.put(self.state, self.rows.db)

    def close(self) -> None:
        """Write the rest, and let go of the file. A record that was taken in part is as if it had not been read."""
        try:
            if self.rows.path is not None and self.follower is not None and not self.view.within:
                self._note()
                self.rows.commit()
        finally:
            self.rows.close()


NOTHING: Final = "holds nothing yet"
ANOTHER: Final = "is of another log"
UNSURE: Final = "cannot be learned on from: a policy is missing, or a version was made again"


async def last_records(
    consumer: Any, starts: Mapping[Spot, int], marks: Marks
) -> Mapping[Spot, str]:
    """What marks the record at each marked offset. Raises ``Unusable`` where topics do not reach so far, or no more."""
    tps = {aio.spot(*spot): spot for spot in starts}
    begins = await consumer.beginning_offsets(list(tps))
    ends = await consumer.end_offsets(list(tps))
    for tp, spot in tps.items():
        if ends[tp] < starts[spot]:
            raise Unusable(ANOTHER)
        if spot in marks and begins[tp] > marks[spot][0]:
            raise Unusable(f"is older than what {spot[0]} still holds")
    places = {aio.spot(*spot): offset for spot, (offset, _) in marks.items()}
    found = await aio.records_at(consumer, places)
    return {tps[tp]: aio.mark_of(record) for tp, record in found.items()}
