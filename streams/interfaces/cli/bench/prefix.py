"""The `bench prefix` command."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from schemas.usage import total
from streams.interfaces.cli.bench.beside import commands
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_json
from streams.research.analysis.cases import read
from streams.research.bench import prefix
from streams.research.bench.local import Walk, log_of


def run(*, backbone: str, problems: int, only: list[str], json: bool) -> int:
    """Work in a folder that goes again, and print the table."""
    policies = [name for name in prefix.POLICIES if not only or name in only]
    with TemporaryDirectory(prefix="metalogue-") as made:
        folder = Path(made)
        with commands() as command:
            prefix.run(
                command,
                policies,
                folder=folder,
                backbone=backbone,
                problems=problems,
            )
        # The logs go with the folder, so their figures are read while it is there.
        rows: list[tuple[str, dict[str, Any]]] = []
        for policy in policies:
            with closing(open_log(log_of(folder, Walk(policy, policy)))) as log:
                usage = total(case.closed.usage for case in read(log).cases())
            rows.append((policy, prefix.figures(usage)))
    if json:
        out_json({"backbone": backbone, "problems": problems, "policies": dict(rows)})
    else:
        out(prefix.markdown(rows))
    return 0
