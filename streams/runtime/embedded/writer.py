"""The append side of an embedded log: fenced, atomic, grouped.

One commit is made per turn of the event loop: it holds everything stated in that turn, so that many
episodes share one fsync with no thread and no timer.

Source: design/architecture.md#durability, design/architecture.md#what-flows (the fence).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from sqlite3 import OperationalError
from typing import TYPE_CHECKING, Any

import orjson

from schemas.events.base import Event
from schemas.events.episode import TextKept
from schemas.identity import text_key
from state.journal import Fenced
from streams.runtime.embedded.files import is_busy
from streams.runtime.embedded.rows import COUNT, SEND, insert, now_ms
from streams.runtime.embedded.stamping import Stamps

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

_log = logging.getLogger(__name__)
FIRST = "select epoch, body from records where episode = ? and address = ?"
GLANCE_MS, PAUSE_S = 500, 0.1
"""How long the loop is held up to wait for another process's commit, and how long it then runs on."""


class Writer:
    """The append side under one claim; implements ``state.journal.Recorder``.

    What is stated waits in memory until the next turn of the event loop commits it. While another
    process holds the log it waits on, however long: most of it was paid for. Nothing is written after
    the claim was lost: such records are only counted (``stale``), and ``Fenced`` is raised.
    """

    def __init__(self, log: SqliteLog, partition: int, epoch: int) -> None:
        self.log, self.partition, self.epoch = log, partition, epoch
        self.rows: list[tuple[Any, ...]] = []
        self.sent: list[tuple[str, str, str, bytes]] = []
        self.positions: dict[tuple[str, str], int] = {}
        self.kept: set[str] = set()
        self.stamps = Stamps()
        self.waiting: list[asyncio.Future[None]] = []
        self.commits = 0
        self.appended_s = time.monotonic()
        """When the log last took something of ours; first the claim."""
        self.at_ms, self.asked_s = 0, self.appended_s
        """The time of what is stated now, in Unix time; since when somebody waits (``time.monotonic``)."""
        self.loop: asyncio.AbstractEventLoop | None = None
        self.fenced = self.stalled = False
        self.about_to_append: Callable[[], None] = lambda: None
        """Called by each commit when it holds the log, before anything of it is on disk."""

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        """Record with the next commit."""
        # What is stated in one turn of the loop bears one time, and the clock is asked once for it. What nobody waits
        # for lies here until the next reply is stated, which may take a model minutes: each has a time of its own.
        rows = self.rows
        if self.stalled or not self.waiting:
            self.at_ms = now_ms()
        body = event.to_json().decode()
        rows.append(
            (topic, self.partition, self.epoch, episode, address, event.kind, self.at_ms, body)
        )

    def keep(self, digest: str, text: str) -> None:
        """Keep a text once per log."""
        # Settings of a thousand episodes are one text. The index would drop the others too, but
        # each would be spelled and sealed before.
        if digest not in self.kept:
            self.kept.add(digest)
            self.state("events", text_key(digest), "text", TextKept(text=text))

    def send(
        self, topic: str, key: str, value: bytes, headers: Mapping[str, Any] | None = None
    ) -> None:
        """A message in the same commit."""
        self.sent.append((topic, key, orjson.dumps(headers or {}).decode(), value))

    def advance(self, consumer: str, topic: str, offset: int) -> None:
        """Move a consumer's position in the same commit."""
        self.positions[consumer, topic] = offset

    def commit(self) -> asyncio.Future[None]:
        """Done when everything stated so far is on disk; one commit serves a whole turn of the loop."""
        waiting = self.waiting
        if not waiting:  # once a turn: asking for the loop costs a system call before Python 3.12
            if self.loop is None:
                self.log.db.execute(f"pragma busy_timeout={GLANCE_MS}")
            self.loop = asyncio.get_running_loop()
            self.loop.call_soon(self._turn)
            # Also the time of what is stated from here to the end of the turn: nothing may have been before.
            self.at_ms, self.asked_s = now_ms(), time.monotonic()
        assert self.loop is not None
        done = self.loop.create_future()
        waiting.append(done)
        return done

    def _turn(self) -> None:
        waiting, self.waiting = self.waiting, []
        if not waiting:  # ``alone`` was first; what fails with nobody waiting would be lost untold
            return
        try:
            self.flush()
        except Exception as error:
            # Rows are still ours where the transaction never began: then nothing is lost by trying again.
            if is_busy(error) and self._has_more():
                self.waiting = waiting
                if not self.stalled:
                    self.stalled = True
                    said = (
                        "%s: another process holds the log; what was answered waits to be recorded"
                    )
                    _log.warning(said, self.log.path)
                assert self.loop is not None
                self.loop.call_later(PAUSE_S, self._turn)
                return
            for done in waiting:
                if not done.done():
                    done.set_exception(error)
            return
        if self.stalled:
            self.stalled = False
            _log.warning("%s: the log can be written again", self.log.path)
        for done in waiting:
            if not done.done():
                done.set_result(None)

    def flush(self) -> None:
        """Commit now, without a loop. Raises ``Fenced`` when the claim is no longer the latest.

        Where it raises anything else, be it that another process holds the log or that the disk is full, nothing is
        lost and nothing passes it: it may be called again.
        """
        if not self._has_more():
            return
        db, at = self.log.db, now_ms()
        self._begin()
        rows, self.rows = self.rows, []
        sent, self.sent = self.sent, []
        positions, self.positions = self.positions, {}
        stated, kept = list(rows), False
        try:
            # Within the transaction: a claim that is looked at before it may be lost before it begins.
            if not self.holds():
                self.fenced = True
                self._count("stale", sum(row[5] == "completed" for row in rows))
                db.execute("commit")  # the count alone, since nothing of ours was put yet
                kept = True
                raise self.lost()
            self.about_to_append()
            self.stamps.put(db, rows)
            sealing, before = self.log.sealing, db.total_changes
            insert(db, rows if sealing is None else sealing.records(rows))
            if db.total_changes - before != len(rows):
                # Some record was not the first at its address. Of these only answers were paid for twice.
                self.stamps.doubt()
                lost = (
                    db.execute(FIRST, (episode, address)).fetchone() != (epoch, body)
                    for _, _, epoch, episode, address, kind, _, body in rows
                    if kind == "completed"
                )
                self._count("repeated", sum(lost))
            if sent:
                messages = [(topic, key, at, headers, value) for topic, key, headers, value in sent]
                db.executemany(SEND, messages if sealing is None else sealing.messages(messages))
            for (consumer, topic), offset in positions.items():
                self.log.commit_position(consumer, topic, offset)
            db.execute("commit")
            kept = True
        except BaseException:
            # Also where the process is interrupted: an open transaction would keep all others out.
            if db.in_transaction:
                db.execute("rollback")
            self.stamps.doubt()
            if not kept:
                # What failed goes before all that comes, or nothing does: a log that took the end of an episode
                # and not its middle would contradict itself for ever.
                self.rows[:0], self.sent[:0] = stated, sent
                self.positions = {**positions, **self.positions}
            raise
        self.commits += 1
        self.appended_s = time.monotonic()

    @contextmanager
    def alone(self) -> Generator[bool]:
        """Keep all others from committing; what was stated by the end is recorded then.

        Gives false where another process holds the log. Raises what the commit raises.
        """
        db = self.log.db
        # The first of all may come before any commit, which sets it too.
        db.execute(f"pragma busy_timeout={GLANCE_MS}")
        try:
            self._begin()
        except OperationalError as error:
            if not is_busy(error):
                raise
            yield False
            return
        try:
            yield True
            done = self.commit()
            # Now, and not at the end of the turn: whoever waits for this turn is told with it.
            self._turn()
            done.result()
        finally:
            if db.in_transaction:
                db.execute("rollback")

    def _begin(self) -> None:
        if not self.log.db.in_transaction:  # else it is that of ``alone``
            self.log.db.execute("begin immediate")

    def _has_more(self) -> bool:
        return bool(self.rows or self.sent or self.positions)

    def _count(self, name: str, more: int) -> None:
        if more:
            self.log.db.execute(COUNT, (name, more))

    def holds(self) -> bool:
        """Whether the claim is still the latest: who was stopped for long asks before it goes on."""
        query = "select epoch from claims where topic = 'events' and partition = ?"
        latest = self.log.db.execute(query, (self.partition,)).fetchone()
        return latest is not None and latest[0] == self.epoch

    def lost(self) -> Fenced:
        """Return the error for a worker whose claim is no longer the latest."""
        return Fenced(f"partition {self.partition} was claimed by another worker")
