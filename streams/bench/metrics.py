"""What a recipe may measure, by name: each a pure function of closed episodes.

Shares are in percent where papers print percent. Nothing known is ``None``, never 0.

Source: evaluation page (Metrics); the papers' tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from handlers.learning import metrics
from handlers.policies.cot2_meta.diagnose import Repairs, inverted, parse_rates, repairs
from handlers.policies.cot2_meta.trace import tree_of
from handlers.policies.mc2.reflect import grade_of
from handlers.policies.meta_reasoner.measure import rewards, unique_strategies
from schemas.events.monitoring import ExperienceFelt
from schemas.events.reasoning import ControllerActed, Generated
from schemas.events.search import OracleScored
from schemas.events.strategy import RewardJudged
from streams.analysis.cases import Case
from streams.analysis.statistics import auroc, spearman
from streams.bench.curves import POINTS, Samples, votes_by_n

Cases = Sequence[Case]
Measure = Callable[[Cases], float | None]


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure, what it says, and how many places of it are printed."""

    about: str
    of: Measure
    places: int = 2


# ── Outcomes ─────────────────────────────────────────────────────────────────────────────────


def known(cases: Iterable[Case]) -> list[Case]:
    """Those whose outcome is known; withheld is known, and not right."""
    return [case for case in cases if case.outcome != "unknown"]


def exact(cases: Cases) -> float | None:
    """Share right, of those known."""
    return share(case.outcome == "right" for case in known(cases))


def _covered(cases: Cases) -> float | None:
    """Share of those whose outcome is known: what an accuracy is over."""
    return share(case.outcome != "unknown" for case in cases)


def share(each: Iterable[bool]) -> float | None:
    """The share of a property; unknown of nothing."""
    found = list(each)
    return sum(found) / len(found) if found else None


def percent(measure: Measure) -> Measure:
    """A share, in percent."""

    def scaled(cases: Cases) -> float | None:
        value = measure(cases)
        return None if value is None else 100 * value

    return scaled


def _ended(*outcomes: str) -> Measure:
    return lambda cases: share(case.outcome in outcomes for case in known(cases))


def _by(reason: str) -> Measure:
    return lambda cases: share(case.closed.ended_by == reason for case in cases)


# ── Cost ─────────────────────────────────────────────────────────────────────────────────────


def mean(values: Iterable[float | None]) -> float | None:
    """The mean; unknown if any part is."""
    found = list(values)
    sure = [value for value in found if value is not None]
    return fmean(sure) if sure and len(sure) == len(found) else None


def _spent(name: str) -> Measure:
    return lambda cases: mean(getattr(case.closed.usage, name) for case in cases)


def _efficiency(cases: Cases) -> float | None:
    right, tokens = exact(cases), _spent("tokens")(cases)
    return (
        metrics.per_thousand_tokens(100 * right, tokens) if right is not None and tokens else None
    )


# ── Confidence ───────────────────────────────────────────────────────────────────────────────


def stated(cases: Cases) -> list[tuple[float, bool]]:
    """Confidence and outcome of the answers that have both, in the order of episode ids."""
    return [
        (case.closed.confidence, case.outcome == "right")
        for case in sorted(cases, key=lambda case: case.episode)
        if case.closed.confidence is not None and case.outcome in ("right", "wrong")
    ]


def _of_stated(measure: Callable[[metrics.Pairs], float]) -> Measure:
    def measured(cases: Cases) -> float | None:
        pairs = stated(cases)
        return measure(pairs) if pairs else None

    return measured


def _separation(cases: Cases) -> float | None:
    pairs = stated(cases)
    return auroc([confidence for confidence, _ in pairs], [right for _, right in pairs])


# ── MC² ──────────────────────────────────────────────────────────────────────────────────────


def actions(case: Case) -> list[str]:
    """What the Controller did, round by round."""
    return [event.action for _, event in case.trace.events if isinstance(event, ControllerActed)]


def _restarts(cases: Cases) -> float | None:
    return share(action == "RESTART" for case in cases for action in actions(case))


def _restarted(cases: Cases) -> float | None:
    return share("RESTART" in found for case in cases if (found := actions(case)))


def grade(case: Case) -> str | None:
    """A, B or C of an episode with a Controller."""
    found = actions(case)
    return grade_of(len(found), case.closed.ended_by) if found else None


def _graded(cases: Cases) -> float | None:
    return share(each == "A" for case in cases if (each := grade(case)) is not None)


def _right_of(letter: str) -> Measure:
    return lambda cases: exact([case for case in cases if grade(case) == letter])


def _grade_and_outcome(cases: Cases) -> float | None:
    worth = {"A": 2.0, "B": 1.0, "C": 0.0}
    pairs = [(worth[g], float(c.outcome == "right")) for c in known(cases) if (g := grade(c))]
    return spearman([a for a, _ in pairs], [b for _, b in pairs]) if len(pairs) > 1 else None


# ── Trees and arms ───────────────────────────────────────────────────────────────────────────


def mended(cases: Cases) -> Repairs:
    """What repair did in all trees."""
    return sum((repairs(tree_of(case.trace), case.right) for case in cases), Repairs())


def _parse(name: str) -> Measure:
    def measured(cases: Cases) -> float | None:
        scored = [c for c in cases if any(isinstance(e, OracleScored) for _, e in c.trace.events)]
        return parse_rates(tree_of(case.trace) for case in scored).get(name)

    return measured


def _strategies(cases: Cases) -> float | None:
    return float(unique_strategies(case.trace for case in cases)) or None


def _reward(cases: Cases) -> float | None:
    judged = [c for c in cases if any(isinstance(e, RewardJudged) for _, e in c.trace.events)]
    return mean(sum(rewards(case.trace)) for case in judged) if judged else None


# ── Samples ──────────────────────────────────────────────────────────────────────────────────


def samples(case: Case) -> Samples:
    """What each generation of an episode answered, and whether that was right."""
    said = [event.answer for _, event in case.trace.events if isinstance(event, Generated)]
    return Samples(case.problem.problem, tuple(said), tuple(map(case.right, said)))


def _any_of(n: int) -> Measure:
    """Mean chance that n samples hold a right one; unknown where any episode has fewer."""

    def measured(cases: Cases) -> float | None:
        found = [samples(case).right for case in cases]
        if not found or min(map(len, found)) < n:
            return None
        return fmean(metrics.any_of_n(right, n) for right in found)

    return measured


def _vote_of(n: int) -> Measure:
    """How often the vote of n samples is right, over seeded orders of them."""

    def measured(cases: Cases) -> float | None:
        found = [samples(case) for case in cases]
        if not found or min(len(each.answers) for each in found) < n:
            return None
        right = {(e.problem, a): r for e in found for a, r in zip(e.answers, e.right, strict=True)}
        return fmean(votes_by_n(e, lambda p, a: right[p, a])[n - 1] for e in found)

    return measured


def _recovered(cases: Cases) -> float | None:
    """Of the episodes whose first answer was wrong, those that ended right."""
    firsts = [
        (case, [a for a in samples(case).answers if a is not None][:1]) for case in known(cases)
    ]
    wrong = [case for case, first in firsts if first and not case.right(first[0])]
    return share(case.outcome == "right" for case in wrong)


def _misjudged(cases: Cases) -> float | None:
    """F2 of the wrong episodes: a wrong leaf's process value exceeds a right one's."""
    wrong = [case for case in cases if case.outcome in ("wrong", "withheld")]
    return share(inverted(tree_of(case.trace), case.right) > 0 for case in wrong)


def _felt(kind: str) -> Measure:
    """How well the last feeling of a kind tells right from wrong."""

    def measured(cases: Cases) -> float | None:
        pairs: list[tuple[float, bool]] = []
        for case in known(cases):
            events = (event for _, event in case.trace.events)
            felt = [e for e in events if isinstance(e, ExperienceFelt) and e.experience == kind]
            if felt and felt[-1].value is not None:
                pairs.append((felt[-1].value, case.outcome == "right"))
        return auroc([value for value, _ in pairs], [right for _, right in pairs])

    return measured


METRICS: Mapping[str, Metric] = {
    "accuracy": Metric("right answers, %", percent(exact)),
    "coverage": Metric("graded, %", percent(_covered)),
    "exact_match": Metric("right answers, share", exact, 3),
    "f1": Metric("token F1", lambda cases: mean(case.f1 for case in cases), 3),
    "right": Metric("right answers", lambda cases: float(sum(c.outcome == "right" for c in cases)), 0),
    "commission": Metric("given and wrong, %", percent(_ended("wrong"))),
    "omission": Metric("withheld, %", percent(_ended("withheld"))),
    "calls": Metric("calls a problem", _spent("calls"), 1),
    "tokens": Metric("tokens a problem", _spent("tokens"), 0),
    "prompt_tokens": Metric("prompt tokens a problem", _spent("prompt_tokens"), 0),
    "completion_tokens": Metric("completion tokens a problem", _spent("completion_tokens"), 0),
    "seconds": Metric("seconds a problem", _spent("seconds")),
    "points_per_1k_tokens": Metric("points per 1K tokens", _efficiency),
    "ece": Metric("expected calibration error", _of_stated(metrics.ece), 3),
    "brier": Metric("Brier score", _of_stated(metrics.brier), 3),
    "aurc": Metric("area under risk and coverage", _of_stated(metrics.aurc), 3),
    "auroc": Metric("ROC area of confidence", _separation, 3),
    "restarts": Metric("RESTART of decisions, %", percent(_restarts), 1),
    "restarted": Metric("episodes with a RESTART, %", percent(_restarted), 1),
    "grade_a": Metric("grade A, %", percent(_graded)),
    "accuracy_a": Metric("right answers of grade A, %", percent(_right_of("A"))),
    "accuracy_c": Metric("right answers of grade C, %", percent(_right_of("C"))),
    "grade_rho": Metric("Spearman of grade and outcome", _grade_and_outcome),
    "fallback": Metric("ended by the fallback, %", percent(_by("fallback")), 1),
    "rescue": Metric("repairs of wrong ones that made them right, %", percent(lambda c: mended(c).rescue), 1),
    "hurt": Metric("repairs of right ones that made them wrong, %", percent(lambda c: mended(c).harm), 1),
    "net_repairs": Metric("rescued less hurt", lambda cases: float(mended(cases).net), 0),
    "parse_first": Metric("oracle replies read at once, %", percent(_parse("first")), 1),
    "parse_recovered": Metric("read after the re-prompt, %", percent(_parse("recovered")), 1),
    "parse_defaulted": Metric("left at their defaults, %", percent(_parse("defaulted")), 1),
    "strategies": Metric("arms pulled at least once", _strategies, 0),
    "reward": Metric("cumulative reward of an episode", _reward),
    "failure_f2": Metric("failures by misjudgement, %", percent(_misjudged), 1),
    "recovery": Metric("right after a wrong first answer, %", percent(_recovered), 1),
    "auroc_eol": Metric("ROC area of ease of learning", _felt("EOL"), 3),
    "auroc_fok": Metric("ROC area of feeling of knowing", _felt("FOK"), 3),
    "auroc_jol": Metric("ROC area of judgement of learning", _felt("JOL"), 3),
    **{f"any_of_{n}": Metric(f"any of {n} samples right, %", percent(_any_of(n))) for n in POINTS},
    **{f"vote_of_{n}": Metric(f"vote of {n} samples right, %", percent(_vote_of(n))) for n in POINTS},
}  # fmt: skip
