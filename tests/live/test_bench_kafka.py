"""A bench on a broker makes the report of one on a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.live.kafka_here import Cluster, Flat, missing

pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("kafka"),
    pytest.mark.skipif(missing() is not None, reason=missing() or ""),
]

RECIPE = {
    "recipe": "both",
    "claims": [],
    "paper": "none",
    "about": "A policy that learns, and one that does not",
    "differs": "Everything",
    "seeds": [0],
    "limits": {"calls": 12},
    "data": {"game24": {"source": "game24:901-904"}},
    "runs": {"learning": {"policy": "mc2"}, "plain": {"policy": "cot"}},
    "tables": [
        {
            "title": "Both",
            "columns": {"right": {"data": "game24", "metric": "accuracy"}},
            "rows": {"learning": {"run": "learning", "paper": [None]}},
        }
    ],
}


def test_a_bench_means_on_kafka_what_it_means_embedded(cluster: Cluster, tmp_path: Path) -> None:
    recipe = tmp_path / "both.yaml"
    recipe.write_text(json.dumps(RECIPE))
    words = ("bench", "run", recipe, "--backbone", "rehearsal:seed=3", "-q")
    cluster.out(*words, "--out", tmp_path / "kafka")
    flat = Flat(tmp_path)
    flat.out(*words, "--out", tmp_path / "flat")
    for ending in ("json", "md", "html"):
        name = f"both.{ending}"
        assert (tmp_path / "kafka" / name).read_bytes() == (tmp_path / "flat" / name).read_bytes()
