"""Consuming answers: from where, each once, as JSON Lines or as lines for people."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from types import FrameType
from typing import TYPE_CHECKING, Any

import orjson
from msgspec import MsgspecError, convert

from handlers.answers.plain import shown
from schemas.answer import Judgements
from streams.core.judgements import words
from streams.interfaces.cli.errors import FAILED, OK
from streams.interfaces.cli.errors import usage as wrong
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import flush, out, out_json, say
from streams.runtime.embedded.queries import messages
from streams.views.words import clean, sure

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

Wanted = Callable[[int], bool]
TOPIC = "answers"
FIELDS = (
    *("problem_id", "episode", "domain", "policy", "status"),
    *("ended_by", "answer", "confidence", "usage"),
    *("confidence_source", "calibrated", "judgements"),
)
BATCH = 256
POLL_S = 0.1
START_HINT = "Write beginning, end, -N, PARTITION:OFFSET or a time such as 2026-01-31T12:00+00:00"


@dataclass(slots=True)
class Stop:
    """Set when the process was asked to end."""

    asked: bool = False


def consume(
    log: str | None, *, start: str | None, group: str | None, follow: bool, json: bool
) -> int:
    """Hand the answers on; the exit code."""
    opened = open_log(log)
    try:
        with _until_told() as stop:
            after, wanted = _after(opened, start, group), _wanted(opened, start)
            return _hand_on(opened, after, wanted, group, follow, json, stop)
    finally:
        opened.close()


@contextmanager
def _until_told() -> Generator[Stop]:
    """SIGTERM ends between two answers, with everything before it committed."""
    stop = Stop()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.asked = True

    before = signal.signal(signal.SIGTERM, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)


def _hand_on(
    log: SqliteLog,
    after: int,
    wanted: Wanted,
    group: str | None,
    follow: bool,
    json: bool,
    stop: Stop,
) -> int:
    unreadable = 0
    while not stop.asked:
        seen = log.data_version()
        taken = list(log.messages(TOPIC, after, BATCH))
        for offset, _, _, value in taken:
            unreadable += wanted(offset) and not _print(offset, value, json)
            after = offset
        flush()
        if taken and group is not None:
            log.commit_position(_consumer(group), TOPIC, after)
        if not taken:
            if not follow:
                break
            _wait(log, seen, stop)
    return FAILED if unreadable else OK


def _wait(log: SqliteLog, seen: int, stop: Stop) -> None:
    while not stop.asked and log.data_version() == seen:
        time.sleep(POLL_S)


def _print(offset: int, value: bytes, json: bool) -> bool:
    try:
        said = orjson.loads(value)
        answer = {name: said.get(name) for name in FIELDS}
        answer["plain"] = None if answer["answer"] is None else shown(answer["answer"])
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        say(f"{TOPIC}:0:{offset}: not an answer, left out [answer.unreadable]")
        return False
    if json:
        out_json(answer)
    else:
        out(line(answer))
    return True


def line(answer: dict[str, Any]) -> str:
    """One answer for people, on one line that steers no terminal."""
    given = answer.get("plain", answer["answer"])
    shown = "-" if given is None else str(given)
    usage: dict[str, Any] = answer["usage"] or {}
    calls = usage.get("calls")
    parts = [
        f"{answer['problem_id']}  {answer['status']}  {shown}",
        sure(answer["confidence"], answer["confidence_source"], answer["calibrated"]),
        f"{'unknown' if calls is None else calls} call{'' if calls == 1 else 's'}",
        f"{answer['policy']}  {answer['ended_by']}",
    ]
    told = "  ".join(filter(None, (*parts, _unread(answer.get("judgements")))))
    return clean(told).replace("\n", " ")


def _unread(said: Any) -> str:
    """That judgements of the work could not be read, if the answer says so."""
    try:
        return "" if said is None else words(convert(said, Judgements))
    except MsgspecError:
        return ""


def _consumer(group: str) -> str:
    return f"group/{group}"


def _after(log: SqliteLog, start: str | None, group: str | None) -> int:
    """The offset after which to read: as asked, else where the group stands, else the beginning."""
    if start is None:
        return 0 if group is None else log.position(_consumer(group), TOPIC)
    if start == "beginning":
        return 0
    if start == "end":
        return messages.last(log, TOPIC)
    if start.startswith("-") and start[1:].isdecimal():
        return messages.before_last(log, TOPIC, int(start[1:]))
    place = _place(start)
    if place is not None:
        return 0 if _on_kafka(log) else _only_partition(*place)
    return _before_time(log, start)


def _wanted(log: SqliteLog, start: str | None) -> Wanted:
    """Which answers are handed on: all, or those of one partition on Kafka from an offset on."""
    place = None if start is None else _place(start)
    if place is None or not _on_kafka(log):
        return lambda offset: True
    partition, first = place
    held: Any = log
    if partition >= held.partitions:
        hint = f"Partitions are counted from 0; this log has {held.partitions}"
        raise wrong(f"partition {partition}", field="--from", hint=hint)

    def wanted(offset: int) -> bool:
        home, place = held.place_of(offset)
        return bool(home == partition and place >= first)

    return wanted


def _on_kafka(log: SqliteLog) -> bool:
    return hasattr(log, "place_of")


def _place(start: str) -> tuple[int, int] | None:
    """PARTITION:OFFSET, if it is one."""
    partition, colon, offset = start.partition(":")
    if colon and partition.isdecimal() and offset.isdecimal() and len(partition) < 4:
        return int(partition), int(offset)
    return None


def _only_partition(partition: int, offset: int) -> int:
    if partition != 0:
        raise wrong(
            f"partition {partition}", field="--from", hint="An embedded log has partition 0 alone"
        )
    return offset - 1


def _before_time(log: SqliteLog, start: str) -> int:
    try:
        moment = datetime.fromisoformat(start).astimezone()
    except ValueError as error:
        raise wrong(f"{start!r} is no place to start", field="--from", hint=START_HINT) from error
    return messages.before_time(log, TOPIC, int(moment.timestamp() * 1000))
