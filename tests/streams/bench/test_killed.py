"""A bench that is killed at random and run again makes the report of one that was left in peace."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.streams.cli.calling import Called, call, process

pytestmark = pytest.mark.slow

RECIPE = """
recipe: killed
claims: [none]
paper: none
about: Two policies, one of which learns, over two seeds and two passes
differs: Everything.
seeds: [0, 1]
limits: {calls: 24}
data:
  game24: {source: game24:901-911}
runs:
  learning: {policy: mc2, settings: {max_rounds: 2}, passes: 2}
  plain: {policy: cot}
  alike: {policy: self_consistency, matched: {run: learning, of: calls}}
tables:
  - title: Both
    columns: {right: {data: game24, metric: accuracy}}
    rows:
      learning: {run: learning, paper: [50]}
      again: {run: learning, walk: 2, paper: [60]}
      plain: {run: plain, paper: [40]}
"""
KILLS = 5
BACKBONE = "rehearsal:seed=3,latency_ms=15"


def records(log: Path) -> int:
    """How many records the log holds; none before it is made."""
    try:
        with closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as db:
            return int(db.execute("select count(*) from records").fetchone()[0])
    except sqlite3.Error:
        return 0


def arguments(folder: Path) -> tuple[str, ...]:
    (folder / "killed.yaml").write_text(RECIPE)
    return ("bench", "run", "killed.yaml", "--backbone", BACKBONE, "--log", "bench.db", "-q")


def in_peace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Called, int]:
    folder.mkdir()
    monkeypatch.chdir(folder)
    return call(*arguments(folder)), records(folder / "bench.db")


def killed_at(folder: Path, marks: list[int]) -> int:
    """Start it again and again, and kill it each time the log has grown to a mark; how often it was."""
    kills = 0
    for mark in marks:
        running = process(*arguments(folder), cwd=folder)
        while running.poll() is None and records(folder / "bench.db") < mark:
            time.sleep(0.005)
        kills += running.poll() is None
        running.kill()
        running.communicate()
    return kills


def test_a_bench_that_is_told_to_stop_begins_nothing_that_rests_on_what_it_stopped(
    tmp_path: Path,
) -> None:
    running = process(*arguments(tmp_path), cwd=tmp_path)
    while running.poll() is None and records(tmp_path / "bench.db") < 20:
        time.sleep(0.005)
    running.terminate()
    _, said = running.communicate()
    # As any command that SIGTERM ends: 0, and it says what became of its work.
    assert (running.returncode, b"stopped before its end" in said) == (0, True), said
    with closing(sqlite3.connect(tmp_path / "bench.db")) as db:
        rows = db.execute("select distinct policy from episodes").fetchall()
    policies = {policy for (policy,) in rows}
    assert policies == {"mc2", "cot"}  # and none is matched to a limit that is not known yet


def test_a_killed_bench_ends_with_the_same_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm, total = in_peace(tmp_path / "calm", monkeypatch)
    assert calm.code == 0, calm.err
    crash = tmp_path / "crash"
    crash.mkdir()
    chance = random.Random(11)
    marks = sorted(chance.sample(range(1, total - 20), KILLS))
    assert killed_at(crash, marks) == KILLS
    monkeypatch.chdir(crash)
    again = call(*arguments(crash))
    assert again.code == 0, again.err
    for ending in ("json", "md", "html"):
        name = f"bench/killed.{ending}"
        assert (crash / name).read_bytes() == (tmp_path / "calm" / name).read_bytes()
    stats = call("log", "stats", "--log", "bench.db", "--json").json
    assert stats["repeated_completions"] == 0
