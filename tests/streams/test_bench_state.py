"""The measurements of state run in small and say what their checks read."""

from __future__ import annotations

import pytest

from streams.bench import rebuild, recall

pytestmark = pytest.mark.slow


def test_rebuild() -> None:
    found = rebuild.run(events=4_000)
    assert found["events"] >= 4_000
    assert found["snapshot_hash_equal"]
    assert found["rows_only_per_s"] > found["orjson_only_per_s"] > found["events_per_s"] > 0
    assert found["learned_items"] > 100


def test_recall() -> None:
    found = recall.run(sizes=(1_000,))
    for name in ("mirror_p50_ms", "mirror_p99_ms", "lancedb_p99_ms"):
        assert 0 < found[name]["1000"] < 1_000
