"""The `import` commands' options: what other tools recorded comes in."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.interfaces.cli.app import Json, NewLog, group
from streams.interfaces.cli.options import PolicyOptions, grouped

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python

# A group of its own and no option of produce: what comes in here was worked on already, is counted
# as nobody's work, and only teaches.
import_group = group("import", "What other tools recorded.")


@import_group.command()
@grouped
def traces(
    *,
    source: Annotated[
        str, typer.Argument(metavar="FILE|-", help="JSON Lines: OTLP spans, or chats (messages).")
    ],
    log: NewLog = None,
    way: PolicyOptions,
    tenant: Annotated[
        Optional[str], typer.Option("--tenant", metavar="NAME", help="Whose memory learns.")
    ] = None,
    tool: Annotated[
        Optional[str], typer.Option("--tool", metavar="NAME", help="Who recorded them.")
    ] = None,
    evaluation: Annotated[
        Optional[str],
        typer.Option(
            "--evaluation", metavar="NAME", help="Of spans: the evaluation that is the verdict."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check, append nothing.")] = False,
    json: Json = False,
) -> int:
    """Take traces of other tools in as cases to learn from.

    They count in no accuracy, budget or sum of tokens; refused lines become dead letters.
    """
    from streams.interfaces.cli.importing import Wanted
    from streams.interfaces.cli.importing import traces as run

    wanted = Wanted(source, tenant, tool, evaluation, dry_run)
    return run(wanted, log, way, json=json)
