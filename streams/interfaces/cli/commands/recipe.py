"""Commands of the harness: the recipes there are, and running one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from streams.interfaces.cli.app import Json, NewLog
from streams.interfaces.cli.commands.bench import bench_group
from streams.interfaces.cli.options import (
    GraderOption,
    Judge,
    LimitOptions,
    MaxConcurrency,
    ModelOptions,
    Own,
    RunCode,
    RunPrompts,
    Tools,
    TotalOptions,
    grouped,
)

if TYPE_CHECKING:
    from streams.research.bench.plan import Options

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python


@bench_group.command("list")
def list_recipes(json: Json = False) -> int:
    """The recipes, with what each needs; and what has none."""
    from streams.interfaces.cli.bench.listing import listed

    return listed(json=json)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeOptions:
    """On which data, and how much of it."""

    data: Annotated[
        list[str],
        typer.Option("--data", metavar="NAME=PATH", help="A data set's file, or hub:OWNER/NAME."),
    ] = field(default_factory=list[str])
    problems: Annotated[
        Optional[int],
        typer.Option("--limit", metavar="N", min=1, help="Problems of each data set."),
    ] = None
    seeds: Annotated[
        Optional[int], typer.Option("--seeds", metavar="N", min=1, help="So many of its seeds.")
    ] = None
    reduced: Annotated[
        bool,
        typer.Option(
            "--reduced",
            help="As CI: two problems a set, one seed, 12 calls; Game of 24 for missing sets.",
        ),
    ] = False

    def options(self) -> Options:
        """Them as the plan's. Raises a ``CliError`` for a data set that cannot be had."""
        # It is asked first of all, as it may fetch data sets, which the report's
        # command line names.
        from streams.interfaces.cli.bench.recipe import located
        from streams.research.bench.plan import REDUCED_CALLS, REDUCED_PROBLEMS, Options

        return Options(
            files=located(self.data),
            # A file of one's own is the whole set; of a hub's the recipe's range is taken.
            hubs=frozenset(each.partition("=")[0] for each in self.data if "=hub:" in each),
            # What is said goes before what --reduced stands for, so that it can be
            # varied bit by bit.
            problems=self.problems or (REDUCED_PROBLEMS if self.reduced else None),
            seeds=self.seeds or (1 if self.reduced else None),
            calls=REDUCED_CALLS if self.reduced else None,
            stand_in=self.reduced,
        )


@bench_group.command("run")
@grouped
def run_recipe(
    *,
    recipe: Annotated[
        str, typer.Argument(metavar="RECIPE", help="A recipe's name, or a .yaml file of your own.")
    ],
    log: NewLog = None,
    answering: ModelOptions,
    tools: Tools = None,
    own: Own = [],  # noqa: B006 - typer copies it
    prompts: RunPrompts = [],  # noqa: B006
    max_concurrency: MaxConcurrency = None,
    size: SizeOptions,
    limits: LimitOptions,
    totals: TotalOptions,
    judge: Judge = None,
    run_code: RunCode = False,
    grader: GraderOption = None,
    folder: Annotated[
        str,
        typer.Option(
            "--out", metavar="DIR", help="Where RECIPE.md, .json, .html and a folder of tables go."
        ),
    ] = "bench",
    plots: Annotated[
        Literal["svg", "png", "none"],
        typer.Option("--plots", help="Plots, light and dark; they need the extra 'plots'."),
    ] = "svg",
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what it would do and cost; make no call.")
    ] = False,
    json: Json = False,
) -> int:
    """Run a recipe; print the paper's figures beside ours.

    Run again, it goes on where it was broken off.
    """
    from streams.interfaces.cli.bench.recipe import Wanted, begun, recipe_of, run
    from streams.interfaces.cli.own_graders import grader_of
    from streams.interfaces.cli.setup import episodes_in_flight

    options = size.options()
    wanted = Wanted(
        recipe=recipe_of(recipe),
        words=begun(recipe, options.files),
        log=log,
        models=answering.models(tools=tools),
        options=options,
        limits=limits.limits(),
        out=folder,
        max_concurrency=max_concurrency or episodes_in_flight(),
        totals=totals.totals(),
        own=own,
        prompts=prompts,
        plan=plan,
        judge=judge,
        run_code=run_code,
        grader=grader_of(grader),
        plots=None if plots == "none" else plots,
    )
    return run(wanted, "json" if json else "page")
