"""The `dlq` commands: read what was refused, mend it, send it on again."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing, nullcontext

from streams.interfaces.cli.errors import FAILED, OK, CliError, usage
from streams.interfaces.cli.letters import letter, letters
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_bytes, out_json
from streams.views.words import one_line


def show_all(log: str | None, *, json: bool) -> None:
    """``dlq list``."""
    with closing(open_log(log)) as opened:
        for each in letters(opened):
            if json:
                out_json(each.record())
                continue
            state = "replayed" if each.sent_on else "refused "
            told = f"{one_line(each.place)}: {one_line(each.reason)}"
            if each.cut is not None:
                told += f" (cut: {len(each.value):,} of {each.size:,} bytes)"
            out(f"{each.number:>4}  {each.at}  {state}  {told}")


def show_one(log: str | None, number: int, *, raw: bool, json: bool) -> None:
    """``dlq show N``."""
    from streams.interfaces.cli.replaying import whole_of
    from streams.producing.sources import BadLine

    with closing(open_log(log)) as opened:
        each = letter(opened, number)
        try:
            # A letter that is cut is shown as it is; only its raw bytes would pass for the whole.
            whole = whole_of(opened, each) if raw else b""
        except BadLine as error:
            where = f"dead letter {each.number}"
            hint = "What is here of it: the same command without --raw."
            raise CliError(
                error.what, error=error.code, exit=FAILED, where=where, hint=hint
            ) from error
    if raw:
        out_bytes(whole)
        return
    if json:
        missing = {"missing": each.missing} if each.cut is not None else {}
        out_json({**each.record(), "headers": each.headers, "value": each.text(), **missing})
        return
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
    out(f"mend it    metalogue dlq show {each.number} --raw{option(log)} > mended.json")
    out(f"try again  metalogue dlq replay {each.number} --file mended.json{option(log)}")


def option(log: str | None) -> str:
    """``--log URL`` as it was given, for commands to paste into a shell."""
    return "" if log is None else f" --log {shlex.quote(log)}"


def replay(
    log: str | None, number: int | None, *, everything: bool, file: str | None, json: bool
) -> int:
    """``dlq replay``; the exit code."""
    from streams.interfaces.cli.refusals import Refusals
    from streams.interfaces.cli.replaying import send_on
    from streams.producing.sources import LINE_BYTES, BadLine

    # Bytes that mend one letter would be sent on in the place of all others too.
    if (number is None) != everything or (everything and file is not None):
        raise usage("give one number, or --all without --file", field="N")
    mended = None
    if file is not None:
        try:
            with nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb") as given:
                # Two more than a line may have: its end, and the byte that tells that it is too
                # long.
                mended = given.read(LINE_BYTES + 2).strip(b"\r\n")
        except OSError as error:
            what = f"{file}: {error.strerror}"
            raise usage(what, field="--file", error="input.source") from error
    figures = {"replayed": 0, "known": 0, "refused": 0}
    told = Refusals("dead letters", f"They stay as they are: metalogue dlq list{option(log)}")
    with closing(open_log(log, writes=True)) as opened:
        # Chosen before anything is sent on: what is refused again must not be met a second time.
        waiting = [each for each in letters(opened) if not each.sent_on]
        for each in waiting if number is None else [letter(opened, number)]:
            try:
                new = send_on(opened, each, mended)
                # What was sent on before by another way is known, and no failure.
                figures["replayed" if new else "known"] += 1
            except BadLine as error:
                figures["refused"] += 1
                if told.counts(error):
                    which, where = each.number, option(log)
                    hint = f"metalogue dlq show {which} --raw{where} > mended.json; then "
                    hint += f"metalogue dlq replay {which} --file mended.json{where}"
                    hint = f"It stays as it is. Mend a copy: {hint}"
                    told.tell(error, f"dead letter {which}:1", hint)
        told.sum_up(taken=True)
    if json:
        out_json(figures)
    else:
        out(" ".join(f"{name} {count}" for name, count in figures.items()))
    return FAILED if figures["refused"] else OK
