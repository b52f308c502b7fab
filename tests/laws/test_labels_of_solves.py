"""A label of a solve counts whichever comes first: what was said, its end, or the worker that reads both."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import metalogue
import pytest

from streams.runtime.embedded import labels
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.solving import text_id
from tests.streams.cli.calling import call, process

SUM = "What is 7 * 8?"
PATIENCE_S = 30.0
STEPS = ("verdict", "reference", "solve", "work")


def say(path: Path, **word: object) -> None:
    line = json.dumps(word | {"by": "ada"}).encode()
    assert call("feedback", "-", "--log", path, given=line).code == 0


def steps(path: Path, episode: str) -> dict[str, Callable[[], object]]:
    """What may happen on a log, each by a process of its own."""
    problem = {"domain": "default", "problem_id": text_id(SUM)}
    words = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--no-tables")
    return {
        "verdict": lambda: say(path, episode=episode, verdict=True),
        "reference": lambda: say(path, **problem, reference="56"),
        "solve": lambda: metalogue.solve(SUM, backbone="rehearsal:seed=7", log=str(path)),
        "work": lambda: call(*words, "--log", path),
    }


def grades(path: Path) -> list[tuple[str, str]]:
    log = SqliteLog(path)
    found = [(each.episode, each.address) for each in log.records("learning", kinds=["graded"])]
    log.close()
    return sorted(found)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[tuple[str, str]]]:
    """The episode, and its grades where it had ended before anybody spoke of it or read."""
    path = tmp_path_factory.mktemp("usual") / "a.db"
    episode = metalogue.solve(SUM, backbone="rehearsal:seed=7", log=str(path)).episode
    does = steps(path, episode)
    for step in ("verdict", "reference", "work"):
        does[step]()
    found = grades(path)
    assert [name for name, _ in found] == [episode] * 2
    return episode, found


@pytest.mark.parametrize("order", [*permutations(STEPS)], ids=" ".join)
def test_labels_and_ends_meet_in_every_order(
    usual: tuple[str, list[tuple[str, str]]], tmp_path: Path, order: tuple[str, ...]
) -> None:
    """What a worker had read before the solve ended was graded by nobody."""
    episode, found = usual
    path = tmp_path / "a.db"
    SqliteLog(path, create=True).close()
    does = steps(path, episode)
    for step in order:
        # A worker may come after each, and once more for what the last has left.
        does[step]()
    does["work"]()
    assert grades(path) == found
    does["work"]()
    assert grades(path) == found
    assert call("topics", "check", "--log", path).code == 0


def test_ends_that_are_more_than_are_met_at_once_are_met_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "BATCH", 1)
    path = tmp_path / "a.db"
    SqliteLog(path, create=True).close()
    sums = [f"What is 7 * {at}?" for at in range(3)]
    for at, text in enumerate(sums):
        say(path, domain="default", problem_id=text_id(text), reference=f"{7 * at}")
    work = steps(path, "")["work"]
    work()
    made = [metalogue.solve(text, backbone="rehearsal:seed=7", log=str(path)) for text in sums]
    work()
    assert {name for name, _ in grades(path)} == {each.episode for each in made}


def test_a_worker_that_stays_grades_a_solve_that_ends_beside_it(
    usual: tuple[str, list[tuple[str, str]]], tmp_path: Path
) -> None:
    episode, found = usual
    path = tmp_path / "a.db"
    SqliteLog(path, create=True).close()
    does = steps(path, episode)
    words = ("worker", "--backbone", "rehearsal:seed=7", "--no-tables", "--log", path)
    with process(*words, cwd=tmp_path) as worker:
        does["verdict"]()
        does["reference"]()
        until(lambda: SqliteLog(path).position("learner", "feedback") == 2)
        does["solve"]()
        until(lambda: grades(path) == found)
        worker.terminate()
        worker.wait(PATIENCE_S)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
