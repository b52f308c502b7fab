"""Solving one problem: what is printed, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.streams.cli.calling import call
from tests.streams.cli.learned import change
from tests.streams.cli.test_consume import SAFE, STEERING

SOLVE = (
    "solve",
    "4 5 6 10",
    "--domain",
    "game24",
    "--backbone",
    "rehearsal:seed=7",
    "--log",
    "a.db",
)


@pytest.fixture
def steering(folder: Path) -> Path:
    """A log whose one answer would paint a terminal."""
    assert call(*SOLVE).code == 0
    answer = json.dumps(STEERING)
    change(
        folder / "a.db",
        "update records set body = json_set(body, '$.answer', json(?)) where kind = 'episode.closed'",
        answer,
    )
    return folder / "a.db"


@pytest.mark.usefixtures("steering")
def test_an_answer_steers_no_terminal_and_reaches_a_pipe_as_it_is() -> None:
    assert call(*SOLVE, terminal=True).raw.decode() == SAFE + "\n"
    assert call(*SOLVE).raw.decode() == STEERING + "\n"
    assert call(*SOLVE, "--json", terminal=True).json["answer"] == STEERING
