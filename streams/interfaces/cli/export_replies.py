"""The `export replies` command: replies as a recording, which answers any policy that asks the same again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import OK, CliError, usage
from streams.interfaces.cli.finding import need_records
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out_bytes, out_json, say
from streams.views.words import plural

if TYPE_CHECKING:
    from streams.research.training.recording import Only


def export(log: str | None, file: str, only: Only, *, json: bool) -> int:
    """Write the recording to a file, or with - to standard output; the exit code."""
    from streams.research.training.recording import Twice, recording

    opened = open_log(log)
    try:
        need_records(opened)
        found = recording(opened, only)
    except Twice as error:
        hint = "Choose by --of POLICY, --seed N, --backbone NAME, or several of them"
        raise CliError(str(error), error="replies.twice", exit=2, hint=hint) from error
    finally:
        opened.close()
    lines = "".join(f"{each}\n" for each in found.lines).encode()
    if file != "-":
        try:
            Path(file).write_bytes(lines)
        except OSError as error:
            raise usage(f"{file}: {error.strerror}", field="FILE") from error
    if file == "-":
        out_bytes(lines)
    elif json:
        counts = {"replies": len(found.lines), "unclear": found.unclear, "left_out": found.left_out}
        out_json({"file": file, **counts})
    else:
        say(f"{plural(len(found.lines), 'reply')} in {file}: --backbone recorded:{file}")
    if found.unclear:
        say(
            f"left out: {plural(found.unclear, 'prompt')} that one episode had different replies to"
        )
    if found.left_out:
        say(f"left out: {plural(found.left_out, 'episode')} that this build cannot run again")
    return OK
