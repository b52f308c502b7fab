"""Figures of a run: accuracy, cost, calibration, risk and coverage, errors by kind.

Source: design/evaluation.md#metrics; CoT2-Meta § H.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from handlers.learning import metrics
from handlers.policies.cot2_meta.trace import COLUMNS, calls_by_column
from streams.analysis.cases import Case
from streams.analysis.intervals import share_interval
from streams.analysis.rewards import reward_figures
from streams.analysis.trees import Shadows, tree_figures

COVERAGES = (0.25, 0.5, 0.75, 1.0)
RESAMPLES = 1_000
"""Of each measure's interval."""
MEASURES = {"ece": metrics.ece, "brier": metrics.brier, "aurc": metrics.aurc}


def analysis(cases: Sequence[Case], everything: Sequence[Case], shadows: Shadows) -> dict[str, Any]:
    """Every run's figures by its name; runs with a greedy one beside them are compared with it."""
    runs: dict[str, list[Case]] = {}
    for case in cases:
        runs.setdefault(case.name, []).append(case)
    found = {name: run_figures(each, everything, shadows) for name, each in runs.items()}
    base = next((f for f in found.values() if f["policy"].startswith("greedy@")), None)
    for figures in found.values():
        figures["tokens_per_point"] = _over(figures, base)
    simulated = any("SIMULATED" in case.opened.backbones for case in cases)
    return {"episodes": len(cases), "simulated": simulated, "runs": found}


def run_figures(
    cases: Sequence[Case], everything: Sequence[Case], shadows: Shadows
) -> dict[str, Any]:
    """One run."""
    first = cases[0]
    figures: dict[str, Any] = {
        "policy": f"{first.opened.policy}@{first.opened.policy_version}",
        "profile": first.problem.profile,
        "settings": first.problem.settings,
        "call_limit": first.opened.limits.calls,
        "backbones": first.opened.backbones,
        **(found := outcomes(cases)),
        **costs(cases, found["accuracy"]),
        "confidence": confidences(cases),
    }
    rewards = reward_figures(cases)
    if rewards is not None:
        figures["rewards"] = rewards
    if first.opened.policy == "cot2_meta":
        figures |= tree_figures(cases, everything, shadows)
    return figures


def outcomes(cases: Sequence[Case]) -> dict[str, Any]:
    """Accuracy over all problems whose outcome is known, and which share they are; withheld counts as not right.

    What is unknown is *undecided* (a grader could not tell) or *not graded* (nobody tried).
    """
    counts = Counter(case.standing for case in cases)
    known = [case.outcome == "right" for case in cases if case.outcome != "unknown"]
    judged = judge_figures(cases)
    return {
        "problems": len(cases),
        "right": counts["right"],
        "commission": counts["wrong"],
        "omission": counts["withheld"],
        "unknown": counts["undecided"] + counts["not graded"],
        "undecided": counts["undecided"],
        "not_graded": counts["not graded"],
        "by_person": sum(case.known.by is not None for case in cases),
        "graded": len(known),
        "coverage": len(known) / len(cases) if cases else None,
        "failed": sum(case.closed.status == "failed" for case in cases),
        "accuracy": metrics.accuracy(known) if known else None,
        "accuracy_interval": _spread(cases),
        "ended_by": dict(Counter(case.closed.ended_by for case in cases).most_common()),
        **({} if judged is None else {"judge": judged}),
    }


def judge_figures(cases: Sequence[Case]) -> dict[str, Any] | None:
    """What judges say of what no grader could decide, and the accuracy with it; nothing where none was asked.

    What a judge could not tell stays undecided, and outside of the accuracy.
    """
    found = [
        case.verdict for case in cases if case.standing == "undecided" and case.verdict is not None
    ]
    if not found:
        return None
    said = Counter(each.said for each in found)
    graded = [case.outcome == "right" for case in cases if case.outcome != "unknown"]
    known = [*graded, *[True] * said["right"], *[False] * said["wrong"]]
    return {
        **{name: said[name] for name in ("right", "wrong", "unclear")},
        "accuracy": metrics.accuracy(known) if known else None,
        "coverage": len(known) / len(cases),
        "by": sorted({each.by for each in found}),
    }


def _spread(cases: Sequence[Case]) -> list[float] | None:
    """The accuracy's interval over problems, however often each was put."""
    parts: dict[str, list[float]] = {}
    for case in cases:
        if case.outcome != "unknown":
            parts.setdefault(case.problem.id, []).append(case.outcome == "right")
    found = share_interval([(sum(each), len(each)) for each in parts.values()])
    return None if found is None else [*found]


def costs(cases: Sequence[Case], accuracy: float | None) -> dict[str, Any]:
    """Mean calls and tokens of a problem, calls by what they were for; tokens over the problems of which they
    are known, and how many are not.

    Points are those of the accuracy: what nobody could grade is no wrong answer.
    """
    calls = [case.closed.usage.calls for case in cases]
    tokens = [case.closed.usage.tokens for case in cases]
    known = [each for each in tokens if each is not None]
    mean = sum(known) / len(known) if known else None
    columns: Counter[str] = Counter()
    for case in cases:
        columns.update(calls_by_column(case.trace))
    points = None
    if mean and accuracy is not None:
        points = metrics.per_thousand_tokens(100 * accuracy, mean)
    return {
        "mean_calls": sum(calls) / len(calls),
        "max_calls": max(calls),
        "mean_tokens": mean,
        "tokens_unknown": len(tokens) - len(known),
        "points_per_1k_tokens": points,
        "calls_by_column": {name: columns[name] for name in COLUMNS},
    }


def confidences(cases: Sequence[Case]) -> dict[str, Any]:
    """Calibration by source, raw beside calibrated; ties in the order of episode ids.

    Answers that nobody could grade are in none of it; ``left_out`` says how many.
    """
    found: dict[str, Any] = {}
    left_out: Counter[str] = Counter()
    for case in sorted(cases, key=lambda case: case.episode):
        source, raw = case.closed.confidence_source, case.closed.confidence
        if source is None or raw is None:
            continue
        if case.outcome not in ("right", "wrong"):
            left_out[source] += case.closed.answer is not None
            continue
        right = case.outcome == "right"
        found.setdefault(source, []).append((raw, right))
        if case.calibrated is not None:
            found.setdefault(f"{source}, calibrated", []).append((case.calibrated, right))
    return {
        source: calibration(pairs) | {"left_out": left_out[source.removesuffix(", calibrated")]}
        for source, pairs in found.items()
    }


def calibration(pairs: metrics.Pairs) -> dict[str, Any]:
    """ECE, Brier and AURC with bootstrap intervals, selective accuracy, the curves."""
    figures: dict[str, Any] = {"answers": len(pairs)}
    for name, measure in MEASURES.items():
        figures[name] = measure(pairs)
        figures[f"{name}_interval"] = list(metrics.of_pairs(pairs, measure, resamples=RESAMPLES))
    figures["selective_accuracy"] = {
        f"{coverage:g}": metrics.selective_accuracy(pairs, coverage) for coverage in COVERAGES
    }
    figures["risk_coverage"] = [list(point) for point in metrics.risk_coverage(pairs)]
    figures["bins"] = [list(each) for each in metrics.bins(pairs)]
    return figures


def _over(figures: dict[str, Any], base: dict[str, Any] | None) -> float | None:
    """Tokens over greedy for each point over greedy."""
    if base is None or None in (figures["mean_tokens"], base["mean_tokens"]):
        return None
    if figures["accuracy"] is None or base["accuracy"] is None:
        return None
    return metrics.tokens_per_point(
        figures["mean_tokens"],
        100 * figures["accuracy"],
        base["mean_tokens"],
        100 * base["accuracy"],
    )
