"""A log on Kafka as a local SQLite file: what counts is stored, stale and repeated answers are counted.

Theory of operation. Each verb that only reads works on this file, and never on the cluster. A look asks for the ends
of all topics, reads up to them, and stores what it read together with how far it has read, in one transaction: a
process that is killed in between reads the same again, and stores it once. One process at a time reads, under a lock
beside the file.

The claim fence runs over the raw records. An episode on two partitions counts on the lower one, for every reader
has to decide the same whatever partition it happens to read first. What is published goes to Kafka and is read
back, never straight into the file: otherwise the file would hold what the fence has not judged.
"""

from __future__ import annotations

import asyncio
import atexit
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from schemas.events.base import Event
from schemas.events.learning import ProblemForgotten
from streams.runtime.embedded.lines import LAIN, LIES
from streams.runtime.embedded.log import INSERT, SEND, SqliteLog
from streams.runtime.embedded.rows import COUNT, INSERT_OPEN
from streams.runtime.kafka import aio, outgoing, topics
from streams.runtime.kafka.append import Appender
from streams.runtime.kafka.envelope import LogRecord, NotOurs, data_of, read
from streams.runtime.kafka.fence import CLAIMED, FREE, Fence, heard
from streams.runtime.kafka.localfile import alone, drop
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.sizes import Sizes

RECORDS = ("events", "learning")
AT_ONCE = 50_000
CONSUMER = "kafka"
INTAKE = "intake"
FIRST = "select kind, body, epoch from records where episode = ? and address = ?"
PLACES = "create table places(offset integer primary key, partition integer, place integer)"
MARKS = "create table if not exists marks(topic text primary key, partition integer, offset integer, mark text)"
MARK = "insert or replace into marks values (?, ?, ?, ?)"
HAS = "select 1 from sqlite_master where name = '{}'"
TIMED = "insert or ignore into counters select 'timed', coalesce(max(offset), 0) from records"
"""Up to where an earlier build read records: by the time of their batch, not of their statement."""
PLACE = "insert into places values (?, ?, ?)"
CLAIMS_IN_FORCE = "select topic, partition, epoch from claims"
HOME = "select partition from records where episode = ? and address = 'admitted'"


class KafkaLog(SqliteLog):
    """The local file of a log on Kafka; ``refresh`` brings it up to date."""

    is_owned_elsewhere = True

    def __init__(self, place: KafkaAddress, home: Path) -> None:
        self.place = place
        names = {place.topic(n): n for n in ("problems", "answers", "feedback", *RECORDS)}
        self.names = names | {place.dead(n): "dead-letters" for n in ("problems", "feedback")}
        """Topics by full name."""
        # The readers of this file are no coroutines, while aiokafka has nothing else.
        self.loop = asyncio.new_event_loop()
        try:
            self.partitions, cluster = self._run(topics.known(place))
            folder = home / cluster
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{place.group}.db"  # no two logs of a cluster have one group
            self.consumer: Any = self._run(self._connect())
        except BaseException:
            self.loop.close()
            raise
        self.sizes = Sizes(place)
        self.appender: Appender | None = None
        """Sends what is published, once something was."""
        self.versions = 0
        self.claimants: dict[tuple[str, int], str] = {}
        """Whose claim is in force."""
        with alone(path):
            # A topic that was deleted and made anew counts from 0 again: its records would be taken for old ones.
            if path.exists() and not self._same_topics(path):
                drop(path)
            super().__init__(path, create=True)
            if not self.db.execute(HAS.format("places")).fetchone():
                self.db.execute(PLACES)
            self.db.execute(MARKS)
            self.db.execute(LAIN)
            self.db.execute(TIMED)
        # A power failure may cost the last commits: then they are read from Kafka again.
        self.db.execute("pragma synchronous=normal")
        atexit.register(self.close)
        self.refresh()

    def _run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    async def _connect(self) -> Any:
        # aiokafka's consumer wants a running loop as soon as it is made.
        consumer = aio.consumer(self.place, fetch_max_wait_ms=50, max_partition_fetch_bytes=4 << 20)
        await consumer.start()
        return consumer

    def _spots(self) -> list[Any]:
        """Every partition of every topic that is read."""
        return [aio.spot(t, p) for t in self.names for p in range(self.partitions)]

    def close(self) -> None:
        """Let go of the broker and the file."""
        atexit.unregister(self.close)  # it would come from another thread than the file's
        if not self.loop.is_closed():
            if self.appender is not None:
                self._run(self.appender.stop())
            try:
                self._run(self.consumer.stop())
            except asyncio.CancelledError:  # aiokafka's own, of a fetch that was to be tried again
                self._run(self.consumer._client.close())
            self.loop.close()
        super().close()

    def data_version(self) -> int:
        """Looks for what is new, and changes whenever there was something."""
        self.refresh()
        return self.versions

    def note_intake(self) -> None:
        """Keep how far the workers have read the problems, for who watches how far behind they are."""
        at = self._run(topics.committed(self.place))
        for partition in range(self.partitions):
            name, topic = f"{INTAKE}/{partition}", self.place.topic("problems")
            self.commit_position(name, topic, at.get(partition, 0))

    # -- reading from Kafka ------------------------------------------------------------------------

    def refresh(self, step: Callable[[], None] | None = None) -> None:
        """Take in everything up to the present ends; what workers add meanwhile is the next look's.

        ``step`` is called whenever something was brought in, for who watches whether anything moves.
        """
        with alone(self.path):
            # The ends are asked for once. Workers may append faster than we store, and a look has to end.
            ends: dict[Any, int] = self._run(self.consumer.end_offsets(self._spots()))
            while True:
                # Positions are read off the file each time: whoever held the lock before us may have moved them.
                starts = {tp: self.position(f"{CONSUMER}/{tp.partition}", tp.topic) for tp in ends}
                wanted = {tp: end for tp, end in ends.items() if end > starts[tp]}
                if not wanted:
                    return
                self._store(*self._run(self._fetch(wanted, starts)))
                self.versions += 1
                if step is not None:
                    step()

    async def _fetch(
        self, ends: Mapping[Any, int], starts: Mapping[Any, int]
    ) -> tuple[list[Any], dict[Any, int]]:
        """Records in the order in which they are stored, and where to read on after them."""
        positions, found = {tp: starts[tp] for tp in ends}, list[Any]()
        # All of them, also where nothing is new: the client forgets the topics that it reads no more, and the
        # next question for their ends would find them out one by one, a tenth of a second each.
        self.consumer.assign(self._spots())
        for tp, start in starts.items():
            self.consumer.seek(tp, start)
        # What is found is stored in one transaction, and held in memory until then: hence the bound.
        while len(found) < AT_ONCE:
            left = [tp for tp, end in ends.items() if positions[tp] < end]
            if not left:
                break
            taken = await self.consumer.getmany(*left, timeout_ms=500, max_records=10_000)
            for tp, records in taken.items():
                found.extend(records)
                positions[tp] = records[-1].offset + 1
            # Offsets without a record, such as a transaction's end, are passed over by the position alone.
            for tp in left if not taken else ():
                positions[tp] = max(positions[tp], await self.consumer.position(tp))
        return in_time(found), positions

    # -- storing -----------------------------------------------------------------------------------

    def _store(self, found: list[Any], upto: Mapping[Any, int]) -> None:
        fences = defaultdict[tuple[str, int], Fence](Fence)
        for topic, partition, epoch in self.db.execute(CLAIMS_IN_FORCE).fetchall():
            fences[topic, partition] = Fence(epoch)
        homes: dict[str, int | None] = {}
        counted = {"stale": 0, "repeated": 0, "duplicate": 0}
        with self.transaction():
            for record in found:
                name = self.names[record.topic]
                if name in RECORDS:
                    self._record(name, record, fences, homes, counted)
                else:
                    self._message(name, record)
            for tp, offset in upto.items():
                self.commit_position(f"{CONSUMER}/{tp.partition}", tp.topic, offset)
            # A topic goes with all of its partitions: one record of it tells it from another of that name.
            last = {record.topic: record for record in found}
            for topic, record in last.items():
                row = (topic, record.partition, record.offset, aio.mark_of(record))
                self.db.execute(MARK, row)
            for (topic, partition), fence in fences.items():
                if fence.claims:  # only those that were read just now: we know their claimants
                    row = (topic, partition, fence.epoch, self.claimants[topic, partition])
                    self.db.execute("insert or replace into claims values (?, ?, ?, ?)", row)
            for name, more in counted.items():
                if more:
                    self.db.execute(COUNT, (name, more))

    def _record(
        self,
        topic: str,
        record: Any,
        fences: Mapping[tuple[str, int], Fence],
        homes: dict[str, int | None],
        counted: dict[str, int],
    ) -> None:
        try:
            said = read(record.headers, record.value)
        except NotOurs:
            return
        answer = said.kind == "completed"
        if not fences[topic, record.partition].admits(record.offset, said):
            counted["stale"] += answer
            return
        if said.kind == CLAIMED:
            # Anybody may put a claim there, also one that does not say whose it is.
            self.claimants[topic, record.partition] = ""
            with suppress(ValueError, LookupError, TypeError):
                self.claimants[topic, record.partition] = str(orjson.loads(said.body)["worker"])
        # What takes no claim may be anybody's: one that is no event would stop whoever reads this file.
        if said.kind in (*FREE, CLAIMED) and heard(said) is None:
            return
        if topic == "events" and not self._at_home(said, record.partition, homes):
            counted["duplicate"] += answer
            return
        address = (
            f"{said.address}.{topic}.{record.offset}" if said.kind == CLAIMED else said.address
        )
        epoch = 0 if said.kind == CLAIMED else said.epoch or 0
        row = (topic, record.partition, epoch, said.episode, address, said.kind)
        body = said.body.decode("utf-8", "surrogatepass")
        # A duplicate that the index of closed episodes missed may have run again.
        insert = INSERT_OPEN if topic == "events" else INSERT
        at_ms = record.timestamp if said.at_ms is None else said.at_ms
        done = self.db.execute(insert, (*row, at_ms, body))
        if answer and not done.rowcount:
            # The same record twice was paid for once. It was paid for twice where the two differ.
            first = self.db.execute(FIRST, (said.episode, address)).fetchone()
            counted["repeated"] += first != (said.kind, body, epoch)

    def _at_home(self, said: LogRecord, partition: int, homes: dict[str, int | None]) -> bool:
        """Whether a record lies where its episode counts: on the lowest partition that admitted it."""
        if not said.episode.startswith("p/"):
            return True
        if said.episode not in homes:
            homes[said.episode] = self._home(said.episode)
        home = homes[said.episode]
        if home is None or home == partition:
            homes[said.episode] = partition if said.address == "admitted" else home
            return home is not None or said.address == "admitted"
        if said.address != "admitted" or partition > home:
            return False
        # The lower partition came to light late: what the higher one told of the episode does not count any more.
        self.db.execute(
            "delete from records where episode = ? and topic = 'events'", (said.episode,)
        )
        homes[said.episode] = partition
        return True

    def _message(self, topic: str, record: Any) -> None:
        key, value = outgoing.name_of(topic, record), record.value or b""
        # Dead letters stay as they came, byte for byte: whoever mends one has to see what was refused.
        headers = {n: outgoing.header_value(n, v) for n, v in record.headers}
        if topic != "dead-letters":
            with suppress(NotOurs):
                value, _ = data_of(record.headers, record.value)
        said = orjson.dumps(headers, default=str).decode()
        done = self.db.execute(SEND, (topic, key, record.timestamp, said, value))
        if not done.rowcount:
            return
        dead = "dlq.feedback" if record.topic == self.place.dead("feedback") else "dlq.problems"
        lies = dead if topic == "dead-letters" else topic, record.partition, record.offset
        self.db.execute(LIES, (done.lastrowid, *lies))
        if topic == "answers":
            self.db.execute(PLACE, (done.lastrowid, record.partition, record.offset))

    def place_of(self, offset: int) -> tuple[int, int]:
        """The partition and offset on Kafka of an answer, by its offset here."""
        query = "select partition, place from places where offset = ?"
        partition, place = self.db.execute(query, (offset,)).fetchone()
        return int(partition), int(place)

    def whole(self, topic: str, partition: int, offset: int) -> bytes | None:
        """The bytes of a record where it lies on Kafka, if it still does."""
        spot = aio.spot(self.place.topic(topic), partition)
        if not 0 <= partition < self.partitions:
            return None
        # Beyond the end we would wait for a record that nobody may ever append.
        if offset >= self._run(self.consumer.end_offsets([spot]))[spot]:
            return None
        record = self._run(aio.record_at(self.consumer, spot, offset))
        return None if record is None else record.value or b""

    def _same_topics(self, path: Path) -> bool:
        """Whether the file was read from these topics: none is shorter, or holds another record where it was read."""
        old = SqliteLog(path)
        try:
            if not old.db.execute(HAS.format("places")).fetchone():
                return False  # an earlier build's: where answers lie cannot be told without reading them
            rows = old.db.execute(
                "select name, topic, offset from consumers where name like 'kafka/%'"
            ).fetchall()
            marks = []
            if old.db.execute(HAS.format("marks")).fetchone():  # earlier builds keep none
                marks = old.db.execute(
                    "select topic, partition, offset, mark from marks"
                ).fetchall()
        finally:
            old.close()
        at = {aio.spot(t, int(name.rpartition("/")[2])): offset for name, t, offset in rows}
        if any(tp.partition >= self.partitions for tp in at):
            return False
        if not at:
            return True
        ends: dict[Any, int] = self._run(self.consumer.end_offsets(list(at)))
        if any(ends[tp] < offset for tp, offset in at.items()):
            return False
        known = {
            aio.spot(topic, partition): (offset, mark) for topic, partition, offset, mark in marks
        }
        found = self._run(aio.records_at(self.consumer, {tp: at for tp, (at, _) in known.items()}))
        # One that is gone, such as after compaction, tells nothing.
        return all(aio.mark_of(record) == known[tp][1] for tp, record in found.items())

    # -- publishing --------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """The most bytes that a problem or a label may come to: what the topics say, asked once."""
        self._run(self.sizes.ask())
        return self.sizes.room

    def publish(
        self,
        messages: Iterable[tuple[str, str, Mapping[str, Any], bytes]] = (),
        commands: Iterable[tuple[str, str, Event]] = (),
    ) -> int:
        """Send messages and commands; how many messages were new. All of it is then here too, unless brokers went
        away meanwhile. Raises ``ClosedAgain``, and sends nothing, where a problem is withdrawn from a memory of which
        a version is being made anew.
        """
        sent, said = list(messages), list(commands)
        # A worker may close a batch between this look and what we send, for nobody holds the log meanwhile. The look
        # leaves milliseconds for that, where without it there are the minutes that models take: so whoever sends is
        # there before it.
        if any(isinstance(event, ProblemForgotten) for _, _, event in said):
            self._run(self._sender())
            self.refresh()
            self.withdrawable(said)
        new = len({(t, k) for t, k, _, _ in sent if not self.has_message(t, k)})
        homes = {episode: self._home(episode) for episode, _, _ in said}
        self._run(self._send(sent, said, homes))
        # It is on the log, whether or not it can be read back just now: who was told otherwise would send it again.
        with suppress(aio.kafka_error(), OSError):
            self.refresh()
        return new

    async def _send(
        self,
        sent: list[outgoing.Message],
        said: list[outgoing.Command],
        homes: Mapping[str, int | None],
    ) -> None:
        appender = await self._sender()
        try:
            await outgoing.publish(appender, self.partitions, sent, said, homes)
        except BaseException:
            # A lane that failed sends nothing more.
            self.appender = None
            await appender.stop()
            raise

    async def _sender(self) -> Appender:
        """The producer that is there: a door sends many times, and each beginning takes as long as ten appends."""
        if self.appender is None:
            appender = Appender(self.place, sizes=self.sizes)
            await appender.start()
            self.appender = appender
        return self.appender

    def _home(self, episode: str) -> int | None:
        row = self.db.execute(HOME, (episode,)).fetchone()
        return None if row is None else int(row[0])


def in_time(found: list[Any]) -> list[Any]:
    """Records of many partitions in one order: each partition's own, and by time between them."""
    # Clocks of brokers differ and may go back; a partition's own order is what must never change.
    latest: dict[tuple[str, int], int] = {}
    keyed: list[tuple[int, int, Any]] = []
    for index, record in enumerate(found):
        place = (record.topic, record.partition)
        latest[place] = max(latest.get(place, 0), record.timestamp)
        keyed.append((latest[place], index, record))
    keyed.sort(key=lambda each: each[:2])
    return [record for _, _, record in keyed]
