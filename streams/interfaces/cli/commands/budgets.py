"""The command `budgets`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.interfaces.cli.app import Json, Log, app


@app.command()
def budgets(
    log: Log = None,
    budget: Annotated[
        list[str],
        typer.Option(
            "--budget",
            metavar="TENANT=calls=N,tokens=N,cost=X",
            help="As a worker was told; * for the rest.",
        ),
    ] = [],  # noqa: B006 - typer copies it
    days: Annotated[int, typer.Option("--days", metavar="N", min=1, help="So many days.")] = 1,
    json: Json = False,
) -> int:
    """What each tenant spent today, and of what.

    Days are those of UTC. A tenant that has spent its budget waits for the next one.
    """
    # Budgets are said to workers and stand on no log, so they have to be said here once more.
    from streams.interfaces.cli.budgeting import show

    return show(log, budget, days=days, json=json)
