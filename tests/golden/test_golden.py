"""Logs of every version fold to the state that they folded to when they were written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.events.codec import decode
from state.folds.state import State
from tests.streams.cli.calling import call

HERE = Path(__file__).parent
LOGS = sorted(HERE.glob("*.jsonl"))


def lines(path: Path) -> Iterator[dict[str, object]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "event" in record:
            yield record


def test_there_is_one() -> None:
    assert LOGS


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_rebuilds_to_its_pinned_state(path: Path) -> None:
    pinned = path.with_suffix(".hash").read_text(encoding="ascii").strip()
    assert call("state", "hash", "--log", f"jsonl:{path}").out.strip() == pinned


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_needs_no_policy(path: Path) -> None:
    """Record by record from the file alone: nothing installed is asked."""
    state = State()
    for record in lines(path):
        event = decode(str(record["kind"]), json.dumps(record["event"]))
        place = str(record["episode"]), str(record["address"])
        state.feed(int(str(record["offset"])), *place, event)
    pinned = path.with_suffix(".hash").read_text(encoding="ascii").strip()
    assert state.hash() == pinned
    assert state.lives.known
