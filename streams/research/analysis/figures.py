"""Figures of a run: accuracy, cost, calibration, risk and coverage, errors by kind.

Source: design/evaluation.md#metrics; CoT2-Meta § H.1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from handlers.learning import metrics
from handlers.policies.cot2_meta.trace import COLUMNS, calls_by_column
from schemas.events.episode import Completed
from streams.research.analysis.calibrated import Stated
from streams.research.analysis.cases import Case, role_of
from streams.research.analysis.found import Found, Metric, over
from streams.research.analysis.measures import (
    ACCURACY,
    AURC,
    BRIER,
    ECE,
    EFFICIENCY,
    calibration,
    risk,
    spent,
    squared,
    tokens_per_point,
)
from streams.research.analysis.progress import Batch
from streams.research.analysis.progress import figures as progress
from streams.research.analysis.rewards import reward_figures
from streams.research.analysis.trees import Shadows, tree_figures

NO_BATCHES: Final[Mapping[str, Sequence[Batch]]] = {}
COVERAGES = (0.25, 0.5, 0.75, 1.0)
CALIBRATION: Final[Mapping[str, tuple[Metric, Callable[[Sequence[Stated], int], Found]]]] = {
    "ece": (ECE, calibration),
    "brier": (BRIER, squared),
    "aurc": (AURC, risk),
}
"""Of the answers of one source: what is measured, and how."""


WALK = re.compile(r"m[0-9a-f]{12}\.([0-9]{1,6})")
"""The series of a bench: its memory, and the pass."""
SAME = "of the calibrated ones"
"""What raw confidence is called where only some of it was calibrated."""


def analysis(
    cases: Sequence[Case],
    everything: Sequence[Case],
    shadows: Shadows,
    batches: Mapping[str, Sequence[Batch]] = NO_BATCHES,
) -> dict[str, Any]:
    """Every run's figures by its name; runs with a greedy one beside them are compared with it.

    Of each scope of ``batches`` also what came batch by batch, where there are two of them or more.
    """
    runs = by_run(cases)
    found = {name: run_figures(each, everything, shadows) for name, each in runs.items()}
    # Tokens for a point need something to be above. One plain answer at temperature 0 is what
    # everything else claims to improve on.
    base = next((name for name, f in found.items() if f["policy"].startswith("greedy@")), None)
    for name, figures in found.items():
        price = tokens_per_point(runs[name], [] if base is None else runs[base])
        figures["tokens_per_point"] = price.value
        figures["tokens_per_point_interval"] = price.interval
        figures["tokens_per_point_of"] = price.known
    simulated = any("SIMULATED" in case.opened.backbones for case in cases)
    # A single batch was solved with nothing learned, so there is nothing that it could show.
    learning = {scope: progress(each) for scope, each in batches.items() if len(each) > 1}
    return {"episodes": len(cases), "simulated": simulated, "learning": learning, "runs": found}


def by_run(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Cases by the name of their run, and where one ran on several models or in several passes, by those too."""
    runs: dict[str, list[Case]] = {}
    for case in cases:
        runs.setdefault(case.name, []).append(case)
    found: dict[str, list[Case]] = {}
    for name, group in runs.items():
        models = {case.opened.backbones for case in group}
        walks = {walk_of(case) for case in group}
        for case in group:
            told = f", {case.opened.backbones}" if len(models) > 1 else ""
            told += f", pass {walk_of(case)}" if len(walks) > 1 else ""
            found.setdefault(name + told, []).append(case)
    return found


def walk_of(case: Case) -> int:
    """Which pass over its problems an episode belongs to; a series that a bench made says so."""
    found = WALK.fullmatch(case.problem.series or "")
    return 1 if found is None else int(found[1])


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
        **outcomes(cases),
        **costs(cases),
        "confidence": confidences(cases),
    }
    rewards = reward_figures(cases)
    if rewards is not None:
        figures["rewards"] = rewards
    if first.opened.policy == "cot2_meta":
        figures |= tree_figures(cases, everything, shadows)
    return figures


def outcomes(cases: Sequence[Case]) -> dict[str, Any]:
    """Accuracy over all problems whose outcome is known, and which share they are.

    A withheld answer counts as not right where somebody could have graded one.
    What is unknown is *undecided* (a grader could not tell) or *not graded* (nobody tried).
    """
    counts = Counter(case.standing for case in cases)
    found, judged = ACCURACY.found(cases), judge_figures(cases)
    accuracy, interval = found.value, ACCURACY.between([found])
    return {
        "problems": len(cases),
        "right": counts["right"],
        # The words of the papers: a wrong answer is an
        # error of commission, a withheld one of omission.
        "commission": counts["wrong"],
        "omission": counts["withheld"],
        "unknown": counts["undecided"] + counts["not graded"],
        "undecided": counts["undecided"],
        "not_graded": counts["not graded"],
        "by_person": sum(case.known.by is not None for case in cases),
        "graded": found.known,
        "coverage": found.known / len(cases) if cases else None,
        "failed": sum(case.closed.status == "failed" for case in cases),
        "accuracy": None if accuracy is None else accuracy / 100,
        "accuracy_interval": None if interval is None else [bound / 100 for bound in interval],
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
    # Graders come first: a verdict fills in where none could decide, and never replaces an outcome.
    known = [*graded, *[True] * said["right"], *[False] * said["wrong"]]
    return {
        **{name: said[name] for name in ("right", "wrong", "unclear")},
        "accuracy": metrics.accuracy(known) if known else None,
        "coverage": len(known) / len(cases),
        "by": sorted({each.by for each in found}),
    }


def costs(cases: Sequence[Case]) -> dict[str, Any]:
    """Mean calls and tokens of a problem, calls by what they were for; tokens over the problems of which they
    are known, and how many are not.

    Points are those of the accuracy: what nobody could grade is no wrong answer.
    """
    calls, tokens = over(spent("calls"))(cases), over(spent("tokens"))(cases)
    columns, roles = Counter[str](), Counter[str]()
    for case in cases:
        columns.update(calls_by_column(case.trace))
        roles.update(role_of(e) for _, e in case.trace.events if isinstance(e, Completed))
    points = EFFICIENCY.found(cases)
    return {
        "mean_calls": calls.value,
        "max_calls": max(case.closed.usage.calls for case in cases),
        "mean_tokens": tokens.value,
        "tokens_unknown": tokens.unknown,
        "points_per_1k_tokens": points.value,
        "points_per_1k_tokens_of": points.known,
        "calls_by_column": {name: columns[name] for name in COLUMNS},
        "calls_by_role": dict(roles.most_common()),
    }


def confidences(cases: Sequence[Case]) -> dict[str, Any]:
    """Calibration by source, raw beside calibrated; ties in the order of episode ids.

    Answers that nobody could grade are in none of it; ``left_out`` says how many.
    """
    found: dict[str, list[Stated]] = {}
    left_out: Counter[str] = Counter()
    # Equal confidences are put into an order by hand, or
    # the area under the curve would hang on the log's.
    for case in sorted(cases, key=lambda case: case.episode):
        source, raw = case.closed.confidence_source, case.closed.confidence
        if source is None or raw is None:
            continue
        if case.outcome not in ("right", "wrong"):
            # A withheld answer claims nothing that could be wrong; it lacks no grade.
            left_out[source] += case.closed.answer is not None
            continue
        right, problem = case.outcome == "right", case.about
        found.setdefault(source, []).append((problem, raw, right))
        # Raw and calibrated stand beside each other, over the same answers: that is the comparison
        # that counts. The first answers had no calibrator yet.
        if case.calibrated is not None:
            mended, same = (f"{source}, {which}" for which in ("calibrated", SAME))
            found.setdefault(mended, []).append((problem, case.calibrated, right))
            found.setdefault(same, []).append((problem, raw, right))
    return {
        source: stated_figures(items, left_out[source.partition(", ")[0]])
        for source, items in found.items()
        if not source.endswith(SAME) or len(items) < len(found[source.partition(", ")[0]])
    }


def stated_figures(items: Sequence[Stated], left_out: int) -> dict[str, Any]:
    """ECE, Brier and AURC with their intervals, selective accuracy, the curves; how many are in none of it."""
    pairs = [(said, right) for _, said, right in items]
    figures: dict[str, Any] = {"answers": len(pairs), "left_out": left_out}
    for name, (metric, measure) in CALIBRATION.items():
        found = measure(items, left_out)
        figures[name], interval = found.value, metric.between([found])
        figures[f"{name}_interval"] = None if interval is None else list(interval)
    figures["selective_accuracy"] = {
        f"{coverage:g}": metrics.selective_accuracy(pairs, coverage) for coverage in COVERAGES
    }
    figures["risk_coverage"] = [list(point) for point in metrics.risk_coverage(pairs)]
    figures["bins"] = [list(each) for each in metrics.bins(pairs)]
    return figures
