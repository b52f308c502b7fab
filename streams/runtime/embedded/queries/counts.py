"""How much a log holds: records and messages by topic, positions of readers, claims, bytes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from streams.runtime.embedded.queries.conditions import IS_CLOSED, TAKEN

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

ANYTHING = "select exists (select 1 from records) or exists (select 1 from messages)"
END = 1 << 62
"""Behind every offset."""
RECORDS = """
select topic, count(*), max(offset) from records where offset > ? and offset <= ? group by topic
"""
ENDS = """
select coalesce(max(offset), 0) from main.messages
  union all select coalesce(max(offset), 0) from main.records
"""
BYTES = "select page_count * page_size from pragma_page_count, pragma_page_size"
UNREAD = """
select name, (select count(*) from messages m where m.topic = c.topic and m.offset > c.offset)
  from consumers c where topic = ? and name glob ?
"""
BEHIND = """
select sum(max(r.offset - i.offset, 0)) from consumers i
  join consumers r on r.topic = i.topic and r.name = 'kafka/' || substr(i.name, 8)
  where i.name glob 'intake/*'
"""
POSITIONS = f"select name, topic, offset from consumers where name not glob '{TAKEN}*'"
TIMES_PARKED = """
select coalesce(sum(max(0, times)), 0) from (
  select sum(case kind when 'episode.parked' then 1 else -1 end) as times from records
    where kind in ('episode.parked', 'episode.adopted') group by episode)
"""
CANCELLED = f"""
select count(distinct a.episode) from records a
  where a.kind = 'episode.adopted' and json_extract(a.body, '$.void') and not {IS_CLOSED}
"""
OPENED_WITHIN = """
select count(*) from records where address = 'opened' and episode >= ? and episode < ?
"""
REUSED = """
select count(*) from records where kind = 'completed' and episode >= 'q/' and episode < 'q0'
  and json_extract(body, '$.reused')
"""
WORKED_OFF = """
select (select count(*) from messages where topic = 'problems'),
  (select count(*) from records where kind = 'episode.closed' and topic = 'events'),
  (select count(*) from records where kind = 'memory.versioned'),
  (select count(*) from records where kind = 'episode.parked')
"""
# Between two workers nobody worked, so each claim's time is taken by itself.
WORKED = """
select total(b - a) / 1000.0 from
  (select min(at_ms) a, max(at_ms) b from records where epoch > 0 group by epoch)
"""
LATEST = "select max(at_ms) from records where offset > (select max(offset) from records) - 8"


class TopicCount(NamedTuple):
    """How many records or messages a topic holds, and the last one's offset."""

    size: int
    last: int


class WorkedOff(NamedTuple):
    """How much of its work a log has behind it: every record is counted, whatever mark a worker left."""

    problems: int
    closed: int
    versions: int
    """Of memories."""
    parked: int


class Position(NamedTuple):
    """How far a reader is on a topic: the offset that it committed last."""

    name: str
    topic: str
    offset: int


# ── By topic and kind ────────────────────────────────────────────────────────────────────────


def is_empty(log: SqliteLog) -> bool:
    """Whether there is neither a record nor a message."""
    return not log.db.execute(ANYTHING).fetchone()[0]


def kinds(log: SqliteLog) -> Counter[str]:
    """How many records there are of each kind, whatever their topic."""
    from streams.runtime.embedded.marks import counted  # it brings the folds along

    found = Counter[str]()
    for (_, kind), number in counted(log).items():
        found[kind] += number
    return found


def records_by_topic(log: SqliteLog, after: int = 0, upto: int = END) -> dict[str, TopicCount]:
    """The records of each topic behind an offset and up to another."""
    rows = log.db.execute(RECORDS, (after, upto))
    return {topic: TopicCount(*found) for topic, *found in rows}


def messages_by_topic(log: SqliteLog, after: int = 0) -> dict[str, TopicCount]:
    """The messages of each topic behind an offset."""
    # All of them are counted off the index of topics. Newer ones are found by their offsets: SQLite
    # would rather walk that index to its end than sort the few, at each look of a dashboard.
    since = "not indexed where offset > ?" if after else ""
    query = f"select topic, count(*), max(offset) from messages {since} group by topic"
    rows = log.db.execute(query, (after,) if after else ())
    return {topic: TopicCount(*found) for topic, *found in rows}


def message_topics(log: SqliteLog) -> set[str]:
    """The topics that have messages."""
    return {topic for (topic,) in log.db.execute("select distinct topic from messages")}


def worked_off(log: SqliteLog) -> WorkedOff:
    """How many problems were put, how many are closed or were parked, and how many memory versions came of it."""
    return WorkedOff(*log.db.execute(WORKED_OFF).fetchone())


def records(log: SqliteLog, episode: str | None = None) -> int:
    """How many records there are; on request of one episode alone."""
    query = "select count(*) from records where ?1 is null or episode = ?1"
    return int(log.db.execute(query, (episode,)).fetchone()[0])


def messages(log: SqliteLog) -> int:
    """How many messages there are on all topics."""
    return int(log.db.execute("select count(*) from messages").fetchone()[0])


def ends(log: SqliteLog) -> tuple[int, int]:
    """The offsets of the last message and the last record; 0 where there is none."""
    (messages,), (records,) = log.db.execute(ENDS).fetchall()
    return messages, records


def times_parked(log: SqliteLog) -> int:
    """How many episodes wait for a person. Every record is looked at for it.

    An episode that was taken out while it waited or ran had never been parked.
    """
    return int(log.db.execute(TIMES_PARKED).fetchone()[0])


def cancelled(log: SqliteLog) -> int:
    """How many episodes were taken out before they had ended. Every record is looked at for it."""
    return int(log.db.execute(CANCELLED).fetchone()[0])


def forks(log: SqliteLog) -> int:
    """How many episodes were forked off others, which count as opened and as closed like those of problems."""
    return int(log.db.execute(OPENED_WITHIN, ("q/", "q0")).fetchone()[0])


def reused(log: SqliteLog) -> int:
    """How many replies forks and probes took over from elsewhere, so that nobody was asked. Theirs are looked at."""
    return int(log.db.execute(REUSED).fetchone()[0])


def sets(log: SqliteLog) -> int:
    """How many sets of problems were opened, each of which counts beside its members."""
    return int(log.db.execute(OPENED_WITHIN, ("s/", "s0")).fetchone()[0])


# ── Readers, workers, time and room ──────────────────────────────────────────────────────────


def positions(log: SqliteLog) -> list[Position]:
    """How far every reader is, by name and topic. An import's own, `kafka/…`, count offsets of Kafka."""
    return [Position(*row) for row in log.db.execute(POSITIONS)]


def unread(log: SqliteLog, topic: str, readers: str) -> int | None:
    """Messages that the slowest of these readers (a glob) has not read; none where there is no such reader."""
    rows = log.db.execute(UNREAD, (topic, readers)).fetchall()
    return max((int(unread) for _, unread in rows), default=None)


def unread_on_kafka(log: SqliteLog) -> int | None:
    """Problems that were imported from Kafka, and that their partition's workers have not read; none elsewhere."""
    (behind,) = log.db.execute(BEHIND).fetchone()
    return None if behind is None else int(behind)


def workers(log: SqliteLog) -> int:
    """How many workers wrote records, one that was started again counted again."""
    query = "select count(distinct epoch) from records where epoch > 0"
    return int(log.db.execute(query).fetchone()[0])


def worked_s(log: SqliteLog) -> float:
    """Seconds in which anybody worked on the log, pauses between two workers left out."""
    return float(log.db.execute(WORKED).fetchone()[0])


def span_ms(log: SqliteLog) -> tuple[int, int]:
    """When the first and the last record came, Unix milliseconds, on a log that has some."""
    first, last = log.db.execute("select min(at_ms), max(at_ms) from records").fetchone()
    return first, last


def latest_ms(log: SqliteLog) -> int | None:
    """When the newest records came, Unix milliseconds; none before the first."""
    at_ms: int | None = log.db.execute(LATEST).fetchone()[0]
    return at_ms


def size_bytes(log: SqliteLog) -> int:
    """The size of the file."""
    return int(log.db.execute(BYTES).fetchone()[0])


def damage(log: SqliteLog) -> list[str]:
    """The first three things that SQLite finds wrong with rows and indexes of the file; nothing where it is sound."""
    rows = log.db.execute("pragma integrity_check(3)")
    return [str(said) for (said,) in rows if said != "ok"]


def what_is_wrong(log: SqliteLog) -> str | None:
    """The first thing that SQLite finds wrong with the file, by a quick look; nothing where it is sound."""
    found = str(log.db.execute("pragma quick_check(1)").fetchone()[0])
    return None if found == "ok" else found
