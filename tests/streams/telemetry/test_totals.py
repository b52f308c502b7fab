"""Of how many problems some are closed: whatever was asked counts once, put for workers or solved at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.runtime.embedded.solving import text_id
from streams.telemetry.figures import Figures, Reader
from tests.streams.cli.calling import call, work

SUM = "What is 7 * {}?"


def put(path: Path, *texts: str) -> None:
    # Under the id of a solve, and of no series as that is: then both are the same episode.
    lines = (
        json.dumps({"id": text_id(each), "problem": each, "domain": "default"}) for each in texts
    )
    assert call("produce", "-", "--log", path, given="\n".join(lines).encode()).code == 0


def solve(path: Path, text: str) -> None:
    called = call("solve", text, "--policy", "cot", "--backbone", "rehearsal:seed=7", "--log", path)
    assert called.code == 0, called.err


def test_solves_count_among_the_problems_as_among_the_closed(tmp_path: Path) -> None:
    """Three that nobody began and two solves were shown as 2 of 3."""
    path = tmp_path / "a.db"
    solve(path, SUM.format(97))
    put(path, SUM.format(98), SUM.format(5), SUM.format(6))
    reader = Reader(path)
    assert closed_of(reader.read_all()) == (1, 4)
    # A look in between must not change what is counted.
    solve(path, SUM.format(102))
    assert closed_of(reader.read_all()) == (2, 5)
    reader.close()


@pytest.mark.parametrize("first", ["put", "solved"])
@pytest.mark.parametrize("looks", [False, True])
def test_one_that_was_put_and_solved_is_one(tmp_path: Path, first: str, looks: bool) -> None:
    path = tmp_path / "a.db"
    (put if first == "put" else solve)(path, SUM.format(97))
    reader = Reader(path)
    if looks:
        reader.read_all()
    (solve if first == "put" else put)(path, SUM.format(97))
    found = closed_of(reader.read_all())
    reader.close()
    assert found == (1, 1)
    if first == "put":
        work(path)
        reader = Reader(path)
        assert closed_of(reader.read_all()) == (1, 1)
        reader.close()


def closed_of(figures: Figures) -> tuple[int, int]:
    return figures.closed, figures.total
