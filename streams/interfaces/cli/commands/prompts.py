"""Commands for prompts: which there are, what they say, and files that say them in other words."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.interfaces.cli.app import Json, group
from streams.interfaces.cli.options import Own, Prompts

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python

# Prompts are settings: in other words a policy is another version of itself. That is why files are
# checked by a command of their own, before a worker takes them.
prompts_group = group("prompts", "What policies say to models.")
Named = Annotated[
    str, typer.Argument(metavar="ROLE", help="A prompt, or a role that has only one.")
]


@prompts_group.command("list")
def prompts_list(
    policy: Annotated[
        Optional[str],
        typer.Option("--policy", metavar="NAME", help="Only what this policy asks with."),
    ] = None,
    json: Json = False,
) -> None:
    """Every prompt with the roles that are asked with it."""
    from streams.interfaces.cli.prompts_shown import show_all

    show_all(policy, json=json)


@prompts_group.command("show")
def prompts_show(
    role: Named,
    prompts: Prompts = None,
    own: Own = [],  # noqa: B006 - typer copies it
    json: Json = False,
) -> None:
    """One prompt: instructions, form, sections, and what its fields hold.

    With --prompts: as these files say it, and what they change.
    """
    from streams.interfaces.cli.prompts_shown import show

    show(role, prompts, json=json)


@prompts_group.command("edit")
def prompts_edit(
    role: Named,
    folder: Annotated[
        str, typer.Option("--out", metavar="DIR", help="Where the file is, or goes.")
    ] = "prompts",
    own: Own = [],  # noqa: B006
) -> int:
    """Write a prompt into a file, to be edited.

    It is opened in $EDITOR where there is a terminal.
    """
    from streams.interfaces.cli.prompts_shown import edit

    return edit(role, folder)


@prompts_group.command("check")
def prompts_check(
    path: Annotated[str, typer.Argument(metavar="DIR|FILE", help="Files of prompts.")] = "prompts",
    own: Own = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Whether files of prompts can be used, and what they change."""
    from streams.interfaces.cli.prompts_shown import check

    return check(path, json=json)
