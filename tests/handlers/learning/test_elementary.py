"""Exponentials, logarithms and losses that every machine reckons alike, beside those of the C library."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.elementary import exp, log
from handlers.learning.grpo import grpo_loss


@given(st.floats(-700, 700))
def test_the_exponential_is_the_usual_one(x: float) -> None:
    assert exp(x) == pytest.approx(math.exp(x), rel=1e-14)


@given(st.floats(5e-324, 1e308))
def test_the_logarithm_is_the_usual_one(x: float) -> None:
    assert log(x) == pytest.approx(math.log(x), rel=1e-14, abs=1e-15)


def test_what_is_beyond_a_float_is_infinite_and_nothing_has_no_logarithm() -> None:
    assert exp(1_000) == exp(1e10) == math.inf
    assert exp(-1_000) == exp(-1e10) == 0.0
    assert (exp(0.0), log(1.0)) == (1.0, 0.0)
    for none in (0.0, -1.0):
        with pytest.raises(ArithmeticError, match=f"{none} has no logarithm"):
            log(none)


def test_a_loss_is_the_mean_over_roll_outs_of_the_mean_over_their_own_tokens() -> None:
    half = math.log(0.5)
    new, old = [[0.0, half, 0.0], [0.0, 0.0, 0.0]], [[half, half, half], [0.0, 0.0, half]]
    mask = [[1, 1, 0], [0, 1, 1]]
    assert grpo_loss(new, old, [2.0, -0.5], mask) == pytest.approx(
        (-(2.4 + 2) / 2 + (0.5 + 1) / 2) / 2
    )
    wide = grpo_loss(new, old, [2.0, -0.5], mask, clip=0.5)
    assert wide == pytest.approx((-(3 + 2) / 2 + (0.5 + 1) / 2) / 2)
    low = grpo_loss([[half]], [[0.0]], [-1.0], [[1]])
    assert low == pytest.approx(0.8), "what is less likely by now is not pushed further down"
    assert type(low) is float
    with pytest.raises(ValueError, match="without a token of its own"):
        grpo_loss(new, old, [1.0, -1.0], [[1, 1, 0], [0, 0, 0]])
