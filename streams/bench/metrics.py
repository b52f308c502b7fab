"""What a recipe may measure, by name: each a pure function of closed episodes.

Shares are in percent where papers print percent. Nothing known is ``None``, never 0; what is unknown is in
no figure, and counted beside it. A figure has one implementation: this one is tested, and printed.

Source: evaluation page (Metrics); the papers' tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from handlers.learning import metrics
from streams.analysis import mechanisms as of
from streams.analysis.cases import RIGHT, Case
from streams.analysis.found import (
    Cases,
    Found,
    Measure,
    Metric,
    Unit,
    each,
    mean_of,
    over,
    share_of,
)
from streams.analysis.statistics import auroc
from streams.bench.curves import POINTS
from streams.bench.sampled import any_of, vote_of

# ── Outcomes ─────────────────────────────────────────────────────────────────────────────────


def known(cases: Iterable[Case]) -> list[Case]:
    """Those whose outcome is known; withheld is known, and not right."""
    return [case for case in cases if case.outcome != "unknown"]


right = each(lambda case: RIGHT.get(case.outcome))
"""Each answer: whether it is right; one that was withheld is not."""


def _ended(outcome: str) -> Callable[[Case], float | None]:
    return lambda case: None if case.outcome == "unknown" else case.outcome == outcome


def _by(reason: str) -> Callable[[Case], float | None]:
    return lambda case: case.closed.ended_by == reason


# ── Cost ─────────────────────────────────────────────────────────────────────────────────────


def _spent(name: str) -> Callable[[Cases], Iterator[Unit]]:
    """Each episode's sum; unknown where any of its calls came without."""
    return lambda cases: iter(each(lambda case: getattr(case.closed.usage, name))(cases))


def _efficiency(cases: Cases) -> Found:
    """Points of accuracy for each thousand tokens of a problem."""
    points, tokens = over(right)(cases), over(_spent("tokens"))(cases)
    worth = None
    if points.value is not None and tokens.value:
        worth = metrics.per_thousand_tokens(100 * points.value, tokens.value)
    return Found(worth, min(points.known, tokens.known), max(points.unknown, tokens.unknown))


# ── Confidence ───────────────────────────────────────────────────────────────────────────────


def stated(cases: Cases) -> tuple[list[tuple[float, bool]], int]:
    """Confidence and outcome of the answers that have both, in the order of episode ids; how many lack one."""
    given = [case for case in cases if case.closed.answer is not None]
    pairs = [
        (case.closed.confidence, case.outcome == "right")
        for case in sorted(given, key=lambda case: case.episode)
        if case.closed.confidence is not None and case.outcome in ("right", "wrong")
    ]
    return pairs, len(given) - len(pairs)


def _of_stated(measure: Callable[[metrics.Pairs], float | None]) -> Measure:
    def measured(cases: Cases) -> Found:
        pairs, unknown = stated(cases)
        return Found(measure(pairs) if pairs else None, len(pairs), unknown)

    return measured


def _separation(pairs: metrics.Pairs) -> float | None:
    return auroc([confidence for confidence, _ in pairs], [right for _, right in pairs])


def _right(cases: Cases) -> Found:
    sure = known(cases)
    return Found(float(sum(c.outcome == "right" for c in sure)), len(sure), len(cases) - len(sure))


METRICS: Mapping[str, Metric] = {
    "accuracy": share_of("right answers, %", right),
    "at_least": share_of("right, what nobody could grade counted wrong, %", each(lambda case: case.outcome == "right")),
    "coverage": share_of("graded, %", each(lambda case: case.outcome != "unknown")),
    "exact_match": Metric("right answers, share", over(right), 3, share=True),
    "f1": mean_of("token F1", each(lambda case: case.f1), 3),
    "f1_percent": Metric("token F1, %", over(each(lambda case: case.f1)), scale=100),
    "right": Metric("right answers", _right, 0),
    "commission": share_of("given and wrong, %", each(_ended("wrong"))),
    "omission": share_of("withheld, %", each(_ended("withheld"))),
    "calls": mean_of("calls a problem", _spent("calls"), 1),
    "tokens": mean_of("tokens a problem", _spent("tokens"), 0),
    "prompt_tokens": mean_of("prompt tokens a problem", _spent("prompt_tokens"), 0),
    "completion_tokens": mean_of("completion tokens a problem", _spent("completion_tokens"), 0),
    "seconds": mean_of("seconds a problem", _spent("seconds")),
    "points_per_1k_tokens": Metric("points per 1K tokens", _efficiency),
    "ece": Metric("expected calibration error", _of_stated(metrics.ece), 3),
    "brier": Metric("Brier score", _of_stated(metrics.brier), 3),
    "aurc": Metric("area under risk and coverage", _of_stated(metrics.aurc), 3),
    "auroc": Metric("ROC area of confidence", _of_stated(_separation), 3),
    "restarts": share_of("RESTART of decisions, %", of.restarts, 1),
    "restarted": share_of("episodes with a RESTART, %", of.restarted, 1),
    "grade_a": share_of("grade A, %", of.graded_a),
    "accuracy_a": share_of("right answers of grade A, %", of.right_of("A")),
    "accuracy_c": share_of("right answers of grade C, %", of.right_of("C")),
    "grade_rho": Metric("Spearman of grade and outcome", of.grade_and_outcome),
    "fallback": share_of("ended by the fallback, %", each(_by("fallback")), 1),
    "cut_off": share_of("replies cut off by their length, %", of.cut_off, 1),
    "unread": share_of("replies that a default stands in for, %", of.unread, 1),
    "unguided": share_of("guidance that a fallback stands in for, %", of.unguided, 1),
    "rescue": share_of("repairs of wrong ones that made them right, %", of.rescued, 1),
    "hurt": share_of("repairs of right ones that made them wrong, %", of.hurt, 1),
    "net_repairs": Metric("rescued less hurt", of.net_repairs, 0),
    "parse_first": share_of("oracle replies read at once, %", of.parsed("first"), 1),
    "parse_recovered": share_of("read after the re-prompt, %", of.parsed("recovered"), 1),
    "parse_defaulted": share_of("left at their defaults, %", of.parsed("defaulted"), 1),
    "strategies": Metric("arms pulled at least once", of.strategies, 0),
    "reward": mean_of("reward of a round with advice", of.reward_of_pulls, 3),
    "failure_f2": share_of("failures by misjudgement, %", of.misjudgements, 1),
    "recovery": share_of("right after a wrong first answer, %", of.recovered, 1),
    "auroc_difficulty": Metric("ROC area of difficulty, of wrong answers", of.felt("difficulty", of_wrong=True), 3),
    "auroc_eol": Metric("ROC area of ease of learning", of.felt("EOL"), 3),
    "auroc_fok": Metric("ROC area of the first feeling of knowing", of.felt("FOK"), 3),
    "auroc_jol": Metric("ROC area of the last judgement of learning", of.felt("JOL", last=True), 3),
    **{f"any_of_{n}": Metric(f"any of {n} samples right, %", over(any_of(n)), scale=100) for n in POINTS},
    **{f"vote_of_{n}": Metric(f"vote of {n} samples right, %", over(vote_of(n)), scale=100) for n in POINTS},
}  # fmt: skip
"""Every metric by the name that recipes give it."""
