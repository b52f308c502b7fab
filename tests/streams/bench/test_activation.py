from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from handlers.learning.graph import CASE, PRINCIPLE
from handlers.policies.graph_memory.settings import GraphSettings
from schemas.identity import text_digest
from schemas.questions import Recall
from schemas.vectors import unpack
from state.mirror import Mirrors
from streams.research.bench import activation
from streams.research.bench.recall import vectors


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


def test_every_case_and_path_has_its_edges_and_every_item_its_own_text() -> None:
    small = activation.memory(cases=30, paths=8, principles=6)
    assert small == activation.memory(cases=30, paths=8, principles=6), "the same each time"
    assert (small.scope, small.number) == ("bench", 1)
    graph = small.learned
    assert (graph["version"], graph["principles"]) == (1, {})
    rules, cases = small.items[:6], small.items[6:]
    assert [(item.id, item.kind, item.role, item.subject, item.vector) for item in rules] == [
        (f"M{at}", "rule", PRINCIPLE, "", None) for at in range(6)
    ]
    for item, vector in zip(cases, vectors(30, 7), strict=True):
        assert (item.kind, item.role, item.batch) == ("lesson", CASE, 1)
        assert item.subject == f"bench/{item.text}" == graph["cases"][item.id]["subject"]
        assert item.id == item.text_digest == text_digest(item.text)
        assert unpack(item.vector or "") == vector
        assert all(
            edge == {"weight": 1.0, "right": 1, "wrong": 0, "runs": 1, "at": 1}
            for edge in graph["cases"][item.id]["paths"].values()
        )
    taken = {name for case in graph["cases"].values() for name in case["paths"]}
    assert taken == {*graph["paths"]} == {f"T{at}" for at in range(8)}
    weights = [edge for path in graph["paths"].values() for edge in path["principles"].values()]
    assert {edge["at"] for edge in weights} == {1}
    assert len({edge["weight"] for edge in weights}) == len(weights) == 8 * 5
    assert all(0 < edge["weight"] < 1 for edge in weights)


def test_milliseconds_are_of_the_thread_and_of_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(
        perf_counter_ns=count(0, 4_000_000).__next__, thread_time_ns=count(0, 3_000_000).__next__
    )
    monkeypatch.setattr(activation, "time", clock)
    small = activation.memory(cases=20, paths=8, principles=6)
    assert [*activation.timed(small, queries=2)] == [(3.0, 4.0)] * 2


def test_no_query_is_asked_twice_and_none_is_of_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Recall, tuple[float, ...]]] = []
    select = Mirrors.select

    def seen(self: Mirrors, known: Any, question: Recall, query: Any) -> Any:
        asked.append((question, query))
        return select(self, known, question, query)

    monkeypatch.setattr(Mirrors, "select", seen)
    small = activation.memory(cases=20, paths=8, principles=6)
    assert len([*activation.timed(small, queries=5)]) == 5
    assert len({question.query for question, _ in asked}) == 5
    assert {(question.roles, question.kinds) for question, _ in asked} == {
        ((CASE, PRINCIPLE), ("rule", "lesson"))
    }
    assert {question.top for question, _ in asked} == {GraphSettings().active_cases + 1}
    assert not {query for _, query in asked} & {unpack(item.vector or "") for item in small.items}
