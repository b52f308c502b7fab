from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from streams.cli.options import grouped


@dataclass(frozen=True, kw_only=True)
class Colours:
    ink: Annotated[str, typer.Option("--ink", help="What is written with.")] = "black"
    papers: Annotated[list[str], typer.Option("--paper")] = field(default_factory=list[str])


def sketch(*, title: str, colours: Colours, times: Annotated[int, typer.Option()] = 1) -> str:
    """Draw it."""
    return f"{title} {times} {colours.ink} {colours.papers}"


def test_the_options_of_a_group_stand_in_its_place() -> None:
    assert list(inspect.signature(grouped(sketch)).parameters) == [
        "title",
        "ink",
        "papers",
        "times",
    ]


@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        ({"title": "tree", "ink": "red", "papers": ["a"], "times": 2}, "tree 2 red ['a']"),
        ({"title": "tree", "ink": "black", "papers": [], "times": 1}, "tree 1 black []"),
    ],
)
def test_a_command_is_handed_its_group(arguments: dict[str, object], made: str) -> None:
    assert grouped(sketch)(**arguments) == made


def test_typer_shows_and_reads_them() -> None:
    said: list[str] = []

    def command(*, title: str, colours: Colours) -> None:
        said.append(f"{title} {colours}")

    app = typer.Typer()
    app.command()(grouped(command))
    helped = CliRunner().invoke(app, ["--help"])
    assert "What is written with." in helped.output
    assert CliRunner().invoke(app, ["tree", "--paper", "a", "--paper", "b"]).exit_code == 0
    assert said == ["tree Colours(ink='black', papers=['a', 'b'])"]
