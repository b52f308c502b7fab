"""Crashes of series that learn in other ways: from labels, from arrival, from nothing."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from schemas.events.learning import Timing
from state.journal import Fenced
from streams.engine.policies import find
from streams.producing.sources import SourceLine
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import Counted, End, StoppingLog, completed, end_of, produced, quick, worked

SIZE = 12


@dataclass(frozen=True)
class Kind:
    """A kind of series."""

    policy: str
    timing: Timing = "barrier"
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    labelled: bool = True


KINDS = {
    "labels": Kind("mc2", values={"max_rounds": 1, "batch_size": 4}),
    "nothing": Kind("cot"),
    "votes": Kind("self_consistency", values={"samples": 3}, labelled=False),
    "stream": Kind("mc2", "streaming", {"max_rounds": 1, "batch_size": 4}),
    "stream without labels": Kind("cot", "streaming", labelled=False),
}


def lines(kind: Kind) -> list[SourceLine]:
    """Sums, some of them with an answer to grade by, one with an answer that nothing is equal to."""
    found: list[SourceLine] = []
    for number in range(1, SIZE + 1):
        said: dict[str, Any] = {
            "id": f"sum-{number}",
            "domain": "sums",
            "problem": f"Ann has {number} apples and buys {number + 2} more. How many has she now?",
        }
        if kind.labelled and number % 3:
            said["answer"] = 2 * number + 2 if number % 5 else "no number"
        found.append(SourceLine(number, json.dumps(said).encode()))
    return found


def fresh(kind: Kind, path: Path) -> Path:
    done = produced(
        path,
        "sums.jsonl",
        policy=kind.policy,
        values=kind.values,
        timing=kind.timing,
        lines=lines(kind),
    )
    assert (done.produced, done.refused) == (SIZE, [])
    return path


def finish(path: Path) -> tuple[End, Counted, set[tuple[str, str]]]:
    log = quick(SqliteLog(path))
    recorded = completed(log)
    outcome, world = worked(log)
    assert (outcome.held, outcome.parked) == ([], [])
    verified = Verifier(log, find).run()
    assert not verified.diverged
    assert not verified.unverifiable
    end = end_of(log)
    log.close()
    return end, world, recorded


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_series_survives_stops(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    calm, world, _ = finish(fresh(kind, tmp_path / "calm.db"))
    assert len(calm.answers) == SIZE
    assert set(world.asked.values()) == {1}
    log = SqliteLog(tmp_path / "calm.db")
    begin, end = log.end() - 1, log.end()
    for record in log.records(kinds=["partition.claimed"]):
        begin = min(begin, record.offset)
    log.close()
    for after in sorted(random.Random(name).sample(range(begin, end), min(24, end - begin))):
        path = fresh(kind, tmp_path / f"{after}.db")
        stopped = quick(StoppingLog(path, after=after))
        with pytest.raises(Fenced):
            worked(stopped)
        stopped.close()
        came_to, second, recorded = finish(path)
        assert not recorded & second.asked.keys(), f"{name}, after {after}"
        assert (came_to.repeated, len(came_to.answers)) == (0, SIZE), f"{name}, after {after}"
        if kind.timing == "barrier":
            assert came_to == calm, f"{name}, after {after}"


@pytest.mark.slow
def test_two_series_of_one_scope_run_one_after_another_through_a_crash(tmp_path: Path) -> None:
    def both(path: Path) -> Path:
        for source in ("game24:901-906", "game24:911-916"):
            done = produced(path, source, values={"max_rounds": 1, "batch_size": 3})
            assert done.produced == 6
        return path

    calm, _, _ = finish(both(tmp_path / "calm.db"))
    log = SqliteLog(tmp_path / "calm.db")
    end = log.end()
    versions = [each.event for each in log.records("learning", kinds=["memory.versioned"])]
    log.close()
    assert [getattr(version, "number", 0) for version in versions] == [1, 2, 3, 4]
    for after in range(20, end, 11):
        path = Path(shutil.copy(both(tmp_path / f"{after}.db"), tmp_path / f"copy-{after}.db"))
        stopped = quick(StoppingLog(path, after=after))
        with pytest.raises(Fenced):
            worked(stopped)
        stopped.close()
        came_to, second, recorded = finish(path)
        assert not recorded & second.asked.keys()
        assert came_to == calm, f"after {after}"


def test_two_domains_of_one_worker_do_not_block_each_other(tmp_path: Path) -> None:
    """One slot, and two series whose later batches wait: waiting problems hold no slot."""
    path = tmp_path / "two.db"
    produced(path, "game24:901-912", values={"max_rounds": 1, "batch_size": 4})
    kind = KINDS["labels"]
    produced(path, "sums.jsonl", policy="mc2", values=kind.values, lines=lines(kind))
    log = quick(SqliteLog(path))
    outcome, _ = worked(log, concurrency=1)
    assert not outcome.held
    assert len(end_of(log).answers) == 24
    log.close()
