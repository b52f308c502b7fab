"""Metrics that a recipe may name: each is a pure function of closed episodes.

Shares are in percent where papers print percent. Nothing known is ``None``, never 0; what is unknown is in
no figure, and counted beside it. A figure has one implementation: this one is tested, and printed.

Source: design/evaluation.md#metrics; the papers' tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import fsum

from streams.research.analysis import control
from streams.research.analysis import mechanisms as of
from streams.research.analysis.cases import Case
from streams.research.analysis.found import (
    Cases,
    Found,
    Metric,
    Unit,
    count_of,
    each,
    mean_of,
    over,
    share_of,
)
from streams.research.analysis.intervals import chance_interval, correlation_interval, sum_interval
from streams.research.analysis.measures import (
    ACCURACY,
    AURC,
    AUROC,
    BRIER,
    COVERAGE,
    ECE,
    EFFICIENCY,
    right,
    spent,
)
from streams.research.bench.curves import POINTS
from streams.research.bench.sampled import any_of, vote_of

# ── Outcomes ─────────────────────────────────────────────────────────────────────────────────


def known(cases: Iterable[Case]) -> list[Case]:
    """Those whose outcome is known; withheld is known where somebody could grade it, and not right."""
    return [case for case in cases if case.outcome != "unknown"]


def _ended(outcome: str) -> Callable[[Case], float | None]:
    return lambda case: None if case.outcome == "unknown" else case.outcome == outcome


def _by(reason: str) -> Callable[[Case], float | None]:
    return lambda case: case.closed.ended_by == reason


def _right(cases: Cases) -> Found:
    sure = known(cases)
    worth = tuple(Unit(case.about, float(case.outcome == "right")) for case in sure)
    # A sum and no mean, so its units are what each problem brings to it.
    return Found(
        fsum(unit.value or 0 for unit in worth), len(sure), len(cases) - len(sure), worth=worth
    )


FITS = (("", "its own"), ("_random", "another's"))
"""What a question's guidance is compared with."""
METRICS: Mapping[str, Metric] = {
    "accuracy": ACCURACY,
    "at_least": share_of("right, what nobody could grade counted wrong, %", each(lambda case: case.outcome == "right")),
    "coverage": COVERAGE,
    # Papers of question answering print the same accuracy as a share of 1.
    "exact_match": Metric("right answers, share", over(right), 3, share=True),
    "f1": mean_of("token F1", each(lambda case: case.f1), 3),
    "f1_percent": Metric("token F1, %", over(each(lambda case: case.f1)), scale=100),
    "right": count_of("right answers", _right),
    "commission": share_of("given and wrong, %", each(_ended("wrong"))),
    "omission": share_of("withheld, %", each(_ended("withheld"))),
    "calls": mean_of("calls a problem", spent("calls"), 1),
    "tokens": mean_of("tokens a problem", spent("tokens"), 0),
    "prompt_tokens": mean_of("prompt tokens a problem", spent("prompt_tokens"), 0),
    "completion_tokens": mean_of("completion tokens a problem", spent("completion_tokens"), 0),
    "seconds": mean_of("seconds a problem", spent("seconds")),
    "points_per_1k_tokens": EFFICIENCY,
    "ece": ECE,
    "brier": BRIER,
    "aurc": AURC,
    "auroc": AUROC,
    "restarts": share_of("RESTART of decisions, %", of.restarts, 1),
    "restarted": share_of("episodes with a RESTART, %", of.restarted, 1),
    "grade_a": share_of("grade A, %", of.graded_a),
    "accuracy_a": share_of("right answers of grade A, %", of.right_of("A")),
    "accuracy_c": share_of("right answers of grade C, %", of.right_of("C")),
    "grade_rho": Metric("Spearman of grade and outcome", of.grade_and_outcome, spread=correlation_interval),
    **{f"guide_fit{name}": mean_of(f"cosine of question and {whose} guidance", of.fit(side), 3)
       for side, (name, whose) in enumerate(FITS)},
    **{f"guide_fit{name}_batch_{b}": mean_of(f"cosine of question and {whose} guidance, batch {b}", of.fit(side, b), 3)
       for side, (name, whose) in enumerate(FITS) for b in of.FITTED},
    "fallback": share_of("ended by the fallback, %", each(_by("fallback")), 1),
    "cut_off": share_of("replies cut off by their length, %", of.cut_off, 1),
    "unread": share_of("replies that a default stands in for, %", of.unread, 1),
    "unguided": share_of("guidance that a fallback stands in for, %", of.unguided, 1),
    "rescue": share_of("repairs of wrong ones that made them right, %", of.rescued, 1),
    "hurt": share_of("repairs of right ones that made them wrong, %", of.hurt, 1),
    "net_repairs": Metric("rescued less hurt", of.net_repairs, 0, spread=sum_interval),
    "parse_first": share_of("oracle replies read at once, %", of.parsed("first"), 1),
    "parse_recovered": share_of("read after the re-prompt, %", of.parsed("recovered"), 1),
    "parse_defaulted": share_of("left at their defaults, %", of.parsed("defaulted"), 1),
    "strategies": Metric("arms pulled at least once", of.strategies, 0),
    "reward": of.REWARD,
    "judge_cost": mean_of("cost of a thousand calls of the judge", of.cost_of("judge"), 3),
    "regret": Metric("reward of a pull below the best arm's mean", of.regret, 3),
    "failures": count_of("wrong or withheld", of.failures(), 1),
    "failure": share_of("failures whose class is known, %", of.classed, 1),
    "failure_calls": mean_of("calls of a failure", of.calls_of_failures(), 1),
    **{f"failures_{c.lower()}": count_of(f"failures of class {c}", of.failures(c), 1) for c in of.CLASSES},
    **{f"failure_{c.lower()}": share_of(f"failures of class {c}, %", of.failed(c), 1) for c in of.CLASSES},
    **{f"failure_calls_{c.lower()}": mean_of(f"calls of a failure of class {c}", of.calls_of_failures(c), 1)
       for c in of.CLASSES},
    "false_prunes": share_of("audited prunes that would have come to a right answer, %", control.false_prunes),
    "prune_precision": share_of("audited prunes that would have come to none, %", control.precise_prunes),
    "oracle_gap": mean_of("right among the relaxed run's best leaves, less right at the top", control.gap, 3),
    **{f"act_{a}": Metric(f"{a} of all actions, %", over(control.acts(a)), 1, 100.0, bounded=True)
       for a in control.ACTIONS},
    **{f"act_{a}_at_{d}": Metric(f"{a} of actions at depth {d}, %", over(control.acts(a, d)), 1, 100.0, bounded=True)
       for a in control.ACTIONS for d in control.DEPTHS},
    **{f"flow_{e.replace('-', '_')}": share_of(f"ended {e}, %", control.flows(e), 1) for e in control.ENDS},
    "recovery": share_of("right after a wrong first answer, %", of.recovered, 1),
    "auroc_difficulty": Metric("ROC area of difficulty, of wrong answers", of.felt("difficulty", of_wrong=True), 3,
                               bounded=True),
    "auroc_eol": Metric("ROC area of ease of learning", of.felt("EOL"), 3, bounded=True),
    "auroc_fok": Metric("ROC area of the first feeling of knowing", of.felt("FOK"), 3, bounded=True),
    "auroc_jol": Metric("ROC area of the last judgement of learning", of.felt("JOL", last=True), 3, bounded=True),
    "ece_difficulty": Metric("calibration error of difficulty", of.felt_error("difficulty", of_wrong=True), 3),
    "ece_eol": Metric("calibration error of ease of learning", of.felt_error("EOL"), 3),
    "ece_fok": Metric("calibration error of the first feeling of knowing", of.felt_error("FOK"), 3),
    "ece_jol": Metric("calibration error of the last judgement of learning", of.felt_error("JOL", last=True), 3),
    **{
        f"any_of_{n}": Metric(f"any of {n} samples right, %", over(any_of(n)), scale=100, spread=chance_interval)
        for n in POINTS
    },
    **{
        f"vote_of_{n}": Metric(f"vote of {n} samples right, %", over(vote_of(n)), scale=100, spread=chance_interval)
        for n in POINTS
    },
}  # fmt: skip
"""Every metric by the name that recipes give it."""
