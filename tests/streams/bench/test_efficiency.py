"""Points for each thousand tokens: a ratio of two means, of which each episode is worth what it moves it by."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.outcome import Outcome
from schemas.usage import Usage
from streams.research.analysis.cases import Case
from streams.research.analysis.found import Found
from streams.research.bench.metrics import METRICS
from tests.streams.bench.worlds import case

COPIES = 500
PAID: tuple[tuple[Outcome, int]] = (("right", 500),)


def episode(at: int, outcome: Outcome, tokens: int | None) -> Case:
    """One that cost so many tokens, or nobody knows how many."""
    answering = None if tokens is None else 0
    usage = Usage(calls=1, prompt_tokens=tokens, completion_tokens=answering)
    return case(str(at), outcome, usage=usage)


def found(cases: Sequence[Case]) -> Found:
    return METRICS["points_per_1k_tokens"].found(cases)


KNOWN = st.tuples(st.sampled_from(("right", "wrong", "withheld")), st.integers(1, 900))
ANY = st.tuples(st.sampled_from(("right", "wrong", "unknown")), st.none() | st.integers(0, 900))


@given(st.lists(ANY, max_size=8))
def test_it_is_of_what_is_known_on_both_sides(drawn: list[tuple[Outcome, int | None]]) -> None:
    cases = [episode(at, *each) for at, each in enumerate(drawn)]
    known = [each for each in drawn if each[0] != "unknown" and each[1] is not None]
    right = [outcome == "right" for outcome, _ in known]
    tokens = [spent or 0 for _, spent in known]
    figure = found(cases)
    assert figure.known == len(known)
    assert figure.unknown == len(drawn) - figure.known
    if not right or not sum(tokens):
        assert (figure.value, figure.worth) == (None, ())
        return
    assert figure.value == pytest.approx(100_000 * fmean(right) / fmean(tokens))
    both = [f"d/{at}" for at, (told, n) in enumerate(drawn) if told != "unknown" and n is not None]
    assert [unit.problem for unit in figure.worth] == (both if any(right) else [])


@given(st.lists(KNOWN, min_size=2, max_size=6), st.data())
def test_an_episode_is_worth_what_one_more_like_it_moves_the_figure_by(
    drawn: list[tuple[Outcome, int]], data: st.DataObject
) -> None:
    cases = [episode(at, *each) for at, each in enumerate(chain(drawn, PAID))]
    figure, at = found(cases), data.draw(st.integers(0, len(drawn)))
    assert figure.value is not None
    worth = [unit.value or 0.0 for unit in figure.worth]
    assert fmean(worth) == pytest.approx(figure.value)
    more = found([*cases * COPIES, cases[at]]).value
    assert more is not None
    moved = (more - figure.value) * (COPIES * len(cases) + 1)
    assert moved == pytest.approx(worth[at] - figure.value, rel=0.02, abs=0.02 * figure.value)
