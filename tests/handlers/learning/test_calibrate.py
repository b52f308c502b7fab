"""Calibrators: which one so many labels allow, and that each equals a plain reference."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.learning.calibrate import (
    RULE,
    Isotonic,
    Platt,
    calibrated,
    calibrators,
    fit,
    isotonic,
    logit,
    platt,
    rising,
    sigmoid,
)
from schemas.identity import hash01
from schemas.memory import Label, Labels

RAW = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=30)


def said(count: int) -> list[tuple[float, bool]]:
    """Too sure: right with the square of the confidence."""
    drawn = [(round(hash01("c", at), 3), hash01("r", at)) for at in range(count)]
    return [(c, luck < c * c) for c, luck in drawn]


def test_labels_decide_which() -> None:
    assert fit(said(29)) is None
    assert isinstance(fit(said(30)), Platt)
    assert isinstance(fit(said(200)), Platt)
    assert isinstance(fit(said(201)), Isotonic)


@given(RAW)
@settings(max_examples=60)
def test_isotonic_equals_the_min_max_formula(raw: list[tuple[int, bool]]) -> None:
    pairs = [(n / 20, right) for n, right in raw]
    xs = sorted({c for c, _ in pairs})
    sums = [[sum(r for c, r in pairs if c == x), sum(c == x for c, _ in pairs)] for x in xs]

    def mean(low: int, high: int) -> float:
        rights, labels = (sum(part[n] for part in sums[low : high + 1]) for n in (0, 1))
        return rights / labels

    made = isotonic(pairs)
    for at, x in enumerate(xs):
        plain = max(min(mean(i, j) for j in range(at, len(xs))) for i in range(at + 1))
        assert made(x) == pytest.approx(plain, abs=1e-12)


@given(RAW, st.floats(0, 1), st.floats(0, 1))
def test_isotonic_rises_and_stays_in_the_unit(
    raw: list[tuple[int, bool]], one: float, other: float
) -> None:
    made = isotonic([(n / 20, right) for n, right in raw])
    low, high = sorted((one, other))
    assert 0 <= made(low) <= made(high) + 1e-12
    assert made(high) <= 1


def loss(pairs: list[tuple[float, bool]], made: Platt) -> float:
    rights = sum(right for _, right in pairs)
    high, low = (rights + 1) / (rights + 2), 1 / (len(pairs) - rights + 2)
    total = 0.0
    for c, right in pairs:
        p, target = sigmoid(made.slope * logit(c) + made.offset), high if right else low
        total -= target * math.log(p) + (1 - target) * math.log(1 - p)
    return total


@given(st.integers(30, 120))
@settings(max_examples=20)
def test_platt_is_at_the_minimum_of_its_loss(count: int) -> None:
    pairs = said(count)
    made = platt(pairs)
    for slope, offset in ((1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)):
        other = Platt(made.slope + slope, made.offset + offset)
        assert loss(pairs, made) <= loss(pairs, other) + 1e-12
    gradient = sum(
        sigmoid(made.slope * logit(c) + made.offset)
        - ((sum(r for _, r in pairs) + 1) / (sum(r for _, r in pairs) + 2) if right else
           1 / (len(pairs) - sum(r for _, r in pairs) + 2))
        for c, right in pairs
    )  # fmt: skip
    assert gradient == pytest.approx(0, abs=1e-6)


def test_what_was_too_sure_becomes_less_so() -> None:
    for count in (120, 900):
        made = fit(said(count))
        assert made is not None
        assert made(0.5) < 0.42
        assert made(0.2) < made(0.9)


STEPS = Isotonic(((0.2, 0.1), (0.4, 0.1), (0.6, 0.7), (0.9, 1.0)))


@pytest.mark.parametrize(
    ("confidence", "chance"),
    [(0.0, 0.1), (0.2, 0.1), (0.3, 0.1), (0.5, 0.4), (0.6, 0.7), (0.7, 0.8), (0.9, 1.0), (1.0, 1.0)],
)  # fmt: skip
def test_between_its_steps_a_calibrator_is_straight_and_level_beyond_them(
    confidence: float, chance: float
) -> None:
    assert STEPS(confidence) == pytest.approx(chance)


def test_shares_that_do_not_rise_are_pooled_and_a_pool_keeps_both_of_its_ends() -> None:
    pairs = [(0.9, True), (0.1, False), (0.3, True), (0.5, False), (0.7, True), (0.3, True)]
    assert isotonic(pairs).points == (
        (0.1, 0.0),
        (0.3, 2 / 3),
        (0.5, 2 / 3),
        (0.7, 1.0),
        (0.9, 1.0),
    )
    assert isotonic([(0.5, True), (0.5, False)]).points == ((0.5, 0.5),)


def test_log_odds_are_kept_off_both_ends_and_sigmoid_undoes_them() -> None:
    assert logit(0.0) == logit(1e-6) == pytest.approx(math.log(1e-6 / (1 - 1e-6)))
    assert logit(1.0) == logit(1 - 1e-6)
    assert logit(0.5) == 0.0
    for confidence in (0.1, 0.5, 0.75):
        assert sigmoid(logit(confidence)) == pytest.approx(confidence)
    assert (sigmoid(0), sigmoid(1e6), sigmoid(-1e6)) == (0.5, 1.0, 0.0)
    assert Platt(2.0, 1.0)(0.5) == sigmoid(1.0)


def test_confidences_that_are_all_equal_stand_for_the_share_that_was_right() -> None:
    made = platt([(0.9, at % 4 == 0) for at in range(40)])
    high, low = 11 / 12, 1 / 32
    assert made(0.9) == pytest.approx((10 * high + 30 * low) / 40, abs=1e-6)
    all_right = platt([(0.5 + at / 100, True) for at in range(40)])
    assert all_right(0.7) == pytest.approx(41 / 42, abs=1e-3)


def labels(count: int, key: str = "k", right: bool | None = True) -> tuple[Label, ...]:
    return tuple(Label(f"{key}{at}", (key,), at / count, right) for at in range(count))


def test_each_key_has_its_own_calibrator_once_it_has_labels_enough() -> None:
    known = Labels.on(None, 1, (*labels(30), *labels(29, "few"), *labels(40, "none", None)))
    assert known is not None
    found = calibrators(known)
    made = found[("k",)]
    assert isinstance(made, Platt)
    assert found[("few",)] is None
    assert ("none",) not in found
    assert calibrated(known, ("k",), 0.5) == round(made(0.5), 6)
    assert calibrated(known, ("few",), 0.5) is None
    assert calibrated(known, ("other",), 0.5) is None
    assert calibrated(None, ("k",), 0.5) is None


def test_confidences_that_hardly_differ_are_told_apart_where_their_answers_do() -> None:
    pairs = [(0.51, at % 4 != 0) for at in range(40)] + [(0.49, at % 4 == 0) for at in range(40)]
    made = platt(pairs)
    high, low = 41 / 42, 1 / 42
    assert made(0.51) == pytest.approx((30 * high + 10 * low) / 40, abs=1e-6)
    assert made(0.49) == pytest.approx((10 * high + 30 * low) / 40, abs=1e-6)
    assert made.offset == pytest.approx(0.0, abs=1e-6)


def test_a_curve_that_would_fall_is_level_at_the_share_that_was_right() -> None:
    pairs = [(0.9, at % 4 == 0) for at in range(20)] + [(0.3, at % 4 != 0) for at in range(20)]
    turned, made = fit(pairs), rising(pairs)
    assert isinstance(turned, Platt)
    assert turned(0.3) > 0.6 > 0.4 > turned(0.9)
    assert made is not None
    assert made(0.1) == made(0.3) == made(0.9) == pytest.approx(0.5, abs=1e-9)
    mostly = rising([(c, right or at % 2 == 0) for at, (c, right) in enumerate(pairs)])
    assert mostly is not None
    rights = sum(right or at % 2 == 0 for at, (_, right) in enumerate(pairs))
    smoothed = (rights * (rights + 1) / (rights + 2) + (40 - rights) / (42 - rights)) / 40
    assert mostly(0.9) == pytest.approx(smoothed, abs=1e-9)


def test_one_confidence_says_nothing_of_others() -> None:
    for at in (0.3, 0.9):
        made = rising([(at, n % 4 == 0) for n in range(40)])
        assert made is not None
        assert made(0.01) == made(0.5) == made(0.99) == pytest.approx(0.25, abs=0.03)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=30, max_size=240))
@settings(max_examples=60)
def test_whoever_says_more_is_never_given_less(raw: list[tuple[int, bool]]) -> None:
    pairs = [(n / 20, right) for n, right in raw]
    made, free = rising(pairs), fit(pairs)
    assert made is not None
    said_of = [made(at / 50) for at in range(51)]
    assert all(low <= high + 1e-12 for low, high in pairwise(said_of))
    assert all(0 <= chance <= 1 for chance in said_of)
    if isinstance(made, Platt):
        # Nobody does better among those that do not fall.
        assert isinstance(free, Platt)
        for slope, offset in ((1e-2, 0), (0, 1e-2), (0, -1e-2), (1e-2, -1e-2)):
            other = Platt(made.slope + slope, made.offset + offset)
            assert loss(pairs, made) <= loss(pairs, other) + 1e-9
    else:
        assert made == free


def test_labels_are_fitted_by_the_rule_of_the_batch_that_brought_them() -> None:
    falling = tuple(Label(f"k{at}", ("k",), at / 40, at < 20) for at in range(40))
    first, second = Labels.on(None, 1, falling), Labels.on(None, 1, falling, RULE)
    assert first is not None
    assert second is not None
    assert first.rule == "platt-isotonic@1"
    assert first.digest != second.digest
    turned, level = (calibrated(each, ("k",), 0.9) for each in (first, second))
    assert turned is not None
    assert turned < 0.2
    assert level == pytest.approx(0.5, abs=1e-6)
    assert calibrated(second, ("k",), 0.1) == level
    # Versions made before stay as they were, and what follows them is fitted anew as a whole.
    assert Labels.on(first, 2, (), RULE) is first
    later = Labels.on(first, 2, labels(1, "other"), RULE)
    assert calibrated(later, ("k",), 0.9) == level
