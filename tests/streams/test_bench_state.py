"""The measurements of state run in small and say what their checks read."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from state.folds.state import State
from streams.research.bench import rebuild, recall
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold

pytestmark = pytest.mark.slow


def test_rebuild() -> None:
    found = rebuild.run(events=4_000, quiet=4_000)
    assert found["events"] >= 4_000
    assert found["snapshot_hash_equal"]
    assert found["rows_only_per_s"] > found["orjson_only_per_s"] > found["events_per_s"] > 0
    assert found["learned_items"] > 100
    assert found["quiet_events"] >= 4_000
    assert found["quiet_learned_items"] == 0


def test_memory_grows_by_what_is_learned_and_not_by_events(tmp_path: Path) -> None:
    log, end = rebuild.grow(tmp_path / "a.db", 4_000, quiet=20_000)
    state = fold(log, State(), end // 2)  # what is made once, is
    tracemalloc.start()
    try:
        learned = held_after(log, state, end)
        quiet = held_after(log, state, log.end())
    finally:
        tracemalloc.stop()
        log.close()
    assert learned > 50 * (end - end // 2)  # bytes an event
    assert quiet < 20_000  # less than a byte an event


def held_after(log: SqliteLog, state: State, upto: int) -> int:
    """Bytes that are held after more of a log was folded and were not before."""
    before = tracemalloc.get_traced_memory()[0]
    fold(log, state, upto)
    return tracemalloc.get_traced_memory()[0] - before


def test_recall() -> None:
    found = recall.run(sizes=(1_000,))
    for name in ("mirror_p50_ms", "mirror_p99_ms", "lancedb_p99_ms"):
        assert 0 < found[name]["1000"] < 1_000
