"""Calibrators: from a stated confidence to the chance of being right, learned from grades.

None under 30 labels, Platt scaling up to 200, isotonic regression above. Neither falls: who says more is never
given less. All arithmetic is plain, in a fixed order, so that the same grades give the same numbers everywhere.

Source: design/vocabulary.md#confidence; Platt 1999; pool adjacent violators.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from handlers.learning.elementary import exp, log
from handlers.learning.metrics import Pairs
from schemas.memory import FIRST_RULE, Labels

# Few labels fit only a curve of few parameters: two numbers up to ``MOST_PLATT`` labels, free
# steps above, once there are enough to place them. Below ``LEAST`` either would tell of chance,
# not of the policy. Labels are sorted before they are fitted, so that the order in which grades
# came in changes nothing.

RULE = "platt-isotonic@2"
"""What calibrates, as ``name@version``: batches pin it. Under 1 a curve of Platt's could fall."""
RULES = frozenset({FIRST_RULE, RULE})
"""What calibrated in builds so far: a batch keeps the one that it was closed under."""
LEAST = 30
"""Labels below which there is no calibrator."""
MOST_PLATT = 200
EDGE = 1e-6
DIGITS = 6
_TURNS, _RIDGE, _CLOSE = 100, 1e-9, 1e-14


@dataclass(frozen=True, slots=True)
class Platt:
    """σ(slope · logit(c) + offset)."""

    slope: float
    offset: float

    def __call__(self, confidence: float) -> float:
        """The calibrated confidence."""
        return sigmoid(self.slope * logit(confidence) + self.offset)


@dataclass(frozen=True, slots=True)
class Isotonic:
    """Rising steps through these points, straight between them."""

    points: tuple[tuple[float, float], ...]

    def __call__(self, confidence: float) -> float:
        """The calibrated confidence."""
        xs = [x for x, _ in self.points]
        at = bisect_left(xs, confidence)
        if at == len(xs):
            return self.points[-1][1]
        (right, high) = self.points[at]
        if at == 0 or right == confidence:
            return high
        left, low = self.points[at - 1]
        return low + (high - low) * (confidence - left) / (right - left)


Calibrator: TypeAlias = Platt | Isotonic


def fit(pairs: Pairs) -> Calibrator | None:
    """The calibrator that so many labels allow; none while there are too few of them."""
    if len(pairs) < LEAST:
        return None
    return platt(pairs) if len(pairs) <= MOST_PLATT else isotonic(pairs)


def rising(pairs: Pairs) -> Calibrator | None:
    """The calibrator that so many labels allow, and none that falls: where Platt's would, the share that was right.

    On a few dozen labels chance alone turns a curve round now and then, and who trusts the surest answers would be
    led to the least sure. The maximum likelihood among curves that do not fall has then slope 0. One confidence
    alone says nothing of a slope, and has none either.
    """
    made = fit(pairs)
    if not isinstance(made, Platt) or (made.slope >= 0 and len({c for c, _ in pairs}) > 1):
        return made
    rights = sum(right for _, right in pairs)
    high, low = _targets(rights, len(pairs))
    return Platt(0.0, logit((rights * high + (len(pairs) - rights) * low) / len(pairs)))


@lru_cache(maxsize=64)
def calibrators(labels: Labels) -> Mapping[tuple[str, ...], Calibrator | None]:
    """The calibrator of each key, by all labels that a memory version holds."""
    pairs: dict[tuple[str, ...], list[tuple[float, bool]]] = {}
    for label in sorted(labels):
        if label.right is not None:
            pairs.setdefault(label.key, []).append((label.confidence, label.right))
    made = fit if labels.rule == FIRST_RULE else rising
    return {key: made(known) for key, known in pairs.items()}


def calibrated(labels: Labels | None, key: tuple[str, ...], confidence: float) -> float | None:
    """The chance of being right that a stated confidence stands for; none until enough labels came."""
    if labels is None:
        return None
    calibrator = calibrators(labels).get(key)
    return None if calibrator is None else round(calibrator(confidence), DIGITS)


def logit(confidence: float) -> float:
    """Log-odds, kept off both ends."""
    kept = min(1 - EDGE, max(EDGE, confidence))
    return log(kept / (1 - kept))


def sigmoid(value: float) -> float:
    """1 / (1 + e^-value) without overflow."""
    small = exp(-abs(value))
    return 1 / (1 + small) if value >= 0 else small / (1 + small)


def platt(pairs: Pairs) -> Platt:
    """Maximum likelihood by Newton's method, with Platt's smoothed targets."""
    high, low = _targets(sum(right for _, right in pairs), len(pairs))
    odds = {c: logit(c) for c in {c for c, _ in pairs}}
    points = [(odds[c], high if right else low) for c, right in pairs]
    slope, offset = 1.0, 0.0
    for _ in range(_TURNS):
        step = _newton(points, slope, offset)
        slope, offset = slope - step[0], offset - step[1]
        if max(map(abs, step)) < _CLOSE:
            break
    return Platt(slope, offset)


def _targets(rights: int, labels: int) -> tuple[float, float]:
    """What Platt has a curve aim at for right and for wrong answers: short of 1 and 0, by how many there are."""
    return (rights + 1) / (rights + 2), 1 / (labels - rights + 2)


def _newton(
    points: Sequence[tuple[float, float]], slope: float, offset: float
) -> tuple[float, float]:
    """One step, at most of length 1 in each part."""
    # Equal confidences make the matrix singular: the ridge, or else a step of the offset alone,
    # goes on even so. The bound keeps a step on a flat stretch from leaping far beyond the end.
    ga = gb = 0.0
    aa, ab, bb = _RIDGE, 0.0, _RIDGE
    # Confidences are often shares of a few votes, and each takes an exact power: once for all that are equal.
    chances = {x: sigmoid(slope * x + offset) for x in {x for x, _ in points}}
    for x, target in points:
        p = chances[x]
        weight = p * (1 - p)
        ga, gb = ga + (p - target) * x, gb + (p - target)
        aa, ab, bb = aa + weight * x * x, ab + weight * x, bb + weight
    determinant = aa * bb - ab * ab
    if determinant <= 0:
        return 0.0, max(-1.0, min(1.0, gb / bb))
    moves = ((bb * ga - ab * gb) / determinant, (aa * gb - ab * ga) / determinant)
    return max(-1.0, min(1.0, moves[0])), max(-1.0, min(1.0, moves[1]))


def isotonic(pairs: Pairs) -> Isotonic:
    """Least squares among rising functions: neighbours that fall are pooled."""
    # Equal confidences are one point from the start: a step must not fall apart where
    # x does not move.
    counts: dict[float, list[int]] = {}  # rights, labels
    for x, right in sorted(pairs):
        found = counts.setdefault(x, [0, 0])
        found[0] += right
        found[1] += 1
    blocks: list[tuple[int, int, float, float]] = []  # rights, labels, first x, last x
    for x, (rights, labels) in counts.items():
        blocks.append((rights, labels, x, x))
        while len(blocks) > 1:
            one, other = blocks[-2:]
            # Shares are compared by cross products of whole numbers: no rounding
            # decides what is pooled.
            if one[0] * other[1] < other[0] * one[1]:
                break
            blocks[-2:] = [(one[0] + other[0], one[1] + other[1], one[2], other[3])]
    ends = [(x, rights / labels) for rights, labels, a, b in blocks for x in dict.fromkeys((a, b))]
    return Isotonic(tuple(ends))
