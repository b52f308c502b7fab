"""A cell of a paper's table: our figure on one data set or a mean over several, alone or against other runs.

A difference is taken problem by problem, over those that are known on both sides; so is its interval. Where
one of several data sets is not here, their mean is not measured: a mean over others is another figure.

Source: Bonett & Price 2012 (differences of shares); Zou & Donner 2008 (means of several).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, sqrt
from statistics import NormalDist, fmean
from typing import Any

from streams.research.analysis.found import by_problem
from streams.research.analysis.intervals import mean_interval
from streams.research.analysis.measures import tokens_per_point
from streams.research.analysis.statistics import design_effect, mcnemar, t_half_width
from streams.research.bench.metrics import METRICS
from streams.research.bench.plan import Source, waits_for
from streams.research.bench.recipe import COMPARED, P_VALUE, TOKENS_PER_POINT, Place, Recipe
from streams.research.bench.results import Episode, Results, by_seed, measured, rates

Told = dict[str, Any]


class NotMeasured(Exception):
    """There is no figure of ours; says why."""


def ours(
    place: Place, recipe: Recipe, results: Results, sources: Mapping[str, Source]
) -> dict[str, Any]:
    """Our figure, or why there is none. What stands in for a data set is never its figure."""
    try:
        if (why := hindrance(place, recipe, results, sources)) is not None:
            raise NotMeasured(why)
        found = [_of_one(part, results) for part in place.parts]
        return {"ours": _mean(found) if place.over else found[0], "why": ""}
    except NotMeasured as why:
        return {"ours": None, "why": f"not measured: {why}"}


def hindrance(
    place: Place, recipe: Recipe, results: Results, sources: Mapping[str, Source]
) -> str | None:
    """Why there can be no figure, whatever is run; nothing where there can."""
    if not place.runs or not place.parts or any(part.metric is None for part in place.parts):
        return "nothing in this build measures it"
    # Before anything is run, and in this order, for a forecast prints the reason: what this build
    # lacks, what a run learns from, and what it would be measured on.
    for run in place.runs:
        if recipe.runs[run].policy in results.absent:
            return f"no policy {recipe.runs[run].policy} in this build"
        if (away := waits_for(recipe, sources, run, itself=True)) is not None:
            return f"{away}, which it learns from, is not here"
    for part in place.parts:
        if sources[part.data or ""].read is None or sources[part.data or ""].stands_in:
            return f"{part.data} is not here"
    return None


def _of_one(place: Place, results: Results) -> Told:
    assert place.metric is not None
    mine = _strongest(
        [results.chosen(place.by(run)) for run in place.best_of or (place.run or "",)], place.metric
    )
    if not place.less:
        if place.metric in COMPARED:
            raise NotMeasured("it compares a run with another, and none is named")
        if (found := measured(place.metric, mine)) is None:
            raise NotMeasured("nothing to measure it on")
        return found
    # A row that compares each run with the strongest has a cell for the strongest itself.
    others = [run for run in place.less if run != place.run]
    if not others:
        raise NotMeasured("it is what the others are compared with")
    sides = [results.chosen(place.by(run)) for run in others]
    if place.metric == P_VALUE:
        return _p_value(mine, _strongest(sides, P_VALUE))
    if place.metric == TOKENS_PER_POINT:
        other = _strongest(sides, TOKENS_PER_POINT)
        price = tokens_per_point(*([one.case for one in side] for side in (mine, other)))
        if not price.known:
            raise NotMeasured("nothing to compare it on")
        if price.value is None:
            raise NotMeasured("nothing was gained")
        counts = price.known, price.unknown
        return _told(price.value, price.interval, None, counts, 0, len(by_seed(mine)))
    return gain(place.metric, mine, _strongest(sides, place.metric))


def _strongest(sides: Sequence[Sequence[Episode]], metric: str) -> Sequence[Episode]:
    """The run with the highest figure; the one alone, however it did."""
    if len(sides) == 1:
        return sides[0]
    by = "accuracy" if metric in COMPARED else metric
    each = [(found["value"], side) for side in sides if (found := measured(by, side))]
    # The strongest of those that are known may not be
    # the strongest: without one there is no maximum.
    if len(each) < len(sides):
        raise NotMeasured("one of the runs that it is compared with has no figure")
    return max(each, key=lambda one: one[0])[1]


# ── Against another run ──────────────────────────────────────────────────────────────────────


def gain(metric: str, mine: Sequence[Episode], other: Sequence[Episode]) -> Told:
    """The mean difference over problems that are known on both sides, with how many are not."""
    asked = METRICS[metric]
    pairs, left_out = _paired(metric, mine, other)
    if not pairs:
        raise NotMeasured("nothing to compare it on")
    # Once over all seeds for the difference and its interval,
    # and once by seed for the spread that papers print behind ±.
    theirs = dict(by_seed(other))
    seeds = [_paired(metric, own, theirs.get(seed, []))[0] for seed, own in by_seed(mine)]
    values = list(pairs.values())
    spread = (
        _share_spread(values, seeds) if asked.share else mean_interval([(d, 1) for d in values])
    )
    known = [fmean(each.values()) for each in seeds if each]
    return _told(
        asked.scale * fmean(values),
        spread and (asked.scale * spread[0], asked.scale * spread[1]),
        t_half_width([asked.scale * each for each in known]),
        (len(values), left_out),
        asked.places,
        len(known),
    )


def _paired(
    metric: str, mine: Sequence[Episode], other: Sequence[Episode]
) -> tuple[dict[str, float], int]:
    """How much more it is on each problem that is known on both sides, and how many others there are."""
    left, right = (
        by_problem(METRICS[metric].found([one.case for one in side]).units)
        for side in (mine, other)
    )
    both = {problem: (left[problem], right[problem]) for problem in left.keys() & right.keys()}
    # Sorted, so that sums are added up in one order and a resumed bench prints the same last digit.
    found = {at: a - b for at, (a, b) in sorted(both.items()) if a is not None and b is not None}
    return found, len(left.keys() | right.keys()) - len(found)


def _share_spread(
    pairs: Sequence[float], seeds: Sequence[Mapping[str, float]]
) -> tuple[float, float]:
    """As ``paired_interval``, where a problem's difference may be a share over seeds.

    One pair more on each side is one of a single seed's: it weighs as much less than a problem's mean as the
    seeds of a problem tell more together than one of them alone.
    """
    each: dict[str, list[float]] = {}
    for problem, value in (item for seed in seeds for item in seed.items()):
        each.setdefault(problem, []).append(value)
    most = max(map(len, each.values()), default=1)
    weight = design_effect(each.values()) / most if each else 1.0
    count = len(pairs) + 2 * weight
    middle = fsum(pairs) / count
    square = fsum((d - middle) ** 2 for d in pairs)
    square += weight * weight * ((1 - middle) ** 2 + (1 + middle) ** 2)
    half = NormalDist().inv_cdf(0.975) * sqrt(square) / count
    return max(middle - half, -1.0), min(middle + half, 1.0)


def _p_value(mine: Sequence[Episode], other: Sequence[Episode]) -> Told:
    """McNemar's exact test over problems that most seeds solved."""
    one, two = rates(mine), rates(other)
    both = one.keys() & two.keys()
    # A problem that half of the seeds solved counts as not solved: McNemar's test knows yes and no.
    wins = sum(one[p] > 0.5 >= two[p] for p in both)
    losses = sum(two[p] > 0.5 >= one[p] for p in both)
    if not both:
        raise NotMeasured("nothing to compare it on")
    put = {o.case.about for o in (*mine, *other)}
    return _told(mcnemar(wins, losses), None, None, (len(both), len(put) - len(both)), 4, 1)


# ── Means of columns ─────────────────────────────────────────────────────────────────────────


def _mean(found: Sequence[Told]) -> Told:
    """The unweighted mean of several figures, each of other problems."""
    value = fmean(each["value"] for each in found)
    bounds = [(each["value"], each["interval"]) for each in found]
    spread = None
    if all(interval is not None for _, interval in bounds):
        # The parts are independent of each other: their distances to either end add up by squares,
        # each end by itself, because intervals of shares are lopsided.
        low, high = (
            sqrt(fsum((own - interval[at]) ** 2 for own, interval in bounds)) / len(bounds)
            for at in (0, 1)
        )
        spread = value - low, value + high
    sure = [each["half_width"] for each in found if each["half_width"] is not None]
    half = sqrt(fsum(each * each for each in sure)) / len(sure) if len(sure) == len(found) else None
    return _told(
        value,
        spread,
        half,
        (sum(each["known"] for each in found), sum(each["unknown"] for each in found)),
        found[0]["places"],
        min(each["seeds"] for each in found),
    )


def _told(
    value: float,
    interval: tuple[float, float] | None,
    half: float | None,
    counts: tuple[int, int],
    places: int,
    seeds: int,
) -> Told:
    """A figure as ``measured`` tells one."""
    return {
        "value": round(value, 6),
        "half_width": None if half is None else round(half, 6),
        "interval": None if interval is None else tuple(round(bound, 6) for bound in interval),
        "known": counts[0],
        "unknown": counts[1],
        "seeds": seeds,
        "seeds_unknown": 0,
        "problems": counts[0],
        "places": places,
    }
