"""`bench recall`: what is asked of whom, that answers are checked, and what its figures are of."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from schemas.vectors import as_kept, unpack
from state.mirror import Mirrors
from streams.research.bench import recall
from tests.streams.bench.worlds import always, noting


class Clock:
    """Clocks of the machine, each of which goes on by so much whenever it is looked at."""

    def __init__(self) -> None:
        self.perf_counter = count(0.0, 0.25).__next__
        self.perf_counter_ns = count(0, 4_000_000).__next__
        self.thread_time_ns = count(0, 3_000_000).__next__


class Writer:
    """The process that writes to the table meanwhile."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.command, self.ended = command, list[str]()

    def kill(self) -> None:
        self.ended.append("killed")

    def wait(self) -> None:
        self.ended.append("gone")


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Writer]]:
    """Every process that was started."""
    started: list[Writer] = []

    def start(*words: Any, **more: Any) -> Writer:
        started.append(Writer(*words, **more))
        return started[-1]

    monkeypatch.setattr(recall, "subprocess", SimpleNamespace(Popen=start))
    yield started
    assert [each.ended for each in started] == [["killed", "gone"]]


def test_vectors_are_directions_at_the_precision_in_which_they_are_kept() -> None:
    drawn = [*recall.vectors(3, 7)]
    assert [len(each) for each in drawn] == [recall.DIMENSIONS] * 3
    assert [*recall.vectors(2, 7)] == drawn[:2]
    assert drawn[0] != drawn[1] != next(recall.vectors(1, 8))
    for each in drawn:
        assert np.linalg.norm(each) == pytest.approx(1, abs=1e-3)
        assert each == tuple(np.array(each, np.float16).astype(float))
    assert abs(np.dot(drawn[0], drawn[1])) < 0.3


def test_lessons_are_spread_evenly_over_domains_and_roles() -> None:
    made = recall.memories(40)
    assert [each.scope for each in made] == [*recall.DOMAINS]
    assert {each.number for each in made} == {1}
    for memory in made:
        roles = [item.role for item in memory.items]
        assert {role: roles.count(role) for role in roles} == dict.fromkeys(recall.ROLES, 2)
        assert {item.subject for item in memory.items} == {
            f"{memory.scope}/{item.id[1:]}" for item in memory.items
        }
    items = [item for memory in made for item in memory.items]
    assert {item.kind for item in items} == {"lesson"}
    assert {item.batch for item in items} == {1}
    for number, vector in enumerate(recall.vectors(40, 7)):
        [item] = [each for each in items if each.id == f"L{number}"]
        assert item.text == f"lesson {number}"
        assert unpack(item.vector or "") == vector


def test_the_same_three_nearest_are_asked_for_of_any_domain_and_role() -> None:
    asked = [*recall.asked(200)]
    assert {at for at, _, _ in asked} == {*range(len(recall.DOMAINS))}
    assert {question.roles for _, question, _ in asked} == {(role,) for role in recall.ROLES}
    assert {(question.top, question.kinds) for _, question, _ in asked} == {(3, ("lesson",))}
    assert all(vector == as_kept(vector) for _, _, vector in asked)
    assert asked == [*recall.asked(200)]
    lessons = {unpack(item.vector or "") for each in recall.memories(200) for item in each.items}
    assert not lessons & {vector for _, _, vector in asked}, "a question would find itself"


def test_a_recall_is_timed_by_the_thread_and_by_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "time", Clock())
    monkeypatch.setattr(recall, "QUERIES", 30)
    assert recall.mirrored(recall.memories(100)) == ([3.0] * 30, [4.0] * 30, 0.25)


@pytest.mark.parametrize("wrong", [0, recall.CHECKED - 1])
def test_a_mirror_that_recalls_something_else_ends_the_bench(
    wrong: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, select = count(), Mirrors.select

    def turned(self: Mirrors, *words: Any) -> Any:
        found = select(self, *words)
        return found[::-1] if next(numbers) == wrong else found

    monkeypatch.setattr(Mirrors, "select", turned)
    with pytest.raises(AssertionError, match="something else than the plain rule"):
        recall.mirrored(recall.memories(100))


@pytest.mark.parametrize(
    ("values", "part", "found"),
    [
        ([3.0, 1.0, 2.0], 0.5, 2.0),
        ([3.0, 1.0, 2.0], 0.99, 3.0),
        ([1.0, 2.0], 0.5, 2.0),
        ([1.0, 2.0], 1.0, 2.0),
        ([1.0], 0.0, 1.0),
        ([0.123456], 0.5, 0.1235),
    ],
)
def test_a_quantile_is_a_value_that_was_measured(
    values: list[float], part: float, found: float
) -> None:
    assert recall.quantile(values, part) == found


def test_the_table_is_asked_the_same_while_another_process_writes(
    writers: list[Writer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known, told = recall.memories(20), list[Any]()

    def filled(*words: Any) -> tuple[Any, ...]:
        return words

    monkeypatch.setattr(recall, "time", Clock())
    monkeypatch.setattr(recall, "TABLE_QUERIES", 5)
    monkeypatch.setattr("state.tables.bench.fill", filled)
    monkeypatch.setattr("state.tables.bench.query", noting(told))
    assert recall.tabled(known, tmp_path) == [250.0] * 5
    table = (tmp_path, known, recall.DIMENSIONS)
    assert told == [
        (table, recall.DOMAINS[at], question.roles[0], vector)
        for at, question, vector in recall.asked(5)
    ]
    assert [*writers[0].command[-3:]] == ["-m", "streams.research.bench.recall", str(tmp_path)]


@pytest.mark.usefixtures("writers")
def test_a_query_that_fails_leaves_no_process_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def lost(*_: Any) -> None:
        raise OSError("the table is gone")

    monkeypatch.setattr("state.tables.bench.fill", always(None))
    monkeypatch.setattr("state.tables.bench.query", lost)
    with pytest.raises(OSError, match="gone"):
        recall.tabled(recall.memories(4), tmp_path)


def test_the_process_that_writes_is_given_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr("state.tables.bench.keep_writing", noting(told))
    monkeypatch.setattr(sys, "argv", ["recall", "a folder"])
    runpy.run_path(recall.__file__, run_name="__main__")
    assert told == [(Path("a folder"), recall.DIMENSIONS)]


def test_figures_stand_by_size_with_medians_and_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    def mirrored(known: list[Any]) -> tuple[list[float], list[float], float]:
        size = float(sum(len(each.items) for each in known))
        values = [*islice(count(0.0), 101)]
        return [size + each for each in values], [size + 2 * each for each in values], 0.12345

    def tabled(known: list[Any], folder: Path) -> list[float]:
        assert folder.is_dir()
        return [10.0 * each for each in range(101)]

    said: list[str] = []
    monkeypatch.setattr(recall, "mirrored", mirrored)
    monkeypatch.setattr(recall, "tabled", tabled)
    assert recall.run(said.append, (10, 1_000)) == {
        "mirror_p50_ms": {"10": 60.0, "1000": 1_050.0},
        "mirror_p99_ms": {"10": 109.0, "1000": 1_099.0},
        "mirror_wall_p50_ms": {"10": 110.0, "1000": 1_100.0},
        "mirror_wall_p99_ms": {"10": 208.0, "1000": 1_198.0},
        "mirror_build_s": {"10": 0.123, "1000": 0.123},
        "lancedb_p50_ms": {"10": 500.0, "1000": 500.0},
        "lancedb_p99_ms": {"10": 990.0, "1000": 990.0},
        "top": 3,
        "dimensions": 256,
        "roles": 5,
        "domains": 4,
    }
    assert said == ["10 lessons …", "1,000 lessons …"]
