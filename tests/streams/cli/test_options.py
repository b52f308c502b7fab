from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from streams.interfaces.cli.errors import CliError
from streams.interfaces.cli.options import grouped, pairs
from tests.streams.cli.calling import call


@dataclass(frozen=True, kw_only=True)
class Colours:
    ink: Annotated[str, typer.Option("--ink", help="What is written with.")] = "black"
    pen: Annotated[str, typer.Option("--pen")]
    papers: Annotated[list[str], typer.Option("--paper")] = field(default_factory=list[str])


def sketch(*, title: str, colours: Colours, times: Annotated[int, typer.Option()] = 1) -> str:
    """Draw it."""
    return f"{title} {times} {colours.ink} {colours.pen} {colours.papers}"


def test_the_options_of_a_group_stand_in_its_place() -> None:
    shown = inspect.signature(grouped(sketch)).parameters
    assert list(shown) == ["title", "ink", "pen", "papers", "times"]
    assert [name for name, each in shown.items() if each.default is each.empty] == ["title", "pen"]


def test_a_command_is_handed_its_group() -> None:
    made = grouped(sketch)(title="tree", ink="red", pen="fine", papers=["a"], times=2)
    assert made == "tree 2 red fine ['a']"


def test_typer_shows_and_reads_them() -> None:
    said: list[str] = []

    def command(*, title: str, colours: Colours) -> None:
        said.append(f"{title} {colours}")

    app = typer.Typer()
    app.command()(grouped(command))
    assert "What is written with." in CliRunner().invoke(app, ["--help"]).output
    words = ["tree", "--pen", "fine", "--paper", "a", "--paper", "b"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert said == ["tree Colours(ink='black', pen='fine', papers=['a', 'b'])"]
    assert CliRunner().invoke(app, ["tree"]).exit_code == 2


def test_a_setting_that_says_a_thing_twice_is_refused() -> None:
    assert pairs(["a=[1]", "b=x", 'c={"d": 1}'], "--set") == {"a": [1], "b": "x", "c": {"d": 1}}
    with pytest.raises(CliError, match="c: d: stands twice") as caught:
        pairs(['c={"d": 1, "d": 2}'], "--set")
    assert (caught.value.field, caught.value.exit) == ("--set", 2)
    assert pairs([f"n={'1' * 5000}"], "--set") == {"n": "1" * 5000}, "no number that there can be"


@pytest.mark.parametrize("given", ["nan", "inf", "-1", "0"])
@pytest.mark.parametrize("total", ["--total-cost", "--total-time"])
def test_a_total_that_binds_nobody_is_refused(folder: Path, total: str, given: str) -> None:
    """`nan` was above no sum, and a worker spent without an end."""
    called = call(
        "worker", f"{total}={given}", "--backbone", "rehearsal", "--until-idle", "--log", "a.db"
    )
    assert not (folder / "a.db").exists()
    assert (called.code, called.err) == (2, f"{total}: must be a number above 0 [usage, exit 2]\n")
