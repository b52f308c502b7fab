"""The commands and their options. Bodies import what they need, so that `--help` stays quick."""

from __future__ import annotations

from copy import copy
from importlib import import_module
from typing import Annotated, Any, Optional

import typer
from typer.core import TyperGroup, TyperOption
from typer.main import get_command_name

from streams.interfaces.cli.opening import existing

CONTEXT = {"help_option_names": ["-h", "--help"]}
LOG_HELP = "sqlite:PATH, kafka://HOST:PORT or jsonl:PATH (METALOGUE_LOG)."
EPILOG = (
    "Anywhere: -q, --display full|plain|none, --log-level LEVEL, --log-format text|json, --debug, "
    "--allow-policies LIST (a file that names policies by file, one FILE.py:NAME a line). "
    "NO_COLOR is honoured."
)

PARTS = (
    "run",
    "show",
    "log",
    "state",
    "analyse",
    "more",
    "watch",
    "bench",
    "local",
    "recipe",
    "review",
    "cancel",
    "budgets",
    "compare",
    "regrade",
    "prompts",
    "traces",
)


class Group(TyperGroup):
    """Commands whose help loads no pydantic: an option without a value would be coerced by it."""

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        """The help option; that it was not given is its value."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


app = typer.Typer(
    name="metalogue",
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    # `main` alone tells of errors; typer would print tracebacks, which are for no user.
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    epilog=EPILOG,
    help="An event-sourced streaming processor for metacognitive reasoning.",
)


def group(name: str, about: str) -> typer.Typer:
    """A group of commands, such as ``log stats|digest|cat``."""
    made = typer.Typer(
        name=name,
        cls=Group,
        help=about,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings=CONTEXT,
    )
    app.add_typer(made)
    return made


Log = Annotated[
    Optional[str],  # noqa: UP045 - read at run time by typer on every supported Python
    typer.Option("--log", metavar="URL", help=LOG_HELP, callback=existing),
]
NewLog = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--log", metavar="URL", help=LOG_HELP),
]
"""For commands that may make a log, or that say of a missing one what they find."""
Json = Annotated[bool, typer.Option("--json", help="JSON on standard output.")]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Problems in, answers and lessons out; every step on the record."""
    if version:
        # Late, since hardly any command asks for it.
        from importlib.metadata import version as installed

        typer.echo(f"metalogue {installed('metalogue')}")
        raise typer.Exit


def load_commands() -> None:
    """Import every module that declares commands, in the order in which help lists them."""
    for part in PARTS:
        # The modules register themselves, which is why they are imported at the very end: they
        # need the app that is made above.
        import_module(f"streams.interfaces.cli.commands.{part}")


def narrowed(word: str) -> typer.Typer:
    """The app with that command or group alone, since building all takes long; whole without one.

    For its own help groups are left empty, of which that tells the name alone.
    """
    commands = [
        each
        for each in app.registered_commands
        if each.callback and word == (each.name or get_command_name(each.callback.__name__))
    ]
    groups = [
        each
        for each in app.registered_groups
        if each.typer_instance and word == each.typer_instance.info.name
    ]
    # A copy, since the app is shared by everything that runs in this process.
    one = copy(app)
    if word in ("", "-h", "--help"):
        commands, groups = app.registered_commands, [copy(each) for each in app.registered_groups]
        for each in groups:
            each.typer_instance = copy(each.typer_instance)
            if each.typer_instance is not None:
                each.typer_instance.registered_commands = []
    # A word that is no command gets the whole app, which knows what is near to it and can say so.
    elif not commands and not groups:
        return app
    one.registered_commands, one.registered_groups = commands, groups
    return one


load_commands()
