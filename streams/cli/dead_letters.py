"""Dead letters: what was refused, with its bytes; read them, mend them, send them on again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams.cli.common import open_log, out, out_json
from streams.cli.errors import FAILED, OK, CliError, usage
from streams.topology import TOPICS

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

TOPIC = "dead-letters"
ERRORS = "__metalogue.errors."
ALL = """
select row_number() over (order by offset), offset, key, at_ms, headers, value
  from messages where topic = 'dead-letters' order by offset
"""
SENT_ON = "select offset from consumers where topic = 'dead-letters' and name like 'dlq/%'"
NUMBER = """
select count(*) from messages where topic = 'dead-letters'
  and offset <= (select offset from messages where topic = 'dead-letters' and key = ?)
"""


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter. ``number`` counts from 1 in the order in which they were refused."""

    number: int
    offset: int
    key: str
    at_ms: int
    headers: dict[str, Any]
    value: bytes
    sent_on: bool
    """Whether it was replayed since."""

    @property
    def topic(self) -> str:
        """The topic that it was meant for."""
        said = str(self.headers.get(f"{ERRORS}topic", ""))
        known = {topic.name for topic in TOPICS}
        first = self.key.partition("/")[0]
        return next((name for name in (said, first) if name in known), "problems")

    @property
    def place(self) -> str:
        """Where it came from: a line of a file, or an offset of a topic."""
        source = self.headers.get(f"{ERRORS}source") or self.headers.get(f"{ERRORS}topic")
        offset = self.headers.get(f"{ERRORS}offset")
        return self.key.rpartition("/")[0] if offset is None else f"{source}:{offset}"

    @property
    def reason(self) -> str:
        """Why it was refused."""
        return str(self.headers.get(f"{ERRORS}message", "refused by the reader of its topic"))

    @property
    def at(self) -> str:
        """When, in UTC."""
        return datetime.fromtimestamp(self.at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def text(self) -> str:
        """Its bytes as text; what is no UTF-8 is shown by escapes."""
        return self.value.decode("utf-8", "backslashreplace")

    def record(self) -> dict[str, Any]:
        """What a listing says of it."""
        return {
            "number": self.number,
            "at": self.at,
            "topic": self.topic,
            "place": self.place,
            "reason": self.reason,
            "bytes": len(self.value),
            "replayed": self.sent_on,
        }


def letters(log: SqliteLog) -> Iterator[Letter]:
    """Every dead letter, oldest first."""
    import orjson

    sent_on = {row[0] for row in log.db.execute(SENT_ON)}
    for number, offset, key, at_ms, headers, value in log.db.execute(ALL):
        raw = value if isinstance(value, bytes) else str(value).encode()
        said = orjson.loads(headers)
        yield Letter(number, offset, key, at_ms, said, raw, offset in sent_on)


def number_of(log: SqliteLog, key: str) -> int:
    """The number of the dead letter with this key; 0 if there is none."""
    return int(log.db.execute(NUMBER, (key,)).fetchone()[0])


def letter(log: SqliteLog, number: int) -> Letter:
    """One dead letter. Raises a usage error if there is none of this number."""
    found = list(letters(log))
    if not 1 <= number <= len(found):
        raise usage(f"no dead letter {number}; there are {len(found)}", error="dlq.missing")
    return found[number - 1]


def show_all(log: str | None, *, json: bool) -> None:
    """``dlq list``."""
    opened = open_log(log)
    try:
        for each in letters(opened):
            if json:
                out_json(each.record())
            else:
                state = "replayed" if each.sent_on else "refused "
                out(f"{each.number:>4}  {each.at}  {state}  {each.place}: {each.reason}")
    finally:
        opened.close()


def show_one(log: str | None, number: int, *, raw: bool, json: bool) -> None:
    """``dlq show N``."""
    opened = open_log(log)
    try:
        each = letter(opened, number)
    finally:
        opened.close()
    if raw:
        sys.stdout.buffer.write(each.value)
        sys.stdout.buffer.flush()
    elif json:
        out_json({**each.record(), "headers": each.headers, "value": each.text()})
    else:
        _show(each, option(log))


def option(log: str | None) -> str:
    """``--log URL`` as it was given, for commands to paste."""
    return "" if log is None else f" --log {log}"


def _show(each: Letter, option: str) -> None:
    replayed = ", replayed since" if each.sent_on else ""
    out(f"dead letter {each.number} of topic {each.topic}, {each.at}{replayed}")
    out(f"{each.place}: {each.reason}")
    for name, value in sorted(each.headers.items()):
        out(f"  {name}: {value}")
    out()
    out(each.text())
    out()
    out(f"mend it    metalogue dlq show {each.number} --raw{option} > mended.json")
    out(f"try again  metalogue dlq replay {each.number} --file mended.json{option}")


def replay(
    log: str | None, number: int | None, *, everything: bool, file: str | None, json: bool
) -> int:
    """``dlq replay``; the exit code."""
    if (number is None) != everything or (everything and file is not None):
        raise usage("give one number, or --all without --file", field="N")
    mended = None if file is None else _bytes_of(file)
    opened = open_log(log)
    try:
        waiting = [each for each in letters(opened) if not each.sent_on]
        chosen = waiting if number is None else [letter(opened, number)]
        figures = _replay(opened, chosen, mended, option(log))
    finally:
        opened.close()
    if json:
        out_json(figures)
    else:
        out(" ".join(f"{name} {count}" for name, count in figures.items()))
    return FAILED if figures["refused"] else OK


def _bytes_of(file: str) -> bytes:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise usage(f"{file}: {error.strerror}", field="--file", error="input.source") from error
    return raw.strip(b"\r\n")


def _replay(
    log: SqliteLog, chosen: list[Letter], mended: bytes | None, option: str
) -> dict[str, int]:
    from streams.cli.producing import say_error
    from streams.producing.sources import BadLine

    figures = {"replayed": 0, "known": 0, "refused": 0}
    for each in chosen:
        try:
            new = send_on(log, each, each.value if mended is None else mended)
            figures["replayed" if new else "known"] += 1
        except BadLine as error:
            figures["refused"] += 1
            say_error(_still_bad(each, error, option))
    return figures


def send_on(log: SqliteLog, each: Letter, value: bytes) -> bool:
    """Publish bytes in a letter's stead and note it; whether that was new. Raises ``BadLine``."""
    from streams.cli.replaying import republish

    new = republish(log, each, value)
    log.commit_position(f"dlq/{each.number}", TOPIC, each.offset)
    return new


def _still_bad(each: Letter, error: BadLine, option: str) -> CliError:
    again = f"metalogue dlq replay {each.number} --file mended.json{option}"
    return CliError(
        error.what,
        error=error.code,
        exit=FAILED,
        where=f"dead letter {each.number}:1:{error.column}",
        field=error.field,
        hint="It stays as it is. Mend a copy: "
        f"metalogue dlq show {each.number} --raw{option} > mended.json; then {again}",
    )


if TYPE_CHECKING:
    from streams.producing.sources import BadLine
