"""What verification takes of a revision that somebody closed who had not read all that it was owed for."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from state.folds.memory import MemoryFold
from streams.replay.batches_due import closed_unaware
from tests.state.test_closed_again import ASKED, begun, forget
from tests.streams.cli.calling import call
from tests.streams.cli.learned import copy_of, made

MODEL = ("--backbone", "rehearsal:seed=7")


def forgotten_twice() -> MemoryFold:
    """Of three problems the first two are forgotten, one after the other; the first batch learned from both."""
    log = begun()
    forget(log, "x")
    return forget(log, "y")


@pytest.mark.parametrize("members", [(), ASKED[:1], ASKED[1:2], ASKED[:2]])
def test_it_may_hold_any_of_the_members_that_are_gone_since(members: list[str]) -> None:
    fold = forgotten_twice()
    known = fold.closing_without(1)
    said = {"members": (*members,), "outcomes": ("right",) * len(members)}
    unaware = structs.replace(known, **said)
    assert closed_unaware(fold, unaware) == unaware


@pytest.mark.parametrize(
    "forged",
    [
        {"seed": 999},
        {"settings": "dead"},
        {"previous": 7},
        {"revision": 7},
        {"calibration": None},
        {"members": (ASKED[2],), "outcomes": ("right",)},
        {"members": (ASKED[1], ASKED[0]), "outcomes": ("right", "right")},
        {"members": (ASKED[0],), "outcomes": ("wrong",)},
        {"members": (ASKED[0],), "outcomes": ()},
    ],
)
def test_all_else_is_derived(forged: dict[str, Any]) -> None:
    fold = forgotten_twice()
    said = structs.replace(fold.closing_without(1), **forged)
    assert closed_unaware(fold, said) != said


def test_on_a_file_nobody_can_have_been_unaware(tmp_path: Path) -> None:
    """Whoever put a forgotten member back into a closing would have all that follows from it taken."""
    path = copy_of(made(), tmp_path / "a.db")
    done = call("forget", "--problem", "n905", "--yes", *MODEL, "--log", path)
    assert done.code == 0, done.err
    assert call("verify", "--log", path).code == 0
    with closing(sqlite3.connect(path)) as db:
        bodies = "select offset, body from records where address = 'batch' order by offset"
        said = [(at, json.loads(body)) for at, body in db.execute(bodies)]
        again = next(each for each in said if each[1].get("revision"))
        first = next(each for each in said if each[1]["batch"] == again[1]["batch"])
        for name in ("members", "outcomes"):
            again[1][name] = first[1][name]
        assert len(again[1]["members"]) > 1
        db.execute("update records set body = ? where offset = ?", (json.dumps(again[1]), again[0]))
        db.commit()
    found = call("verify", "--log", path)
    assert found.code == 3
    assert "members changed" in found.out + found.err


def test_members_that_are_left_may_not_be_left_out() -> None:
    fold = forget(begun(), "x")
    said = structs.replace(fold.closing_without(1), members=(), outcomes=())
    assert closed_unaware(fold, said) != said
