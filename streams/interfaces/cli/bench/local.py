"""The `bench local` command: makes the walks, then reads their logs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

from streams.interfaces.cli.bench.beside import commands
from streams.interfaces.cli.errors import usage
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_json
from streams.interfaces.cli.places import folder_of
from streams.research.analysis.cases import read
from streams.research.bench import local

Row: TypeAlias = tuple[str, dict[str, Any] | None]


def run(
    data: str, *, folder: str, backbone: str, minutes: float, only: list[str], json: bool
) -> int:
    """Make what is not made yet, and print the table."""
    # Each walk has a log of its own, since what one policy learns must not teach another.
    walks = [walk for walk in local.WALKS if not only or walk.policy in only]
    place = folder_of(folder, "--out")
    try:
        with commands() as command:
            local.run(
                command,
                walks,
                data=data,
                folder=place,
                backbone=backbone,
                minutes=minutes,
            )
    except ValueError as error:
        raise usage(str(error), field="--data") from error
    # Only the logs are read, so a table can be printed again, or of walks that another run began.
    rows = table_of(place, walks)
    if json:
        out_json({"backbone": backbone, "call_limit": local.CALLS, "rows": dict(rows)})
    else:
        out(local.markdown(rows))
    return 0


def table_of(folder: Path, walks: Sequence[local.Walk]) -> list[Row]:
    """Each walk's figures, as its log has them now."""
    rows: list[Row] = []
    for walk in walks:
        log = local.log_of(folder, walk)
        if not Path(log).exists():
            rows.append((walk.name, None))
            continue
        with closing(open_log(log)) as opened:
            reading = read(opened)
        # Learning is paid for as well: a walk that learns had these calls beside
        # those of its problems.
        spent = sum(each.calls for each in reading.learning.values())
        rows.append((walk.name, local.figures(list(reading.cases()), spent)))
    return rows
