"""Policies beside each other on one data set: who wins where, at what cost, and what experience brings.

Source: design/evaluation.md#metrics; MC² figures 1 and 3; Meta-Reasoner figure 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import accumulate, combinations, permutations
from typing import Any

from schemas.events.episode import Recalled
from streams.research.analysis.mechanisms import advised, mean_by_arm, pulls
from streams.research.analysis.statistics import mcnemar, pareto, slope
from streams.research.bench.cells import NotMeasured, Told, gain
from streams.research.bench.metrics import METRICS, known
from streams.research.bench.results import Episode, Results, by_seed, rates

Groups = dict[str, list[Episode]]
"""Episodes by run, on one data set."""


def mcnemar_matrix(groups: Groups) -> dict[str, Any]:
    """For each two runs: problems only one of them solved (in most seeds), and the exact p-value.

    ``left_out``: problems of both that are not graded in both.
    """
    solved = {run: {p: rate > 0.5 for p, rate in rates(g).items()} for run, g in groups.items()}
    put = {run: {one.case.about for one in group} for run, group in groups.items()}
    rows: dict[str, dict[str, Any]] = {}
    # In both directions, although they say the same: a reader looks a run up by its row.
    for one, other in permutations(groups, 2):
        a, b = solved[one], solved[other]
        both = a.keys() & b.keys()
        wins, losses = sum(a[p] and not b[p] for p in both), sum(b[p] and not a[p] for p in both)
        rows.setdefault(one, {})[other] = {
            "wins": wins,
            "losses": losses,
            "p": round(mcnemar(wins, losses), 9),
            "left_out": len((put[one] & put[other]) - both),
        }
    return rows


GAINS = ("accuracy", "calls", "tokens")
"""What is told of a pair: how much more of it one run has than the other, problem by problem."""


def paired(groups: Groups) -> list[dict[str, Any]]:
    """Each two runs once, the later less the earlier: what it gains, and the exact test in both directions.

    ``only_run`` and ``only_over`` count the problems that just one of them solved; ``p`` is McNemar's exact
    two-sided value of these two counts. A gain is nothing where no problem has it known on both sides.
    """
    tests = mcnemar_matrix(groups)
    found: list[dict[str, Any]] = []
    for over, run in combinations(groups, 2):
        gains: dict[str, Told | None] = dict.fromkeys(GAINS)
        for name in GAINS:
            with suppress(NotMeasured):
                gains[name] = gain(name, groups[run], groups[over])
        test = tests[run][over]
        found.append(
            {
                "run": run,
                "over": over,
                **gains,
                "only_run": test["wins"],
                "only_over": test["losses"],
                "p": test["p"],
                "left_out": test["left_out"],
            }
        )
    return found


def frontier(groups: Groups, cost: str) -> list[dict[str, Any]]:
    """Each run's accuracy at its cost (calls, tokens), over which shares, and whether no other run beats it."""
    sure: list[dict[str, Any]] = []
    for run, group in groups.items():
        cases = [one.case for one in group]
        paid, right = METRICS[cost].found(cases), METRICS["accuracy"].found(cases)
        # A run whose cost is unknown beats nobody and
        # is beaten by nobody; it stands in no frontier.
        if paid.value is not None and right.value is not None:
            covered = METRICS["coverage"].of(cases) or 0.0
            said = {cost: paid.value, "accuracy": right.value, "coverage": covered}
            told: dict[str, Any] = {name: round(value, 6) for name, value in said.items()}
            sure.append({"run": run, **told, "unknown": paid.unknown, "problems": len(cases)})
    best = pareto([(each[cost], each["accuracy"]) for each in sure])
    return [{**each, "best": good} for each, good in zip(sure, best, strict=True)]


# ── Does experience help? ────────────────────────────────────────────────────────────────────


def progress(group: Sequence[Episode], key: Callable[[Episode], int]) -> dict[str, Any] | None:
    """Accuracy and restarts by batch or pass, with the slopes of both; nothing where there is but one."""
    parts: dict[int, list[Episode]] = {}
    for one in group:
        parts.setdefault(key(one), []).append(one)
    if len(parts) < 2:
        return None
    points: list[dict[str, Any]] = []
    for number in sorted(parts):
        cases = [one.case for one in parts[number]]
        found = {name: METRICS[name].of(cases) for name in ("accuracy", "restarts", "calls")}
        rounded = {name: None if v is None else round(v, 6) for name, v in found.items()}
        counts = {"at": number, "problems": len(cases), "graded": len(known(cases))}
        points.append({**counts, **rounded})
    return {
        "points": points,
        "accuracy": _trend(points, "accuracy"),
        "restarts": _trend(points, "restarts"),
    }


def _trend(points: Sequence[dict[str, Any]], name: str) -> dict[str, float] | None:
    """Points of accuracy a step, and how likely so steep a line is where nothing changes."""
    # A batch that nobody graded has no accuracy, and
    # leaves a hole: a 0 in its place would bend the line.
    sure = [(point["at"], point[name]) for point in points if point[name] is not None]
    found = slope([float(x) for x, _ in sure], [y for _, y in sure])
    return None if found is None else {k: round(v, 9) for k, v in asdict(found).items()}


def batch_of(one: Episode) -> int:
    """The batch that an episode belonged to, from 1: it could know what those before it left."""
    return one.case.opened.memory_version + 1


# ── Memory ───────────────────────────────────────────────────────────────────────────────────


# What these learned are arms and beliefs, which are asked for as they are and not by likeness.
BELIEVING = frozenset(
    {"meta_reasoner", "cascade", "mgv_flavell", "mgv_acquisition", "mgv_retrieval"}
)


def recalls(group: Sequence[Episode]) -> dict[str, int] | None:
    """Episodes that asked their memory for items, and those of them in which it held one for the problem.

    Nothing where none asked. Where it held nothing, a run with experience is the one without, once more.
    """
    asked = [
        [event for _, event in one.case.trace.events if isinstance(event, Recalled)]
        for one in group
        if one.case.opened.policy not in BELIEVING
    ]
    came = [any(event.items for event in events) for events in asked if events]
    return {"asked": len(came), "found": sum(came)} if came else None


# ── Arms ─────────────────────────────────────────────────────────────────────────────────────


def arms(group: Sequence[Episode]) -> dict[str, Any] | None:
    """Arms, by what was meant, with pulls and mean reward; cumulative reward; regret against the best at last.

    Rewards of other arms in the same place are unknown, so this is the regret against always having
    earned the best arm's mean: an estimate, and no more. ``unknown`` pulls brought no reward that could be
    read, and are in neither.
    """
    taken = [pull for one in group for pull in pulls(one.case)]
    sure = [(arm, reward) for arm, reward in taken if reward is not None]
    if not sure:
        return None
    means, pulled = mean_by_arm(sure), Counter(arm for arm, _ in sure)
    best, earned = max(means.values()), [reward for _, reward in sure]
    return {
        "arms": {arm: {"pulls": pulled[arm], "mean": round(m, 6)} for arm, m in means.items()},
        "unknown": len(taken) - len(sure),
        "cumulative_reward": [round(value, 6) for value in accumulate(earned)],
        "regret": [round(value, 6) for value in accumulate(best - reward for reward in earned)],
    }


def reward_curve(group: Sequence[Episode]) -> list[float]:
    """The cumulative reward of the rounds with advice, in the order of the problems, over seeds' mean.

    One round after another, as the bandit meets them: an episode that needs more rounds has no more reward a
    round for that. Up to where every seed has come. Source: Meta-Reasoner eq. (1), figure 3.
    """
    curves = [
        list(accumulate(r for one in mine for _, r in advised(one.case) if r is not None))
        for _, mine in by_seed(group)
    ]
    return [round(sum(at) / len(at), 6) for at in zip(*curves, strict=False)]


def by_data(results: Results) -> dict[str, Groups]:
    """First passes by data set and run; a run without a closed episode, or of side runs, is left out."""
    found: dict[str, Groups] = {}
    for (run, data), group in results.groups.items():
        first = [one for one in group if one.cell.walk == 1]
        # Later passes know the problems, and side runs answer with what another run found.
        if first and run not in results.beside:
            found.setdefault(data, {})[run] = first
    return found
