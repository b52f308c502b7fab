"""The topics of a log: what they hold, making them, and checking that they are sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streams.core.topology import CHECKPOINTS, STAGES, TOPICS, Topic
from streams.interfaces.cli.errors import FAILED, OK, usage
from streams.interfaces.cli.opening import log_url, open_log
from streams.interfaces.cli.output import out, out_json, say
from streams.runtime.embedded.queries import counts
from streams.runtime.embedded.queries.counts import TopicCount

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog
    from streams.runtime.kafka.rights import Who

LOG_TOPICS = ("events", "learning")


def held(log: SqliteLog) -> dict[str, TopicCount]:
    """How many records each topic holds, and the last one's offset."""
    return counts.records_by_topic(log) | counts.messages_by_topic(log)


def rows_of(log: SqliteLog) -> list[dict[str, Any]]:
    """Every topic of the topology with its count and who reads and writes it."""
    found = held(log)
    return [_row(topic, *found.get(topic.name, TopicCount(0, 0))) for topic in TOPICS]


def _row(topic: Topic, count: int | None, last: int | None) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "records": count,
        "last": last,
        "key": topic.key,
        "kept": topic.kept,
        "written_by": [stage.name for stage in STAGES if topic.name in stage.writes],
        "read_by": [stage.name for stage in STAGES if topic.name in stage.reads],
        "about": topic.about,
    }


def show_all(log: str | None, *, json: bool) -> None:
    """``topics list``."""
    opened = open_log(log)
    rows = rows_of(opened)
    opened.close()
    if log_url(log).startswith("kafka://"):
        # On Kafka alone there is one topic more, for the state of workers.
        rows.append(_row(CHECKPOINTS, None, None))  # no command reads them: nobody counts
    for row in rows:
        if json:
            out_json(row)
        else:
            kept = "kept for ever" if row["kept"] else "may expire"
            records = "unknown" if row["records"] is None else f"{row['records']:,}"
            out(f"{row['topic']:<12} {records:>9}  {kept:<13}  {row['about']}")


def create(
    log: str | None,
    *,
    partitions: int = 8,
    replicas: int | None = None,
    min_isr: int | None = None,
    json: bool,
) -> None:
    """``topics create``: the log with all its topics, if it is not there yet."""
    if log_url(log).startswith("kafka://"):
        from streams.interfaces.cli import kafka_log

        kafka_log.create(log_url(log), partitions, replicas, min_isr, json=json)
        return
    # Passed over in silence they would make people believe that there are copies.
    for field, value in (("--replicas", replicas), ("--min-isr", min_isr)):
        if value is not None:
            raise usage("only a log on Kafka has copies", field=field)
    # A log in one file makes all its topics at once, when it is made.
    open_log(log, create=True).close()
    if json:
        out_json({"log": log_url(log), "topics": [topic.name for topic in TOPICS]})
    else:
        out(f"{log_url(log)} has {', '.join(topic.name for topic in TOPICS)}")


def faults(log: SqliteLog) -> list[str]:
    """What is wrong with the topics of a log; nothing if they are sound."""
    found = held(log)
    # What another build left on a log is told of and never removed: it may be needed there.
    known = {topic.name for topic in TOPICS}
    wrong = [
        f"{name}: not a topic of this build, {found[name].size} records"
        for name in found.keys() - known
    ]

    for name, topic, offset in counts.positions(log):
        # A reader ahead of the log would wait for ever for what it believes to have read, as
        # after a backup was put back.
        last = found.get(topic, TopicCount(0, 0)).last
        if offset > last and not name.startswith("kafka/"):  # those are offsets of Kafka
            wrong.append(f"{topic}: {name} stands at {offset}, after its last record at {last}")
    return sorted(wrong)


def acls(log: str | None, *, who: Who | None, principal: str, json: bool) -> None:
    """``topics acls``."""
    from streams.interfaces.cli import kafka_log

    if not log_url(log).startswith("kafka://"):
        raise usage("only a log on Kafka has rights to give", field="--log")
    kafka_log.rights(log_url(log), who, principal, json=json)


def check(log: str | None, *, json: bool) -> int:
    """``topics check``; the exit code."""
    if log_url(log).startswith("kafka://"):
        from streams.interfaces.cli import kafka_log

        return kafka_log.check(log_url(log), json=json)
    opened = open_log(log)
    wrong = faults(opened)
    opened.close()
    if json:
        out_json({"ok": not wrong, "faults": wrong})
    else:
        for fault in wrong:
            say(f"{fault} [topics.fault]")
        out(f"{len(TOPICS)} topics, {len(wrong)} faults")
    return FAILED if wrong else OK
