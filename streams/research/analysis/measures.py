"""Measures of every episode: whether it is right, what it spent, and how sure it was of its answer.

Recipes and analyses print these figures from here: each has one implementation.

Source: design/evaluation.md#metrics; CoT2-Meta § H.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from handlers.learning import metrics
from streams.research.analysis.calibrated import Stated
from streams.research.analysis.cases import RIGHT
from streams.research.analysis.found import (
    Cases,
    Found,
    Measure,
    Metric,
    Unit,
    by_problem,
    each,
    share_of,
)
from streams.research.analysis.intervals import ratio_interval
from streams.research.analysis.statistics import area_worth, auroc

# ── Outcomes and cost ────────────────────────────────────────────────────────────────────────

right = each(lambda case: RIGHT.get(case.outcome))
"""Each answer: whether it is right; one that was withheld is not."""


def spent(name: str) -> Callable[[Cases], Iterator[Unit]]:
    """Each episode's sum; unknown where any of its calls came without."""
    return lambda cases: iter(each(lambda case: getattr(case.closed.usage, name))(cases))


def _efficiency(cases: Cases) -> Found:
    """Points of accuracy for each thousand tokens of a problem."""
    # Both sides have one unit for each case, in the same order, known or not. Two means of other cases
    # on either side would be the ratio of two data sets.
    pairs = zip(right(cases), spent("tokens")(cases), strict=True)
    every = [(point.problem, point.value, cost.value) for point, cost in pairs]
    both = [(p, a, b) for p, a, b in every if a is not None and b is not None]
    known, unknown = len(both), len(every) - len(both)
    points = fmean(a for _, a, _ in both) if both else 0.0
    tokens = fmean(b for _, _, b in both) if both else 0.0
    if not tokens:
        return Found(None, known, unknown)
    found = metrics.per_thousand_tokens(100 * points, tokens)
    worth = tuple(  # of a ratio of two means: what each moves it by
        Unit(problem, found * (1 + (a - points) / points - (b - tokens) / tokens))
        for problem, a, b in both
        if points
    )
    return Found(found, known, unknown, worth=worth)


@dataclass(frozen=True, slots=True)
class Price:
    """Tokens for each point over another run: of the problems that are known on both sides.

    ``value`` is unknown where nothing was gained.
    """

    value: float | None
    interval: tuple[float, float] | None
    known: int
    unknown: int


def tokens_per_point(mine: Cases, other: Cases) -> Price:
    """Tokens spent over another run for each point of accuracy over it, problem by problem."""
    sides = [(by_problem(spent("tokens")(side)), by_problem(right(side))) for side in (mine, other)]
    # Problem by problem, and only what is known of both: a mean over other problems on one side
    # would be the difference of two data sets.
    every = set[str]().union(*(by for side in sides for by in side))
    both: list[tuple[float, float]] = []
    for problem in sorted(every):
        found = [by.get(problem) for side in sides for by in side]
        known = [value for value in found if value is not None]
        if len(known) == len(found):
            tokens, mean, base, level = known
            both.append((tokens - base, 100 * (mean - level)))
    counts = len(both), len(every) - len(both)
    if not both:
        return Price(None, None, *counts)
    more, gained = (fmean(pair[at] for pair in both) for at in (0, 1))
    value = metrics.tokens_per_point(more, gained, 0.0, 0.0)
    return Price(value, None if value is None else ratio_interval(both), *counts)


# ── Confidence ───────────────────────────────────────────────────────────────────────────────


def stated(cases: Cases) -> tuple[list[Stated], int]:
    """The answers that have confidence and outcome, in the order of episode ids; how many lack one."""
    # A withheld answer's confidence is about an answer that nobody was given.
    given = [case for case in cases if case.closed.answer is not None]
    items = [
        (case.about, case.closed.confidence, case.outcome == "right")
        for case in sorted(given, key=lambda case: case.episode)
        if case.closed.confidence is not None and case.outcome in ("right", "wrong")
    ]
    return items, len(given) - len(items)


def calibration(items: Sequence[Stated], unknown: int) -> Found:
    """The calibration error of values with their problems and kinds; unknown of none."""
    error = metrics.ece(_pairs(items)) if items else None
    return Found(error, len(items), unknown, stated=tuple(items))


def squared(items: Sequence[Stated], unknown: int) -> Found:
    """The mean squared distance of confidence and outcome."""
    units = tuple(Unit(problem, metrics.brier([(said, true)])) for problem, said, true in items)
    mean = metrics.brier(_pairs(items)) if items else None
    return Found(mean, len(items), unknown, units)


def risk(items: Sequence[Stated], unknown: int) -> Found:
    """The area under risk and coverage, with what each answer is worth to it; ties in the order given."""
    pairs = _pairs(items)
    worth = tuple(
        Unit(item[0], value) for item, value in zip(items, metrics.aurc_worth(pairs), strict=True)
    )
    return Found(metrics.aurc(pairs) if pairs else None, len(pairs), unknown, worth=worth)


def area(items: Sequence[Stated], unknown: int) -> Found:
    """The ROC area of scores with their problems and kinds; unknown where one kind is missing."""
    scores, kinds = [score for _, score, _ in items], [kind for *_, kind in items]
    if (found := auroc(scores, kinds)) is None:
        return Found(None, len(items), unknown)
    worth = zip(items, area_worth(scores, kinds), strict=True)
    return Found(
        found, len(items), unknown, worth=tuple(Unit(p, value) for (p, *_), value in worth)
    )


def _pairs(items: Sequence[Stated]) -> list[tuple[float, bool]]:
    return [(said, true) for _, said, true in items]


def of_answers(measure: Callable[[Sequence[Stated], int], Found]) -> Measure:
    """The same of all answers that have confidence and outcome."""

    def measured(cases: Cases) -> Found:
        return measure(*stated(cases))

    return measured


# ── By name ──────────────────────────────────────────────────────────────────────────────────

ACCURACY = share_of("right answers, %", right)
COVERAGE = share_of("graded, %", each(lambda case: case.outcome != "unknown"))
EFFICIENCY = Metric("points per 1K tokens", _efficiency)
ECE = Metric("expected calibration error", of_answers(calibration), 3)
BRIER = Metric("Brier score", of_answers(squared), 3, bounded=True)
AURC = Metric("area under risk and coverage", of_answers(risk), 3, bounded=True)
AUROC = Metric("ROC area of confidence", of_answers(area), 3, bounded=True)
