"""Calibration metrics against plain references, to 1e-12."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning import metrics

PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)
THREE = [(0.95, True), (0.90, False), (0.10, False)]


@pytest.mark.claim("cot2-metrics")
def test_three_answers_by_hand() -> None:
    assert metrics.ece(THREE) == pytest.approx(0.35, abs=1e-12)
    assert metrics.brier(THREE) == pytest.approx(0.2741666666666667, abs=1e-12)
    assert metrics.aurc(THREE) == pytest.approx((0 + 1 / 2 + 2 / 3) / 3, abs=1e-12)
    assert metrics.risk_coverage(THREE) == [(1 / 3, 0.0), (2 / 3, 0.5), (1.0, 2 / 3)]


def plain_ece(pairs: list[tuple[float, bool]], count: int) -> float:
    total = 0.0
    for n in range(count):
        low, high = n / count, (n + 1) / count
        held = [(c, r) for c, r in pairs if low <= c < high or (n == count - 1 and c == 1.0)]
        if held:
            gap = sum(c for c, _ in held) / len(held) - sum(r for _, r in held) / len(held)
            total += len(held) / len(pairs) * abs(gap)
    return total


@pytest.mark.claim("cot2-metrics")
@given(st.lists(st.tuples(st.integers(0, 100), st.booleans()), min_size=1, max_size=40))
def test_ece_and_brier_equal_a_plain_reference(raw: list[tuple[int, bool]]) -> None:
    pairs = [(n / 100, right) for n, right in raw]
    assert metrics.ece(pairs, 8) == pytest.approx(plain_ece(pairs, 8), abs=1e-12)
    plain = sum((c - int(r)) * (c - int(r)) for c, r in pairs) / len(pairs)
    assert metrics.brier(pairs) == pytest.approx(plain, abs=1e-12)


@pytest.mark.claim("cot2-metrics")
@given(PAIRS)
def test_aurc_equals_a_plain_reference(pairs: list[tuple[float, bool]]) -> None:
    ordered = sorted(enumerate(pairs), key=lambda each: (-each[1][0], each[0]))
    risks = [sum(not right for _, (_, right) in ordered[:k]) / k for k in range(1, len(pairs) + 1)]
    assert metrics.aurc(pairs) == pytest.approx(sum(risks) / len(risks), abs=1e-12)
    assert metrics.selective_accuracy(pairs, 1.0) == pytest.approx(1 - risks[-1], abs=1e-12)


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.data())
def test_any_of_n_counts_the_draws_that_hold_a_right_one(
    right: list[bool], data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, len(right)))
    draws = list(combinations(right, n))
    assert metrics.any_of_n(right, n) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_utility() -> None:
    assert metrics.utility(True, 0.3) == 1.0
    assert metrics.utility(None, 0.9, 2.0) == 0.0
    assert metrics.utility(False, 0.5, 2.0) == -1.0
    assert metrics.entropy_share([1, 1, 1]) == pytest.approx(1.0)
    assert metrics.entropy_share([3]) == 0.0


EMPTY: list[tuple[float, bool]] = []


def test_of_nothing_every_figure_is_nothing() -> None:
    assert metrics.accuracy([]) == metrics.ece(EMPTY) == metrics.brier(EMPTY) == 0.0
    assert metrics.aurc(EMPTY) == 0.0
    assert metrics.aurc_worth(EMPTY) == []
    assert metrics.risk_coverage(EMPTY) == []
    assert metrics.entropy_share([]) == metrics.entropy_share([0, 0]) == 0.0


def test_bins_are_of_equal_width_and_the_last_holds_its_end() -> None:
    pairs = [(0.0, False), (0.24, True), (0.25, True), (0.99, True), (1.0, False)]
    assert metrics.bins(pairs, 4) == [
        (2, pytest.approx(0.12), 0.5), (1, 0.25, 1.0), (0, 0.0, 0.0), (2, pytest.approx(0.995), 0.5),
    ]  # fmt: skip
    assert len(metrics.bins(EMPTY)) == 15
    assert metrics.ece([(0.0, False), (0.5, True)], 2) == 0.25


@given(PAIRS)
def test_what_pairs_are_worth_to_aurc_has_it_for_a_mean_and_its_change_for_a_share(
    pairs: list[tuple[float, bool]],
) -> None:
    worth = metrics.aurc_worth(pairs)
    assert sum(worth) / len(pairs) == pytest.approx(metrics.aurc(pairs), abs=1e-12)
    order = sorted(range(len(pairs)), key=lambda at: -pairs[at][0])
    risks = [risk for _, risk in metrics.risk_coverage(pairs)]
    plain = [
        risks[k]
        + sum((not pairs[at][1]) / (j + 1) - risks[j] / (j + 1) for j in range(k, len(pairs)))
        for k, at in enumerate(order)
    ]
    found = [worth[at] for at in order]
    assert [a - found[0] for a in found] == pytest.approx([b - plain[0] for b in plain], abs=1e-9)


@pytest.mark.parametrize(
    ("coverage", "share"), [(0.0, 1.0), (0.25, 1.0), (0.5, 0.5), (0.75, 2 / 3), (1.0, 0.5)]
)
def test_the_most_confident_are_looked_at_and_one_at_least(coverage: float, share: float) -> None:
    pairs = [(0.1, False), (0.9, True), (0.5, False), (0.3, True)]
    assert metrics.selective_accuracy(pairs, coverage) == pytest.approx(share)


def test_points_per_tokens_and_tokens_per_point() -> None:
    assert metrics.per_thousand_tokens(50, 2_000) == 25
    assert metrics.tokens_per_point(900, 60, 300, 57) == 200
    assert metrics.tokens_per_point(900, 57, 300, 57) is None
    assert metrics.tokens_per_point(900, 56, 300, 57) is None
    assert metrics.utility(False, None, 2.0) == 0
    assert metrics.utility(False, 0.5) == 0
    assert metrics.entropy_share([3, 1]) == pytest.approx(0.8112781244591328)
    assert metrics.entropy_share([3, 0, 1]) == pytest.approx(0.8112781244591328 / 1.584962500721156)
    assert metrics.entropy_share([4, 0]) == 0.0
