"""The commands and their options. Bodies import what they need, so that `--help` stays quick."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Optional

import typer

CONTEXT = {"help_option_names": ["-h", "--help"]}
EPILOG = (
    "Anywhere: -q, --display full|plain|none, --log-level LEVEL, --log-format text|json, --debug. "
    "NO_COLOR is honoured."
)

PARTS = ("run", "show", "log", "state", "analyse", "more", "bench", "local", "recipe")

app = typer.Typer(
    name="metalogue",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    epilog=EPILOG,
    help="An event-sourced streaming processor for metacognitive reasoning.",
)


def group(name: str, about: str) -> typer.Typer:
    """A group of commands, such as ``log stats|digest|cat``."""
    made = typer.Typer(
        name=name, help=about, no_args_is_help=True, rich_markup_mode=None, context_settings=CONTEXT
    )
    app.add_typer(made)
    return made


Log = Annotated[
    Optional[str],  # noqa: UP045 - read at run time by typer on every supported Python
    typer.Option("--log", metavar="URL", help="sqlite:PATH or jsonl:PATH (METALOGUE_LOG)."),
]
Json = Annotated[bool, typer.Option("--json", help="JSON on standard output.")]
Policy = Annotated[str | None, typer.Option("--policy", help="A policy's name, or FILE.py:NAME.")]
Set = Annotated[
    list[str], typer.Option("--set", metavar="NAME=VALUE", help="A setting of the policy.")
]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Problems in, answers and lessons out; every step on the record."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"metalogue {installed('metalogue')}")
        raise typer.Exit


def load_commands() -> None:
    """Import every module that declares commands, in the order in which help lists them."""
    for part in PARTS:
        import_module(f"streams.cli.commands_{part}")


load_commands()
