"""Calibration and efficiency, pure: what confidences and outcomes say of each other.

Each function takes confidences in [0, 1] and whether the answers were right, in the same order.

Source: design/evaluation.md#metrics; CoT2-Meta § H.1 (15 equal-width bins);
design/cot2_meta.md D10 (AURC), D14 (utility).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, fsum
from typing import TypeAlias

from handlers.learning.elementary import log

# All sums are ``fsum`` and all logarithms our own: reports are compared to the last
# digit between machines.
BINS = 15
Pairs: TypeAlias = Sequence[tuple[float, bool]]
"""A confidence and whether the answer was right."""


def accuracy(right: Sequence[bool]) -> float:
    """Share of right answers; 0 of none."""
    return sum(right) / len(right) if right else 0.0


def bins(pairs: Pairs, count: int = BINS) -> list[tuple[int, float, float]]:
    """Per equal-width bin: how many, mean confidence, share right; empty bins are (0, 0, 0)."""
    found: list[list[tuple[float, bool]]] = [[] for _ in range(count)]
    for confidence, right in pairs:
        # A confidence of 1 would open a bin of its own; it belongs to the last.
        found[min(int(confidence * count), count - 1)].append((confidence, right))
    return [
        (len(each), fsum(c for c, _ in each) / len(each), accuracy([r for _, r in each]))
        if each
        else (0, 0.0, 0.0)
        for each in found
    ]


def ece(pairs: Pairs, count: int = BINS) -> float:
    """Expected calibration error."""
    if not pairs:
        return 0.0
    parts = (size * abs(right - mean) for size, mean, right in bins(pairs, count))
    return fsum(parts) / len(pairs)


def brier(pairs: Pairs) -> float:
    """Mean squared distance of confidence and outcome."""
    return fsum((c - right) * (c - right) for c, right in pairs) / len(pairs) if pairs else 0.0


def risk_coverage(pairs: Pairs) -> list[tuple[float, float]]:
    """(k/n, error among the k most confident), ties in the order given."""
    order = sorted(range(len(pairs)), key=lambda at: -pairs[at][0])
    wrong = 0
    curve: list[tuple[float, float]] = []
    for k, at in enumerate(order, 1):
        wrong += not pairs[at][1]
        curve.append((k / len(pairs), wrong / k))
    return curve


def aurc(pairs: Pairs) -> float:
    """Mean over k of the error among the k most confident. Order ``pairs`` by id: ties fall so."""
    curve = risk_coverage(pairs)
    return fsum(risk for _, risk in curve) / len(curve) if curve else 0.0


def aurc_worth(pairs: Pairs) -> list[float]:
    """What each pair is worth to ``aurc``: their mean is that, and their spread is its own (its influence).

    With risks R_k, the k-th most confident is worth R_k + Σ_{j ≥ k} (wrong_k − R_j) / j.
    """
    curve, worth, total = risk_coverage(pairs), [0.0] * len(pairs), 0.0
    order = sorted(range(len(pairs)), key=lambda at: -pairs[at][0])
    places = 0.0
    for k in range(len(pairs), 0, -1):
        at, risk = order[k - 1], curve[k - 1][1]
        places += 1 / k
        total += risk / k
        worth[at] = risk + (not pairs[at][1]) * places - total
    # The mean of the worths comes near the figure, but not to it; the shift makes it so, so that an
    # interval made of them lies around the figure.
    shift = aurc(pairs) - fsum(worth) / len(pairs) if pairs else 0.0
    return [value + shift for value in worth]


def selective_accuracy(pairs: Pairs, coverage: float) -> float:
    """Accuracy among the most confident share of answers."""
    kept = max(1, round(coverage * len(pairs)))
    order = sorted(range(len(pairs)), key=lambda at: -pairs[at][0])[:kept]
    return accuracy([pairs[at][1] for at in order])


def utility(
    right: bool | None, confidence: float | None, overconfidence_cost: float = 0.0
) -> float:
    """1 if right, 0 if withheld (none), −κ·confidence if wrong. Source: CoT2-Meta eq. U; D14."""
    if right is None:
        return 0.0
    return 1.0 if right else -overconfidence_cost * (confidence or 0.0)


# ── Efficiency and samples ───────────────────────────────────────────────────────────────────


def per_thousand_tokens(points: float, tokens: float) -> float:
    """Accuracy points per thousand tokens."""
    return 1_000 * points / tokens


def tokens_per_point(
    tokens: float, points: float, greedy_tokens: float, greedy_points: float
) -> float | None:
    """Tokens spent over greedy for each point gained over it; none where nothing was gained."""
    gained = points - greedy_points
    return (tokens - greedy_tokens) / gained if gained > 0 else None


def any_of_n(right: Sequence[bool], n: int) -> float:
    """Chance that n of these samples, drawn without replacement, hold a right one."""
    wrong = len(right) - sum(right)
    return 1.0 - comb(wrong, n) / comb(len(right), n)


def entropy_share(counts: Sequence[int]) -> float:
    """Entropy of a distribution over its maximum, in [0, 1]; of fewer than two kinds 0."""
    total = sum(counts)
    if total == 0 or len(counts) < 2:
        return 0.0
    parts = (count / total for count in counts if count)
    return -fsum(p * log(p) for p in parts) / log(len(counts))
