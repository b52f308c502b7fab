"""Making side runs: of which episodes, from where on, under which settings and limit, and how many there are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.problem import Limits
from streams.replay.change import Change
from streams.research.analysis.cases import Case
from streams.research.bench import asides
from streams.research.bench.asides import run_asides
from streams.research.bench.recipe import Recipe
from streams.research.bench.results import Results
from tests.streams.bench.worlds import ReadOnce, always, case, episodes

RECIPE = Recipe.model_validate({
    "recipe": "r", "data": {"d": {"source": "jsonl"}, "e": {"source": "jsonl"}},
    "runs": {
        "A": {"policy": "cot2_meta", "audit": True},
        "B": {"policy": "cot2_rescored", "settings": {"rewording": "B"}, "beside": "A"},
        "C": {"policy": "tot_trusted", "beside": "T"},
        "T": {"policy": "tot"},
    },
})  # fmt: skip
JOURNAL = {"opened": 0, "1.0.0": 0, "10.0.0": 0, "9.0.0": 0, "closed": 0, "graded.x": 0}


def found(
    name: str, policy: str, *, calls: int | None = None, answer: str | None = "x", **settings: Any
) -> Case:
    one = case(name, "right", answer=answer)
    opened: Any = SimpleNamespace(policy=policy, limits=Limits(calls=calls))
    return replace(
        one, opened=opened, problem=one.problem.model_copy(update={"settings": settings})
    )


class Made:
    """What was asked for, and how many side runs were under way at once."""

    def __init__(self) -> None:
        self.changes: dict[str, Change] = {}
        self.audited: list[str] = []
        self.world = object()
        self.now = self.most = 0

    def work(self, log: Any, by: Any, episode: str, change: Change, *who: Any) -> Any:
        assert who == (self.world, "learned")
        self.changes[f"{episode} {change.policy}"] = change
        return f"work on {episode}", f"record of {episode}"

    async def run(self, log: Any, work: str, change: Change, record: str, world: Any) -> None:
        assert work.removeprefix("work on") == record.removeprefix("record of")
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1

    async def audit(self, log: Any, cases: list[Case], world: Any) -> list[int]:
        assert self.now == 0, "when all other side runs are made"
        self.audited = [each.problem.id for each in cases]
        return [1, 2, 3]


def made(monkeypatch: pytest.MonkeyPatch, **groups: list[Case]) -> tuple[Made, int]:
    seen, read = Made(), ReadOnce(monkeypatch, asides)
    monkeypatch.setattr(asides, "forked_work", seen.work)
    monkeypatch.setattr(asides, "run_fork", seen.run)
    monkeypatch.setattr(asides, "audit", seen.audit)
    results = Results((), groups={(name, "d"): episodes(*group) for name, group in groups.items()})
    log: Any = SimpleNamespace(journal=always(JOURNAL))
    world: Any = seen.world
    count = asyncio.run(run_asides(log, RECIPE, results, world))
    assert read.times == 1
    return seen, count


def test_each_answer_is_asked_about_at_the_end_of_its_episode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a = [found("one", "cot2_meta"), found("none", "cot2_meta", answer=None)]
    seen, count = made(monkeypatch, A=a, T=[found("two", "tot")])
    assert {*seen.changes} == {"p/d/one/0 cot2_rescored", "p/d/two/0 tot_trusted"}
    assert count == 2 + 3
    assert seen.audited == ["one", "none"], "also of what was withheld"
    for change in seen.changes.values():
        assert (change.at, change.purpose) == ("10.0.0", "beside")


@pytest.mark.parametrize(
    ("calls", "own", "primary", "limit"),
    [
        (None, {}, 16, None),
        (8, {}, 8, 10),
        (40, {}, 16, 42),
        (40, {"primary_calls": 3}, 3, 42),
        (None, {"primary_calls": None}, 1 << 20, None),
    ],
)
def test_a_search_is_told_what_it_had_and_given_what_a_question_takes(
    calls: int | None,
    own: dict[str, Any],
    primary: int,
    limit: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, _ = made(monkeypatch, A=[found("one", "cot2_meta", calls=calls, **own)])
    [change] = seen.changes.values()
    assert change.settings == {**own, "rewording": "B", "primary_calls": primary}
    assert change.limits == Limits(calls=limit)


def test_another_policy_keeps_its_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, _ = made(monkeypatch, T=[found("two", "tot", calls=16, width=3)])
    [change] = seen.changes.values()
    assert (change.settings, change.limits) == ({"width": 3}, Limits(calls=18))
    assert change.policy == "tot_trusted"


def test_only_a_few_are_under_way_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, count = made(monkeypatch, T=[found(f"p{at}", "tot") for at in range(30)])
    assert count == 30 + 3
    assert 1 < seen.most <= 8
