"""The `dlq` commands: read what was refused, mend it, send it on again."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import FAILED, OK, CliError, usage
from streams.interfaces.cli.letters import DeadLetter, letter, letters
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_bytes, out_json
from streams.views.words import one_line

if TYPE_CHECKING:
    from streams.producing.sources import BadLine
    from streams.runtime.embedded.log import SqliteLog


def show_all(log: str | None, *, json: bool) -> None:
    """``dlq list``."""
    opened = open_log(log)
    try:
        for each in letters(opened):
            if json:
                out_json(each.record())
            else:
                state = "replayed" if each.sent_on else "refused "
                told = f"{one_line(each.place)}: {one_line(each.reason)}"
                told += f" (cut: {len(each.value):,} of {each.size:,} bytes)" * (
                    each.cut is not None
                )
                out(f"{each.number:>4}  {each.at}  {state}  {told}")
    finally:
        opened.close()


def show_one(log: str | None, number: int, *, raw: bool, json: bool) -> None:
    """``dlq show N``."""
    opened = open_log(log)
    try:
        each = letter(opened, number)
        whole = _whole(opened, each) if raw else b""
    finally:
        opened.close()
    if raw:
        out_bytes(whole)
    elif json:
        missing = {"missing": each.missing} if each.cut is not None else {}
        out_json({**each.record(), "headers": each.headers, "value": each.text(), **missing})
    else:
        _show(each, option(log))


def _whole(log: SqliteLog, each: DeadLetter) -> bytes:
    """The bytes that were refused. Raises a ``CliError`` where only the first of them are to be had."""
    from streams.interfaces.cli.replaying import whole_of
    from streams.producing.sources import BadLine

    try:
        return whole_of(log, each)
    except BadLine as error:
        where = f"dead letter {each.number}"
        hint = "What is here of it: the same command without --raw."
        raise CliError(error.what, error=error.code, exit=FAILED, where=where, hint=hint) from error


def option(log: str | None) -> str:
    """``--log URL`` as it was given, for commands to paste."""
    return "" if log is None else f" --log {log}"


def _show(each: DeadLetter, option: str) -> None:
    replayed = ", replayed since" if each.sent_on else ""
    out(f"dead letter {each.number} of topic {each.topic}, {each.at}{replayed}")
    out(f"{one_line(each.place)}: {one_line(each.reason)}")
    for name, value in sorted(each.headers.items()):
        out(f"  {one_line(f'{name}: {value}')}")
    if each.cut is not None:
        out(each.missing)
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
    opened = open_log(log, writes=True)
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
    from streams.producing.sources import LINE_BYTES

    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb") as given:
            raw = given.read(LINE_BYTES + 2)
    except OSError as error:
        raise usage(f"{file}: {error.strerror}", field="--file", error="input.source") from error
    return raw.strip(b"\r\n")


def _replay(
    log: SqliteLog, chosen: list[DeadLetter], mended: bytes | None, option: str
) -> dict[str, int]:
    from streams.interfaces.cli.refusals import Refusals
    from streams.interfaces.cli.replaying import send_on
    from streams.producing.sources import BadLine

    figures = {"replayed": 0, "known": 0, "refused": 0}
    told = Refusals("dead letters", f"They stay as they are: metalogue dlq list{option}")
    for each in chosen:
        try:
            new = send_on(log, each, mended)
            figures["replayed" if new else "known"] += 1
        except BadLine as error:
            figures["refused"] += 1
            told.tell(error, partial(_still_bad, each, error, option))
    told.sum_up()
    return figures


def _still_bad(each: DeadLetter, error: BadLine, option: str) -> CliError:
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
