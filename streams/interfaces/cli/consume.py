"""Consuming answers: from where, each once, as JSON Lines or as lines for people."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import datetime
from types import FrameType
from typing import TYPE_CHECKING, Any

import orjson
from msgspec import MsgspecError, convert

from handlers.answers.plain import shown
from schemas.answer import Judgements, as_answer
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


class Stop:
    """SIGTERM ends between two answers, with everything before it committed."""

    asked = False

    def __enter__(self) -> Stop:
        self.before = signal.signal(signal.SIGTERM, self.ask)
        return self

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Note that the process was asked to end."""
        self.asked = True

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, self.before)


def consume(
    log: str | None, *, start: str | None, group: str | None, follow: bool, json: bool
) -> int:
    """Hand the answers on; the exit code."""
    # A variable that was not set: what it came to would be remembered of everybody who did not set it.
    if group is not None and not group.strip():
        raise wrong("a group has a name", field="--group")
    consumer = None if group is None else f"group/{group}"
    unreadable = 0
    # How far a group came is kept on the log.
    with closing(open_log(log, writes=consumer is not None)) as opened, Stop() as stop:
        after, wanted = _start(opened, start, consumer)
        while not stop.asked:
            # Asked for before reading: what is appended meanwhile changes it, and is not slept
            # over.
            seen = opened.data_version()
            taken = list(opened.messages(TOPIC, after, BATCH))
            for offset, _, _, value in taken:
                if wanted is None or wanted(offset):
                    unreadable += not _print(offset, value, json)
                after = offset
            # Out before it is committed: whoever is killed between the two is given an answer
            # twice. The other way round it would be lost.
            flush()
            if taken and consumer is not None:
                opened.commit_position(consumer, TOPIC, after)
            if taken:
                continue
            if not follow:
                break
            while not stop.asked and opened.data_version() == seen:
                time.sleep(POLL_S)
    return FAILED if unreadable else OK


def _start(log: SqliteLog, start: str | None, consumer: str | None) -> tuple[int, Wanted | None]:
    """The offset after which to read (as asked, else where the group stands, else the beginning), and what of it."""
    if start is None:
        return 0 if consumer is None else log.position(consumer, TOPIC), None
    if start == "beginning":
        return 0, None
    if start == "end":
        return messages.last(log, TOPIC), None
    if start.startswith("-") and start[1:].isdecimal():
        return messages.before_last(log, TOPIC, int(start[1:])), None
    partition, colon, offset = start.partition(":")
    if colon and partition.isdecimal() and offset.isdecimal() and len(partition) < 4:
        return _place(log, int(partition), int(offset))
    try:
        moment = datetime.fromisoformat(start).astimezone()
    except ValueError as error:
        raise wrong(f"{start!r} is no place to start", field="--from", hint=START_HINT) from error
    return messages.before_time(log, TOPIC, int(moment.timestamp() * 1000)), None


def _place(log: SqliteLog, partition: int, first: int) -> tuple[int, Wanted | None]:
    """One partition from an offset on. Raises a usage error where there is no such partition."""
    if not hasattr(log, "place_of"):
        if partition != 0:
            hint = "An embedded log has partition 0 alone"
            raise wrong(f"partition {partition}", field="--from", hint=hint)
        return first - 1, None
    # The local import numbers the answers of all partitions in one row, in which no offset of a
    # partition is a place. So everything is read, and what lies elsewhere is not handed on.
    held: Any = log
    if partition >= held.partitions:
        hint = f"Partitions are counted from 0; this log has {held.partitions}"
        raise wrong(f"partition {partition}", field="--from", hint=hint)

    def wanted(offset: int) -> bool:
        home, place = held.place_of(offset)
        return bool(home == partition and place >= first)

    return 0, wanted


def _print(offset: int, value: bytes, json: bool) -> bool:
    if as_answer(value) is None:
        # One answer that nobody can read must not hold up those behind it; the exit code says
        # that there was one.
        say(f"{TOPIC}:0:{offset}: not an answer, left out [answer.unreadable]")
        return False
    said = orjson.loads(value)
    # By these names alone: fields that a later build adds would change what scripts get.
    answer = {name: said.get(name) for name in FIELDS}
    answer["plain"] = None if answer["answer"] is None else shown(answer["answer"])
    out_json(answer) if json else out(line(answer))
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
    said = answer.get("judgements")
    # An answer of another build may hold judgements of another form: it is an answer all the same.
    with suppress(MsgspecError):
        parts.append("" if said is None else words(convert(said, Judgements)))
    told = "  ".join(filter(None, parts))
    return clean(told).replace("\n", " ")
