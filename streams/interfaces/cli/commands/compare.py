"""The `compare` command's options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from streams.interfaces.cli.app import Json, NewLog, app
from streams.interfaces.cli.options import (
    GraderOption,
    Judge,
    LimitOptions,
    MaxConcurrency,
    ModelOptions,
    RunCode,
    RunPrompts,
    Tools,
    TotalOptions,
    grouped,
)

if TYPE_CHECKING:
    from streams.interfaces.cli.bench.recipe import Printed

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """What is compared."""

    policies: Annotated[
        str,
        typer.Option(
            "--policies",
            metavar="[RUN=]P,…",
            help="Policies by name or FILE.py:NAME; RUN names one of several of the same policy.",
        ),
    ]
    settings: Annotated[
        list[str],
        typer.Option("--set", metavar="RUN.NAME=VALUE", help="A setting of one run's policy."),
    ] = field(default_factory=list[str])
    prompts: RunPrompts = field(default_factory=list[str])
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="K", min=1, max=1000, help="Seeds 0 up to K-1.")
    ] = 1
    profile: Annotated[
        Literal["service", "paper"], typer.Option("--profile", help="Whose constants.")
    ] = "service"
    limit: Annotated[
        Optional[int], typer.Option("--limit", metavar="N", min=1, help="At most N problems.")
    ] = None
    data: Annotated[
        Optional[str], typer.Option("--data", metavar="PATH", help="File of a built-in set.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormOptions:
    """In which form the report is printed, and where it is kept."""

    folder: Annotated[
        str,
        typer.Option("--out", metavar="DIR", help="For the report and a folder of its tables."),
    ] = "compare"
    plots: Annotated[
        Literal["svg", "png", "none"],
        typer.Option("--plots", help="Plots, light and dark; they need the extra 'plots'."),
    ] = "svg"
    csv: Annotated[bool, typer.Option("--csv", help="Print all figures as CSV.")] = False
    latex: Annotated[bool, typer.Option("--latex", help="Print the tables as LaTeX.")] = False

    def printed(self, *, json: bool) -> Printed:
        """What is printed. Raises a usage error for two forms at a time."""
        # It is asked before the file of problems is read, and long before a call is paid.
        from streams.interfaces.cli.errors import usage

        said = {"json": json, "csv": self.csv, "latex": self.latex}
        chosen: list[Printed] = [name for name in ("json", "csv", "latex") if said[name]]
        if len(chosen) > 1:
            raise usage(f"one form is printed at a time, not {' and '.join(chosen)}", field="--csv")
        return chosen[0] if chosen else "page"


# A comparison is a recipe that is made on the spot: it is run, resumed and reported by what runs
# recipes, so that a figure has one implementation.
@app.command()
@grouped
def compare(
    *,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A JSONL file, or a set such as game24:901-910.")
    ],
    what: CompareOptions,
    log: NewLog = None,
    answering: ModelOptions,
    tools: Tools = None,
    max_concurrency: MaxConcurrency = None,
    limits: LimitOptions,
    totals: TotalOptions,
    judge: Judge = None,
    run_code: RunCode = False,
    grader: GraderOption = None,
    form: FormOptions,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what it would do and cost; make no call.")
    ] = False,
    json: Json = False,
) -> int:
    """Policies on one file of problems: a table with intervals.

    Each two of them are compared problem by problem. Run again, it goes on where it was broken off.
    """
    from streams.interfaces.cli.bench.recipe import Wanted
    from streams.interfaces.cli.comparing import Compared
    from streams.interfaces.cli.comparing import compare as run
    from streams.interfaces.cli.own_graders import grader_of
    from streams.interfaces.cli.setup import episodes_in_flight

    printed = form.printed(json=json)
    compared = Compared(
        source=source,
        policies=what.policies,
        settings=what.settings,
        seeds=what.seeds,
        profile=what.profile,
        data=what.data,
        limit=what.limit,
    )
    wanted = Wanted(
        recipe=compared.recipe(),
        words=compared.words(),
        log=log,
        models=answering.models(tools=tools),
        options=compared.options(),
        limits=limits.limits(),
        out=form.folder,
        max_concurrency=max_concurrency or episodes_in_flight(),
        totals=totals.totals(),
        prompts=what.prompts,
        plan=plan,
        judge=judge,
        run_code=run_code,
        grader=grader_of(grader),
        plots=None if form.plots == "none" else form.plots,
    )
    return run(wanted, printed)
