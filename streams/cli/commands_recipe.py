"""Commands of the harness: the recipes there are, and running one."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.cli.app import Json, NewLog
from streams.cli.commands_bench import bench_group
from streams.cli.commands_run import (
    Backbones,
    BaseUrl,
    CallLimit,
    Connections,
    CostLimit,
    Model,
    Prices,
    Role,
    TimeLimit,
    TokenLimit,
    episodes_in_flight,
)

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python


@bench_group.command("list")
def list_recipes(json: Json = False) -> int:
    """The recipes of this build: a table or figure of a paper each."""
    from streams.cli.benching import listed

    return listed(json=json)


@bench_group.command("run")
def run_recipe(
    recipe: Annotated[str, typer.Argument(help="A recipe's name, or a .yaml file of your own.")],
    log: NewLog = None,
    backbone: Backbones = [],  # noqa: B006
    role: Role = [],  # noqa: B006
    model: Model = None,
    base_url: BaseUrl = None,
    max_connections: Connections = None,
    price: Prices = [],  # noqa: B006
    max_concurrency: Annotated[
        Optional[int], typer.Option("--max-concurrency", min=1, help="Episodes in flight.")
    ] = None,
    data: Annotated[
        list[str],
        typer.Option("--data", metavar="NAME=PATH", help="A data set's file, or hub:OWNER/NAME."),
    ] = [],  # noqa: B006
    problems: Annotated[
        Optional[int], typer.Option("--limit", min=1, help="Problems of each data set.")
    ] = None,
    seeds: Annotated[
        Optional[int], typer.Option("--seeds", min=1, help="So many of its seeds.")
    ] = None,
    reduced: Annotated[
        bool,
        typer.Option(
            "--reduced",
            help="As CI: two problems a set, one seed, 12 calls; Game of 24 for missing sets.",
        ),
    ] = False,
    call_limit: CallLimit = None,
    token_limit: TokenLimit = None,
    cost_limit: CostLimit = None,
    time_limit: TimeLimit = None,
    total_calls: Annotated[Optional[int], typer.Option("--total-calls", min=1)] = None,
    total_tokens: Annotated[Optional[int], typer.Option("--total-tokens", min=1)] = None,
    total_cost: Annotated[Optional[float], typer.Option("--total-cost")] = None,
    total_time: Annotated[Optional[float], typer.Option("--total-time")] = None,
    folder: Annotated[
        str, typer.Option("--out", metavar="DIR", help="Where RECIPE.md, .json, .html go.")
    ] = "bench",
    json: Json = False,
) -> int:
    """Run a recipe and print the paper's figures beside ours; run again, it goes on where it was."""
    from streams.bench.plan import REDUCED_CALLS, REDUCED_PROBLEMS, Options
    from streams.cli.benching import Wanted, located, run
    from streams.cli.setup import Models, limits_of
    from streams.world import Totals

    models = Models.of(
        backbone,
        role,
        model=model,
        base_url=base_url,
        max_connections=max_connections,
        prices=price,
    )
    options = Options(
        files=located(data),
        problems=problems or (REDUCED_PROBLEMS if reduced else None),
        seeds=seeds or (1 if reduced else None),
        calls=REDUCED_CALLS if reduced else None,
        stand_in=reduced,
    )
    wanted = Wanted(
        recipe=recipe,
        log=log,
        models=models,
        options=options,
        limits=limits_of(call_limit, token_limit, cost_limit, time_limit),
        out=folder,
        max_concurrency=max_concurrency or episodes_in_flight(),
        totals=Totals(total_calls, total_tokens, total_cost, total_time),
    )
    return run(wanted, json=json)
