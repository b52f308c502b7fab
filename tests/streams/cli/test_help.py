from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from streams.cli.app import app


def groups(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A group of commands, and those within it."""
    if hasattr(command, "commands"):
        yield path, command
        for name, each in command.commands.items():
            yield from groups(each, *path, name)


GROUPS = dict(groups(typer.main.get_command(app), "metalogue"))


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_a_listing_says_each_command_in_a_whole_line(path: tuple[str, ...]) -> None:
    with GROUPS[path].make_context(path[-1], [], resilient_parsing=True) as context:
        listed = context.get_help().partition("Commands:")[2]
    assert listed
    assert "..." not in listed


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_every_option_says_what_it_takes_and_does(path: tuple[str, ...]) -> None:
    for name, command in GROUPS[path].commands.items():
        options = [each for each in command.params if each.param_type_name == "option"]
        for option in options:
            takes, does = option.get_help_record(typer.Context(command)) or ("hidden", "hidden")
            assert does, f"{name} {option.name}"
            assert "range" not in takes, f"{name} {option.name}"
