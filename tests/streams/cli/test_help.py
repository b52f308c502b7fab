from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from streams.interfaces.cli.app import app, narrowed
from tests.streams.cli.calling import call


def groups(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A group of commands, and those within it."""
    if hasattr(command, "commands"):
        yield path, command
        for name, each in command.commands.items():
            yield from groups(each, *path, name)


def commands_of(made: typer.Typer) -> set[str]:
    """The names of the commands and groups that are built."""
    command: Any = typer.main.get_command(made)
    return set(command.commands)


GROUPS = dict(groups(typer.main.get_command(app), "metalogue"))


@pytest.mark.parametrize("words", [[], ["bench"], ["lessons"]])
def test_without_a_command_there_is_help_and_no_reproach(words: list[str]) -> None:
    done = call(*words)
    assert done.code == 2
    assert done.err.startswith("Usage: metalogue")
    assert "[usage" not in done.err


def test_only_the_command_that_is_called_is_built() -> None:
    assert commands_of(narrowed("show")) == {"show"}
    assert commands_of(narrowed("lessons")) == {"lessons"}
    assert commands_of(narrowed("wrker")) == commands_of(app)


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
