"""Rewards, process value, fusion, the earliest low step and the selection score, exact where they decide.

Source: CoT2-Meta § 2.3, § B.1; design/cot2_meta.md D6, D8.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

from handlers.learning.elementary import log
from handlers.policies.cot2_meta.settings import Cot2Settings, exact
from handlers.roles.oracle import Score, Scores


def reward(scores: Scores, settings: Cot2Settings) -> Score:
    """r_i = 0.2 Sem + 0.5 Log + 0.3 Fix; none where nothing of it is known (D6, D8)."""
    # A weighted sum of floats may fall a bit short of a threshold that it meets. So everything is a
    # fraction until a score is ranked.
    weights = tuple(map(exact, settings.step_weights))
    if settings.defaulted == "zero":
        semantic, logical, fixed = (score or Fraction(0) for score in scores)
        scores = (semantic, logical, fixed)
    whole = _weighted(weights, scores)
    if settings.fix_absent == "zero" or whole is None:
        return whole
    # A step without a fault earns nothing for mending: whichever is better for it counts (D6).
    without = _weighted(weights[:2], scores[:2])
    return whole if without is None else max(whole, without)


def _weighted(weights: Sequence[Fraction], scores: Sequence[Score]) -> Score:
    known = [(w, score) for w, score in zip(weights, scores, strict=True) if score is not None]
    total = sum((w for w, _ in known), Fraction(0))
    return sum((w * score for w, score in known), Fraction(0)) / total if total else None


def stated(score: Score) -> float | None:
    """A score as facts hold it: they are told in floats, decisions are made on fractions."""
    return None if score is None else float(score)


def process_value(rewards: Sequence[Score]) -> Score:
    """v_proc = mean r_i over what is known."""
    known = [r for r in rewards if r is not None]
    return sum(known, Fraction(0)) / len(known) if known else None


def fuse(v_out: Score, v_proc: Score, settings: Cot2Settings) -> Fraction:
    """v = λ v_out + (1 − λ) v_proc; of one alone that one, of neither 0."""
    if settings.defaulted == "zero":
        v_out = v_out or Fraction(0)
        v_proc = v_proc if v_proc is not None or not settings.evaluator else Fraction(0)
    if v_out is None or v_proc is None:
        return next((v for v in (v_out, v_proc) if v is not None), Fraction(0))
    share = exact(settings.outcome_share)
    return share * v_out + (1 - share) * v_proc


def earliest_low(rewards: Sequence[Score], settings: Cot2Settings) -> int | None:
    """i* = min{i : r_i < θ_health}, from 1; none where every step is healthy."""
    floor = exact(settings.health_threshold)
    return next((at for at, r in enumerate(rewards, 1) if r is not None and r < floor), None)


def lowest(rewards: Sequence[Score]) -> int | None:
    """The step of the lowest reward, the first of equals."""
    known = [(r, at) for at, r in enumerate(rewards, 1) if r is not None]
    return min(known)[1] if known else None


def selection_score(value: Fraction | float, visits: int, selections: int, beta: float) -> float:
    """Score(n) = v(n) + β √(ln(N+1) / (vis(n)+1)), rounded to 1e-9."""
    return round(float(value) + beta * sqrt(log(selections + 1) / (visits + 1)), 9)
