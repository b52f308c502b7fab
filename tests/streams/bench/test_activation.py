from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams.research.bench import activation


def test_a_small_graph_has_the_edges_that_are_said_and_activates_for_every_query() -> None:
    small = activation.memory(cases=40, paths=12, principles=9)
    assert [item.kind for item in small.items].count("rule") == 9
    graph = small.learned
    assert {item.id for item in small.items if item.kind == "lesson"} == graph["cases"].keys()
    assert len(graph["cases"]) == 40
    assert {len(case["paths"]) for case in graph["cases"].values()} == {4}
    assert len(graph["paths"]) == 12
    assert {len(path["principles"]) for path in graph["paths"].values()} == {5}
    spent = list(activation.timed(small, queries=3))
    assert len(spent) == 3
    assert all(busy >= 0 and 0 < wall < 60_000 for busy, wall in spent), "milliseconds"


def test_its_figures_are_quantiles_of_busy_and_of_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(known: str) -> Iterator[tuple[float, float]]:
        assert known == "a graph"
        return ((float(at), 10.0 * at) for at in range(101))

    monkeypatch.setattr(activation, "memory", lambda: "a graph")
    monkeypatch.setattr(activation, "timed", told)
    assert activation.run() == {
        "activation_p50_ms": 50,
        "activation_p99_ms": 99,
        "activation_wall_p50_ms": 500,
        "activation_wall_p99_ms": 990,
        "queries": activation.CASES,
        "paths": activation.PATHS,
        "principles": activation.PRINCIPLES,
    }
