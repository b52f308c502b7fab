"""Answers by how many samples they are made of, in episodes whose samples are set by hand."""

from __future__ import annotations

import pytest

from schemas.events.base import Event
from schemas.events.reasoning import Generated
from streams.research.analysis.cases import Case
from streams.research.bench.curves import order
from streams.research.bench.metrics import METRICS
from streams.research.bench.sampled import any_of, samples, vote_of
from tests.streams.bench.worlds import case

TALE = "\\alpha + 1"
"""What no grader compares with a number."""


def sampled(name: str, *answers: str | None) -> Case:
    events: list[Event] = [
        Generated(answer=each, source=f"{at}.0.0") for at, each in enumerate(answers)
    ]
    return case(name, "right", events, reference="7")


def test_samples_are_judged_one_by_one() -> None:
    found = samples(sampled("a", "7", "8", "7", None))
    assert found.problem == "what is a?"
    assert (found.answers, found.right) == (("7", "8", "7", None), (True, False, True, False))


def test_any_of_n_is_the_chance_over_draws() -> None:
    cases = [
        sampled("a", "7", "8", "8", "8"),
        sampled("b", "8", "8", "8", "8"),
        sampled("c", "7", "7", "7", "7"),
    ]
    for n, one in ((1, 0.25), (2, 0.5), (4, 1.0)):
        assert [unit.value for unit in any_of(n)(cases)] == [pytest.approx(one), 0.0, 1.0]
    assert [unit.problem for unit in any_of(1)(cases)] == ["d/a", "d/b", "d/c"]


def test_the_vote_of_n_is_over_seeded_orders() -> None:
    two = sampled("a", "7", "8")
    first = [order("what is a?", turn, 2)[0] for turn in range(40)].count(0) / 40
    for n in (1, 2):
        [unit] = vote_of(n)([two])
        assert unit.value == first, "of two that differ the first one wins"
    [unit] = vote_of(3)([sampled("a", "8", "7", " 7")])
    assert unit.value == 1.0, "two votes for what is written in two ways"
    [unit] = vote_of(1)([sampled("a", "7", "8", None)])
    [more] = vote_of(3)([sampled("a", "7", "8", None)])
    assert (unit.value or 1) < (more.value or 0), "what cannot be read has no vote"


def test_of_fewer_samples_or_of_one_that_nobody_can_judge_nothing_is_known() -> None:
    assert [unit.value for unit in any_of(3)([sampled("a", "7", "7")])] == [None]
    assert [unit.value for unit in any_of(1)([sampled("a", "7", TALE)])] == [None]
    assert [unit.value for unit in vote_of(1)([sampled("a", TALE, "7")])] == [None]
    found = METRICS["any_of_2"].found([sampled("a", "7", "8"), sampled("b", "7")])
    assert (found.value, found.known, found.unknown) == (100.0, 1, 1)
