"""The `bench million` command."""

from __future__ import annotations

from pathlib import Path

from streams.interfaces.cli.errors import FAILED, OK, CliError, usage
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.places import refused
from streams.research.analysis.plots import MISSING, can_draw, drawn
from streams.research.bench import million

LEAST, MOST = 100, 10_000_000


def run(sizes: str, *, plot: str | None, json: bool) -> int:
    """Measure every size, and print the table; the exit code."""
    wanted = sizes_of(sizes)
    if plot is not None:
        # Hours may lie between here and the drawing: what it needs is tried while
        # nothing can be lost.
        if not can_draw():
            raise usage(MISSING, field="--plot")
        try:
            # Appending nothing shows that the file can be written, and leaves what it
            # holds as it is.
            Path(plot).open("ab").close()
        except OSError as error:
            raise refused(error, "--plot") from error
    try:
        rows, records = million.run(say, wanted)
    except million.Failed as error:
        raise CliError(str(error), error="bench.command", exit=FAILED) from error
    if plot is not None:
        Path(plot).write_bytes(drawn(million.plot(rows)))
    if json:
        out_json(million.figures(rows, records))
    else:
        out(million.markdown(rows, records))
    return OK


def sizes_of(said: str) -> list[int]:
    """Sizes as they are written, ``1000,10000``. Raises a usage error for what is none."""
    found = [each.strip().replace("_", "") for each in said.split(",")]
    # The length comes first of all bounds: a number of ten thousand digits is slow to read.
    if not all(each.isascii() and each.isdecimal() and len(each) < 9 for each in found):
        hint = "Write numbers with commas between them: 1000,10000"
        raise usage(f"{said!r} is no list of sizes", field="--sizes", hint=hint)
    wanted = sorted({int(each) for each in found})
    if wanted[0] < LEAST or wanted[-1] > MOST:
        raise usage(f"sizes go from {LEAST:,} to {MOST:,} problems", field="--sizes")
    return wanted
