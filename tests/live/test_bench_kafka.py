"""A bench on a broker makes the report of one on a file, and tells what an operator would see."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from streams.research.bench import kafka_paced
from streams.runtime.kafka.place import KafkaAddress
from tests.live.kafka_here import Cluster, Flat, missing

pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("kafka"),
    pytest.mark.skipif(missing() is not None, reason=missing() or ""),
]

RECIPE: dict[str, Any] = {
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


def test_all_stages_of_a_recipe_share_one_total(cluster: Cluster, tmp_path: Path) -> None:
    staged = tmp_path / "staged.yaml"
    runs = {
        "votes": {"policy": "self_consistency", "settings": {"samples": 2}},
        "plain": {"policy": "cot", "matched": {"run": "votes"}},
    }
    table = {**RECIPE["tables"][0], "rows": {"plain": {"run": "plain", "paper": [None]}}}
    staged.write_text(json.dumps({**RECIPE, "recipe": "staged", "runs": runs, "tables": [table]}))
    words = ("bench", "run", staged, "--backbone", "rehearsal:seed=3", "-q")
    done = cluster.call(*words, "--out", tmp_path / "out", "--total-calls", 9)
    assert done.returncode == 4, done.stderr.decode()[-800:]
    assert cluster.stats()["completions"] == 9


def test_answers_are_timed_from_sending_and_costs_are_of_the_workers(
    place: KafkaAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_paced, "PACED", 60)
    monkeypatch.setattr(kafka_paced, "QUEUED", 200)
    begun = time.perf_counter()
    p50, p99 = asyncio.run(kafka_paced.paced(place))
    # Each call takes at least half of its latency, and nothing takes longer than all of it.
    assert kafka_paced.LATENCY_MS / 2 < p50 <= p99 < 1_000 * (time.perf_counter() - begun)
    one, two = (asyncio.run(kafka_paced.costs(place, workers)) for workers in (1, 2))
    assert one is not None
    assert two is not None
    assert 0 < one < 100
    assert 0 < two < 100


def test_a_worker_that_ends_is_said_at_once(
    place: KafkaAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_paced, "MAIN", "raise SystemExit(7)")
    with pytest.raises(kafka_paced.Failed, match=r"a worker ended with exit 7"):
        asyncio.run(kafka_paced.costs(place, 1))
