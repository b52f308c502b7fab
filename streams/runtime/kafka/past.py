"""The past: an index of episodes closed long ago, in the worker's own file, rebuilt from the log in the background.

It recognises a user's duplicates of what lies before a partition's checkpoint. Until a partition is whole in it
nothing of that partition is admitted: a duplicate would run once more. What is open goes on meanwhile.

Anybody may say that an episode is taken out. It is over only where it was admitted before, on the same partition:
a problem that is to come, or that is worked on elsewhere, would else be taken for one that is known.

What is new is kept in memory, and written with the next checkpoint. How far a partition is noted is written only
after what was read up to there, so a process that is killed in between reads some of it again, and misses nothing.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

from schemas.events.codec import BadEvent, decode
from schemas.events.episode import ProblemAdmitted
from schemas.identity import text_digest
from streams.producing.typed import type_mark
from streams.runtime.kafka import aio
from streams.runtime.kafka.envelope import NotOurs, read
from streams.runtime.kafka.fence import Fence, takes_out
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.reread import Rereader

_log = logging.getLogger(__name__)
AT_ONCE = 2_000
TABLES = """
create table if not exists closed(episode text primary key) without rowid;
create table if not exists texts(
  domain text, problem text, digest text, primary key (domain, problem)) without rowid;
create table if not exists admitted(
  episode text primary key, partition integer, offset integer, mark text) without rowid;
create table if not exists admitted_upto(partition integer primary key, offset integer, claim integer);
create table if not exists begun(partition integer primary key, mark text);
"""
# Earlier builds noted in a table `upto` or `typed_upto` how far they had read, and not where each episode was
# admitted. What they read is read again: it is unknown which type the answers have, and what was taken out in time.
NAMES = ("closed", "texts", "admitted", "admitted_upto", "begun")
NOTE = """
insert into admitted_upto values (?, ?, ?) on conflict(partition) do update
  set offset = excluded.offset, claim = excluded.claim where excluded.offset > offset
"""


class ClosedEpisodeIndex:
    """Closed episodes, the text of each problem and the type of its answer. Without a file it lives in memory."""

    def __init__(self, path: Path | None = None) -> None:
        place = ":memory:" if path is None else str(path)
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            except OSError as error:
                told = "%s: %s; the index of what is closed is kept in memory"
                _log.warning(told, path, error.strerror)
                place = ":memory:"
        self.db = sqlite3.connect(place, isolation_level=None, timeout=10)
        self.db.execute("pragma journal_mode=wal")
        self.db.execute("pragma synchronous=normal")  # what a power failure undoes is read again
        self.db.executescript(TABLES)
        self.fresh: set[str] = set()
        self.named: dict[tuple[str, str], str] = {}
        self.admitted: dict[str, tuple[int, int, str]] = {}
        """Where episodes were admitted, partition and offset, and the marks of their answers' types."""
        self.unsure: dict[int, dict[str, int]] = defaultdict(dict)
        """Of partitions that are not whole, what was taken out there, and at which offset."""
        self.read = 0
        """Records that were read to fill it."""
        self.alone, self.compared = asyncio.Lock(), False
        """Whether it was seen that it is of this log."""
        self.dropped = 0
        """How often it turned out to be of another log."""
        self.whole: dict[int, int] = {}
        """Partitions of which everything before the present is in the index, and how far that is noted."""

    # -- what is known -----------------------------------------------------------------------------

    def __contains__(self, episode: str) -> bool:
        """Whether an episode was closed."""
        query = "select 1 from closed where episode = ?"
        return episode in self.fresh or self.db.execute(query, (episode,)).fetchone() is not None

    def text(self, domain: str, problem: str) -> str | None:
        """The digest of a problem's text."""
        known = self.named.get((domain, problem))
        if known is not None:
            return known
        query = "select digest from texts where domain = ? and problem = ?"
        row = self.db.execute(query, (domain, problem)).fetchone()
        return None if row is None else str(row[0])

    def type_mark(self, episode: str) -> str:
        """The mark of the type that an admitted episode's answer has; empty where it has none."""
        found = self._admission(episode)
        return "" if found is None else found[2]

    def _admission(self, episode: str) -> tuple[int, int, str] | None:
        query = "select partition, offset, mark from admitted where episode = ?"
        return self.admitted.get(episode) or self.db.execute(query, (episode,)).fetchone()

    def add(self, episode: str) -> None:
        """An episode was closed."""
        self.fresh.add(episode)

    def name(self, episode: str, admitted: ProblemAdmitted, partition: int, offset: int) -> None:
        """A problem was admitted there with this text, and its episode with this type of answer; the first stays."""
        problem = admitted.problem
        self.named.setdefault((problem.domain, problem.id), text_digest(problem.problem))
        self.admitted.setdefault(episode, (partition, offset, type_mark(problem)))

    def take_out(self, episode: str, partition: int, offset: int) -> None:
        """Somebody said there that an episode is taken out, which its partition's owner did not see admitted."""
        if partition in self.whole:
            self._take_out(episode, partition, offset)
        else:
            self.unsure[partition][episode] = offset

    def _take_out(self, episode: str, partition: int, offset: int) -> None:
        found = self._admission(episode)
        if found is not None and found[0] == partition and found[1] < offset:
            self.add(episode)

    def let_go(self, partition: int) -> None:
        """The partition moved: what others close there is not known here."""
        self.whole.pop(partition, None)
        self.unsure.pop(partition, None)

    # -- the file ----------------------------------------------------------------------------------

    def note(self, partition: int, offset: int, claim: int) -> None:
        """Keep what is new; of a whole partition also how far it was read."""
        self._keep()
        if self.whole.get(partition, offset) != offset:
            self.whole[partition] = offset
            self.db.execute(NOTE, (partition, offset, claim))

    def _keep(self) -> None:
        if not (self.fresh or self.admitted):
            return  # what is admitted is named as well
        rows = [(*key, digest) for key, digest in self.named.items()]
        self.db.execute("begin immediate")
        self.db.executemany("insert or ignore into closed values (?)", [(e,) for e in self.fresh])
        self.db.executemany("insert or ignore into texts values (?, ?, ?)", rows)
        told = [(episode, *where) for episode, where in self.admitted.items()]
        self.db.executemany("insert or ignore into admitted values (?, ?, ?, ?)", told)
        self.db.execute("commit")
        self.fresh.clear()
        self.named.clear()
        self.admitted.clear()

    async def compare(self, reread: Rereader) -> None:
        """Drop an index of another log: of a partition that began otherwise.

        Before anything is added to it. Whoever found that out later would drop what others of this machine have
        noted of the present log meanwhile.
        """
        async with self.alone:
            if self.compared:
                return
            for partition, mark in self.db.execute("select partition, mark from begun").fetchall():
                first = await reread.first(partition)
                if first is not None and first != mark:
                    self.drop()
                    break
            self.compared = True

    def drop(self) -> None:
        """It is of another log."""
        for table in NAMES:
            self.db.execute(f"delete from {table}")
        # What was read of others went with it: they are to be read again.
        self.whole.clear()
        self.dropped += 1

    def begins(self, partition: int, end: int) -> tuple[int, int]:
        """From where the index lacks a partition, and the claim in force there.

        An index that knows more than there is belongs to another log, and is dropped.
        """
        query = "select offset, claim from admitted_upto where partition = ?"
        offset, claim = self.db.execute(query, (partition,)).fetchone() or (0, -1)
        if offset <= end:
            return offset, claim
        self.drop()
        return 0, -1

    async def fill(self, reread: Rereader, owned: Owned) -> None:
        """Read what lies between the index and where its owner began to read."""
        assert owned.events is not None
        partition, start, end = owned.index, owned.reads_from, owned.events.epoch + 1
        await self.compare(reread)
        first = await reread.first(partition)
        offset, claim = self.begins(partition, end)
        if first is not None:  # else it is gone, and tells nothing
            self.db.execute("insert or replace into begun values (?, ?)", (partition, first))
        dropped = self.dropped
        if offset < start:
            fence, consumer = (
                Fence(claim),
                aio.consumer(reread.place, max_partition_fetch_bytes=4 << 20),
            )
            tp = aio.spot(reread.place.topic("events"), partition)
            try:
                await aio.patiently(consumer.start)
                consumer.assign([tp])
                consumer.seek(tp, offset)
                while offset < start:
                    found = await consumer.getmany(tp, timeout_ms=500, max_records=AT_ONCE)
                    for record in found.get(tp, ()):
                        if record.offset < start:
                            self._take(fence, partition, record)
                            self.read += 1
                    offset = max(offset, await consumer.position(tp))
                    if self.dropped != dropped:
                        return  # what was read before is gone: it is read again, from the beginning
                    # Noted as it goes: a log of years is not read from its beginning after each restart.
                    self._keep()
                    self.db.execute(NOTE, (partition, min(offset, start), fence.epoch))
            finally:
                await consumer.stop()
        for episode, at in self.unsure.pop(partition, {}).items():
            self._take_out(episode, partition, at)
        self.whole[partition] = -1  # lower than any offset, so that the next note is written

    def _take(self, fence: Fence, partition: int, record: Any) -> None:
        try:
            said = read(record.headers, record.value)
        except NotOurs:
            return
        if not fence.admits(record.offset, said):
            return
        if said.kind == "episode.closed":
            self.add(said.episode)
        elif takes_out(said):
            self._take_out(said.episode, partition, record.offset)
        elif said.kind == "problem.admitted":
            with suppress(BadEvent):
                event = decode(said.kind, said.body)
                if isinstance(event, ProblemAdmitted):
                    self.name(said.episode, event, partition, record.offset)

    def close(self) -> None:
        """Let go of the file."""
        self.db.close()
