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
from streams.runtime.embedded.queries import claims as queries
from streams.runtime.embedded.queries import counts
from streams.runtime.kafka.fence import CLAIMED, FREE

Sort: TypeAlias = Literal["file", "kafka", "part"]
"""One file with all of a log, what was read of one on Kafka, or a part that was cut out of either."""
RECORD_TOPICS = ("events", "learning")
END = 1 << 62


def sort_of(log: SqliteLog) -> Sort:
    """Return the sort of a log by its claims; a log that was worked on has some."""
    # By the names of its claims: nothing else on a log says where it was written.
    first = next(queries.claims(log), None)
    if first is not None:
        return "kafka" if first.address.count(".") > 1 else "file"
    if queries.is_imported(log):
        return "kafka"
    worked_on = queries.is_worked_on(log, [*FREE, CLAIMED])
    return "file" if queries.held(log) or not (worked_on or queries.has_cut_cases(log)) else "part"


def claims_of(log: SqliteLog, sort: Sort) -> dict[tuple[str, int], dict[int, int]]:
    """For each topic and partition its claims in order: by epoch, where their record stands."""
    found: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for offset, topic, partition, _, address in queries.claims(log):
        if sort == "kafka":
            found[topic, partition][int(address.rpartition(".")[2])] = offset
        else:
            for each in RECORD_TOPICS:
                found[each, partition][offset] = offset
    return found


def unclaimed(log: SqliteLog, sort: Sort) -> Iterator[Diverged]:
    """Records under a claim that was never made, not made yet, or already lost."""
    claims = claims_of(log, sort)
    for span in queries.spans(log):
        topic, partition, epoch, first, last = span
        known = claims[topic, partition]
        begun = known.get(epoch, END)
        # A claim is in force until the next one of its partition: a worker that was overtaken may
        # still have written, and nothing of that may count.
        over = min((at for at in known.values() if at > begun), default=END)
        if begun < first and last < over:
            continue
        for episode, address, said in queries.outside(log, span, begun, over):
            held = f"a claim of {topic}/{partition} in force there"
            yield Diverged(episode, address, "epoch", f"{said} on {topic}/{partition}", held)


def freed(log: SqliteLog, sort: Sort) -> Iterator[Diverged]:
    """Records without a claim that need one, and commands that lie where no command is put."""
    claims = claims_of(log, sort)
    free = [*FREE, CLAIMED] if sort == "kafka" else [*FREE - {"reflected"}, CLAIMED]
    for topic, partition, episode, address, kind in queries.unclaimed(log, free):
        if kind == "reflected" and is_taken(episode):
            continue  # who takes a case in says what it leaves
        if 0 not in claims[topic, partition]:
            yield Diverged(episode, address, "epoch", "none", f"a claim, as any {kind} needs")
    if sort == "file":
        for episode, address, partition in queries.aside(log):
            yield Diverged(episode, address, "partition", str(partition), "0, as any command")


def misnumbered(log: SqliteLog, sort: Sort) -> Iterator[Diverged]:
    """Claims under another name than their number or place gives them."""
    for number, (_, topic, partition, episode, address) in enumerate(queries.claims(log)):
        last = f".{topic}.{address.rpartition('.')[2]}" if sort == "kafka" else f"claimed.{number}"
        if episode != f"w/{partition}" or not address.endswith(last):
            yield Diverged(episode, address, "place", address, f"w/{partition} at …{last}")


def cut_off(log: SqliteLog, sort: Sort) -> Iterator[Diverged]:
    """Return records and messages that claims and readers say were there, and that were cut off at the end."""
    claims = claims_of(log, sort)
    for topic, partition, epoch, worker in queries.held(log):
        if epoch not in claims[topic, partition]:
            said = f"nothing of the claim {epoch} of {topic}/{partition} by {worker}"
            yield Diverged(f"w/{partition}", "-", "claim", said, "its record")
    messages, records = counts.ends(log)
    for name, topic, offset in counts.positions(log):
        if name.startswith(("kafka/", "intake/")):
            continue
        last = records if topic in RECORD_TOPICS else messages
        if offset > last:
            yield Diverged(topic, name, "offset", f"nothing after {last}", f"{offset} was read")
