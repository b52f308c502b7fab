"""What is left after an erasure: an error that programs can read, and a log that verifies with nothing on it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from metalogue import Client, Error

from tests.streams.cli.subjects import ANN, SAYS
from tests.streams.cli.test_erasing import IDLE, erase, log, mark_of, ok
from tests.surroundings import folder

__all__ = ["folder", "log"]


def test_a_program_hears_that_an_answer_is_of_a_subject_who_was_erased(log: Path) -> None:
    """A door passes it on as a wrong field: nothing is put, and nothing is a defect."""
    ok("worker", *IDLE, "--log", log)
    episodes = [
        each["episode"]
        for each in map(json.loads, ok("consume", "--json", "--log", log).out.splitlines())
    ]
    mark = mark_of(log)
    [gone, *_] = [each for each in episodes if mark in each]
    [kept, *_] = [each for each in episodes if mark not in each]
    assert erase(log, ANN, "--yes").code == 0

    async def judge(episode: str) -> None:
        async with Client(f"sqlite:{log}") as client:
            await client.feedback(episode, verdict=True)

    with pytest.raises(Error) as wrong:
        asyncio.run(judge(gone))
    assert (wrong.value.code, wrong.value.field) == ("input.subject", "episode")
    assert "it was erased" in wrong.value.detail
    asyncio.run(judge(kept))


def test_a_log_of_which_everything_was_erased_still_verifies(folder: Path) -> None:
    (folder / "keys").mkdir()
    line = json.dumps({"id": "a", "problem": SAYS[ANN][0], "subject": ANN}).encode()
    ok(
        "produce",
        "-",
        "--policy",
        "cot",
        "--log",
        "a.db",
        "--keys",
        "keys/a",
        "--series",
        "s",
        given=line,
    )
    ok("worker", *IDLE, "--no-tables", "--log", "a.db")
    assert erase(folder / "a.db", ANN, "--yes").code == 0
    assert "erased with their subjects" in ok("verify", "--log", "a.db").out
