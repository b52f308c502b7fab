"""Whether records were written under the claim that was in force.

In one file a claim covers both topics and its epoch is its own offset there; on Kafka each partition of each
topic has claims of its own, whose epochs are offsets of that partition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, TypeAlias

from schemas.asking import Diverged
from schemas.identity import is_taken
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.kafka.fence import CLAIMED, FREE

Sort: TypeAlias = Literal["file", "kafka", "part"]
"""One file with all of a log, what was read of one on Kafka, or a part that was cut out of either."""
CLAIMS = """
select offset, topic, partition, episode, address, body from records where kind = 'partition.claimed'
  order by offset
"""
UNCLAIMED = "select 1 from records where epoch > 0 or kind not in ({}) limit 1"
"""Also those under the first claim of a partition on Kafka, whose epoch is 0."""
SPANS = """
select topic, partition, epoch, min(offset), max(offset) from records
  where epoch > 0 group by 1, 2, 3
"""
OUTSIDE = """
select episode, address, epoch from records
  where topic = ? and partition = ? and epoch = ? and (offset <= ? or offset >= ?) order by offset
"""
HAS_PLACES = "select 1 from sqlite_master where name = 'places'"
"""An import from Kafka notes there where answers lie."""
HELD = "select topic, partition, epoch, worker from claims order by 1, 2"
CONSUMED = "select name, topic, offset from consumers where name not like 'kafka/%' and name not like 'intake/%'"
LAST = """
select coalesce(max(offset), 0) from main.messages
  union all select coalesce(max(offset), 0) from main.records
"""
RECORD_TOPICS = ("events", "learning")
FREED = """
select topic, partition, episode, address, kind from records
  where epoch = 0 and kind not in ({}) order by offset
"""
ASIDE = """
select episode, address, partition from records
  where epoch = 0 and partition != 0 and kind != 'partition.claimed' order by offset
"""
END = 1 << 62


def sort_of(log: SqliteLog) -> Sort:
    """Return the sort of a log by its claims; a log that was worked on has some."""
    row = log.db.execute(CLAIMS + " limit 1").fetchone()
    if row is not None:
        return "kafka" if row[4].count(".") > 1 else "file"
    if log.db.execute(HAS_PLACES).fetchone():
        return "kafka"
    claimed = log.db.execute(HELD).fetchone() is not None
    free = [*FREE, CLAIMED]
    worked_on = log.db.execute(UNCLAIMED.format(",".join("?" * len(free))), free).fetchone()
    return "file" if claimed or not worked_on else "part"


def claims_of(log: SqliteLog, sort: Sort) -> dict[tuple[str, int], dict[int, int]]:
    """For each topic and partition its claims in order: by epoch, where their record stands."""
    found: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for offset, topic, partition, _, address, _ in log.db.execute(CLAIMS):
        if sort == "kafka":
            found[topic, partition][int(address.rpartition(".")[2])] = offset
        else:
            for each in RECORD_TOPICS:
                found[each, partition][offset] = offset
    return found


def unclaimed(log: SqliteLog, sort: Sort) -> Iterator[Diverged]:
    """Records under a claim that was never made, not made yet, or already lost."""
    claims = claims_of(log, sort)
    for topic, partition, epoch, first, last in log.db.execute(SPANS).fetchall():
        known = claims[topic, partition]
        begun = known.get(epoch, END)
        over = min((at for at in known.values() if at > begun), default=END)
        if begun < first and last < over:
            continue
        where = (topic, partition, epoch, begun, over)
        for episode, address, said in log.db.execute(OUTSIDE, where):
            held = f"a claim of {topic}/{partition} in force there"
            yield Diverged(episode, address, "epoch", f"{said} on {topic}/{partition}", held)


def freed(log: SqliteLog, sort: Sort) -> Iterator[Diverged]:
    """Records without a claim that need one, and commands that lie where no command is put."""
    claims = claims_of(log, sort)
    free = [*FREE, CLAIMED] if sort == "kafka" else [*FREE - {"reflected"}, CLAIMED]
    marks = ",".join("?" * len(free))
    for topic, partition, episode, address, kind in log.db.execute(FREED.format(marks), free):
        if kind == "reflected" and is_taken(episode):
            continue  # who takes a case in says what it leaves
        if 0 not in claims[topic, partition]:
            yield Diverged(episode, address, "epoch", "none", f"a claim, as any {kind} needs")
    if sort == "file":
        for episode, address, partition in log.db.execute(ASIDE):
            yield Diverged(episode, address, "partition", str(partition), "0, as any command")


def misnumbered(log: SqliteLog, sort: Sort) -> Iterator[Diverged]:
    """Claims under another name than their number or place gives them."""
    rows = log.db.execute(CLAIMS).fetchall()
    for number, (_, topic, partition, episode, address, _) in enumerate(rows):
        last = f".{topic}.{address.rpartition('.')[2]}" if sort == "kafka" else f"claimed.{number}"
        if episode != f"w/{partition}" or not address.endswith(last):
            yield Diverged(episode, address, "place", address, f"w/{partition} at …{last}")


def cut_off(log: SqliteLog, sort: Sort) -> Iterator[Diverged]:
    """Return records and messages that claims and readers say were there, and that were cut off at the end."""
    claims = claims_of(log, sort)
    for topic, partition, epoch, worker in log.db.execute(HELD):
        if epoch not in claims[topic, partition]:
            said = f"nothing of the claim {epoch} of {topic}/{partition} by {worker}"
            yield Diverged(f"w/{partition}", "-", "claim", said, "its record")
    (messages,), (records,) = log.db.execute(LAST).fetchall()
    for name, topic, offset in log.db.execute(CONSUMED):
        last = records if topic in RECORD_TOPICS else messages
        if offset > last:
            yield Diverged(topic, name, "offset", f"nothing after {last}", f"{offset} was read")
