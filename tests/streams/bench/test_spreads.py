"""Figures that are no plain shares of answers: exact where nothing is drawn, and their intervals cover the truth.

Each world draws closed episodes whose truth is set by hand, and measures them by the metric that recipes name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from statistics import NormalDist, fmean
from types import SimpleNamespace
from typing import Any

import pytest

from handlers.learning.metrics import aurc, aurc_worth
from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.events.monitoring import ExperienceFelt
from schemas.events.reasoning import ControllerActed, Generated, KnowledgeReached
from schemas.events.search import OracleScored
from schemas.events.strategy import RewardJudged, StrategyChosen
from schemas.outcome import Outcome
from schemas.usage import Usage
from streams.research.analysis.cases import Case
from streams.research.analysis.intervals import bounded_interval, wilson
from streams.research.analysis.statistics import area_worth, auroc
from streams.research.bench.metrics import METRICS
from tests.streams.bench.worlds import case

WORLDS, PROBLEMS = 400, 60
NORMAL = NormalDist()


def value(name: str, cases: Sequence[Case]) -> tuple[Any, int, int]:
    found = METRICS[name].found(cases)
    return found.value, found.known, found.unknown


def sure(problem: str, outcome: Outcome, confidence: float | None, **closed: Any) -> Case:
    return case(problem, outcome, confidence=confidence, confidence_source="stated", **closed)


# ── Exact ────────────────────────────────────────────────────────────────────────────────────

FOUR = [
    sure("a", "right", 0.9),
    sure("b", "wrong", 0.8),
    sure("c", "right", 0.6),
    sure("d", "wrong", 0.1),
]
LACKING = [sure("e", "unknown", 0.5), sure("f", "right", None), sure("g", "withheld", 0.5)]


def test_calibration_is_exact_over_the_answers_that_have_both() -> None:
    cases = [*FOUR, *LACKING]
    assert value("brier", cases) == (pytest.approx((0.01 + 0.64 + 0.16 + 0.01) / 4), 4, 2)
    assert value("auroc", cases) == (0.75, 4, 2)
    assert value("aurc", cases) == (pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4) / 4), 4, 2)
    assert value("ece", cases) == (pytest.approx((0.1 + 0.8 + 0.4 + 0.1) / 4), 4, 2)
    for name in ("brier", "auroc", "aurc", "ece"):
        assert value(name, LACKING) == (None, 0, 2), "of nothing it is unknown, and not 0"


@pytest.mark.parametrize("experience", ["EOL", "FOK", "JOL", "difficulty"])
def test_the_calibration_error_of_a_feeling_is_over_what_was_answered(experience: Any) -> None:
    def felt(problem: str, outcome: Outcome, *values: float) -> Case:
        return case(
            problem, outcome,
            [ExperienceFelt(experience=experience, source="assess", value=v, round=n) for n, v in enumerate(values)],
        )  # fmt: skip

    cases = [
        felt("a", "right", 0.2, 0.9),
        felt("b", "wrong", 0.7, 0.4),
        felt("c", "withheld", 0.0),
        case("d", "right"),
    ]
    wanted = {"JOL": (0.1 + 0.4) / 2, "difficulty": (0.2 + 0.3) / 2}.get(
        experience, (0.8 + 0.7) / 2
    )
    assert value(f"ece_{experience.lower()}", cases) == (pytest.approx(wanted), 2, 1)
    assert value(f"ece_{experience.lower()}", []) == (None, 0, 0)


def test_what_each_thing_is_worth_to_an_area_adds_up_to_it() -> None:
    draw = Random(1).random
    pairs = [(draw(), draw() < 0.6) for _ in range(40)]
    scores, right = [c for c, _ in pairs], [r for _, r in pairs]
    assert fmean(area_worth(scores, right)) == pytest.approx(auroc(scores, right))
    assert fmean(aurc_worth(pairs)) == pytest.approx(aurc(pairs))
    assert aurc_worth([]) == []
    with pytest.raises(ValueError, match="one of each kind"):
        area_worth([0.1, 0.2], [True, True])


def test_an_area_s_interval_stays_within_its_bounds_and_is_never_of_no_width() -> None:
    low, high = bounded_interval([(0.99, 1), (0.9, 1), (1.0, 1), (0.97, 1)]) or (0, 0)
    assert 0 < low < 0.965 < high < 1
    assert bounded_interval([(1.0, 1)] * 4) == wilson(1.0, 4)
    assert bounded_interval([(0.5, 1)]) is None
    asked = METRICS["auroc"]
    assert asked.interval(asked.found(LACKING).sample) is None
    assert METRICS["ece"].between([METRICS["ece"].found(LACKING)]) is None


# ── Covered ──────────────────────────────────────────────────────────────────────────────────

Draw = Callable[[], float]
Made = Callable[[str, Draw], Case]


def judged(separation: float) -> Made:
    """Right every second time, with a confidence that is so many deviations higher where it is."""

    def made(problem: str, draw: Draw) -> Case:
        right = draw() < 0.5
        said = NORMAL.inv_cdf(min(max(draw(), 1e-9), 1 - 1e-9)) + separation * right
        return sure(problem, "right" if right else "wrong", NORMAL.cdf(said))

    return made


def felt(experience: Any, separation: float, *, of_wrong: bool = False) -> Made:
    """The same of a feeling; one of difficulty is higher where it goes wrong."""

    def made(problem: str, draw: Draw) -> Case:
        right = draw() < 0.5
        said = NORMAL.inv_cdf(min(max(draw(), 1e-9), 1 - 1e-9)) + separation * (
            right is not of_wrong
        )
        event = ExperienceFelt(
            experience=experience, source="assess", value=NORMAL.cdf(said), round=0
        )
        return case(problem, "right" if right else "wrong", [event])

    return made


def calibrated(problem: str, draw: Draw) -> Case:
    """Any confidence, each as often right as it says."""
    confidence = draw()
    return sure(problem, "right" if draw() < confidence else "wrong", confidence)


def spending(problem: str, draw: Draw) -> Case:
    """Right three times in five; between 100 and 900 tokens, 2 to 6 calls, one to three seconds."""
    usage = Usage(
        calls=2 + int(5 * draw()), prompt_tokens=50 + int(400 * draw()), completion_tokens=50 + int(401 * draw()),
        seconds=1 + 2 * draw(),
    )  # fmt: skip
    return case(problem, "right" if draw() < 0.6 else "wrong", usage=usage)


def mixed(problem: str, draw: Draw) -> Case:
    """Hard and easy problems: six in ten right of those that are graded, which are nine in ten."""
    easy, at, graded = draw() < 0.5, draw(), draw() < 0.9
    right, wrong = (0.8, 0.1) if easy else (0.4, 0.4)
    outcome: Outcome = "right" if at < right else "wrong" if at < right + wrong else "withheld"
    return case(problem, outcome if graded or outcome == "withheld" else "unknown")


def controlled(problem: str, draw: Draw) -> Case:
    """One to three decisions, restarts in some problems more than in others; accepted seven times in ten."""
    chance, events = (0.2 if draw() < 0.5 else 0.6), list[Event]()
    for at in range(1 + int(3 * draw())):
        action: Any = "restart" if draw() < chance else "accept"
        events.append(ControllerActed(round=at, action=action, source=str(at)))
    ended_by = "accepted" if draw() < 0.7 else "rounds"
    return case(problem, "right" if draw() < 0.6 else "wrong", events, ended_by=ended_by)


def replied(problem: str, draw: Draw) -> Case:
    """Replies of which some are cut off, readings of which some fail, guidance of which some falls back."""
    bad = 0.1 if draw() < 0.5 else 0.5
    events: list[Event] = []
    for _ in range(3):
        finish = "length" if draw() < bad else "stop"
        events.append(Completed(asked="complete step", text="t", finish=finish, model="m"))
        events.append(Generated(source="1", parse="fallback" if draw() < bad else "ok"))
        result: Any = "fallback" if draw() < bad else "composed"
        events.append(
            KnowledgeReached(
                round=0, role="monitor", source="1", result=result, bullets=1, items=()
            )
        )
        parse: Any = "defaulted" if draw() < bad else "first"
        events.append(
            OracleScored(node="1.0.0", steps=(), rewards=(), value=0.5, source="1", parse=parse)
        )
    return case(problem, events=events)


def rewarded(problem: str, draw: Draw) -> Case:
    """One to four rounds with advice, whose rewards lie around what the problem allows."""
    middle, events = draw(), list[Event]()
    for at in range(1, 2 + int(4 * draw())):
        events.append(StrategyChosen(round=at, arm="a1", how="ucb"))
        events.append(
            RewardJudged(round=at, arm="a1", reward=middle + draw() - 0.5, steps=at, source="1")
        )
    return case(problem, events=events)


def alike(answer: str, reference: str, **_: Any) -> Any:
    """A grader that is quick: reading a number takes most of a world's time."""
    return SimpleNamespace(outcome="right" if answer == reference else "wrong")


def retried(problem: str, draw: Draw) -> Case:
    """A wrong first answer, mended in two of five; and samples of which three in ten are right."""
    mended = draw() < 0.4
    said = ["25", "24" if mended else "26"]
    events: list[Event] = [Generated(answer=each, source=str(at)) for at, each in enumerate(said)]
    ended = case(problem, "right" if mended else "wrong", events, reference="24", answer=said[-1])
    return replace(ended, grade=alike)


def sampled(problem: str, draw: Draw) -> Case:
    """Five samples, right three times in ten."""
    said = ["24" if draw() < 0.3 else "25" for _ in range(5)]
    events: list[Event] = [Generated(answer=each, source=str(at)) for at, each in enumerate(said)]
    return replace(case(problem, "right", events, reference="24", answer="24"), grade=alike)


def area_of(separation: float) -> float:
    return NORMAL.cdf(separation / 2**0.5)


COVERED: list[tuple[Made, dict[str, float]]] = [
    (judged(1.0), {"auroc": area_of(1.0)}),
    (judged(2.0), {"auroc": area_of(2.0)}),
    (felt("EOL", 0.5), {"auroc_eol": area_of(0.5)}),
    (felt("FOK", 1.0), {"auroc_fok": area_of(1.0)}),
    (felt("JOL", 1.5), {"auroc_jol": area_of(1.5)}),
    (felt("difficulty", 1.0, of_wrong=True), {"auroc_difficulty": area_of(1.0)}),
    (calibrated, {"brier": 1 / 6, "aurc": 0.25}),
    (
        spending,
        {"points_per_1k_tokens": 1000 * 60 / 499.5, "tokens": 499.5, "prompt_tokens": 249.5,
         "completion_tokens": 250, "calls": 4, "seconds": 2},
    ),
    (
        mixed,
        {"accuracy": 100 * 0.54 / 0.915, "exact_match": 0.54 / 0.915, "at_least": 54, "coverage": 91.5,
         "commission": 100 * 0.225 / 0.915, "omission": 100 * 0.15 / 0.915},
    ),
    (
        controlled,
        {"restarts": 40, "grade_a": 100 * 0.7 / 3, "accuracy_c": 60, "fallback": 0,
         "restarted": 100 * (1 - fmean((1 - c) ** n for c in (0.2, 0.6) for n in (1, 2, 3)))},
    ),
    (
        replied,
        {"cut_off": 30, "unread": 30, "unguided": 30, "parse_first": 70, "parse_defaulted": 30},
    ),
    (rewarded, {"reward": 0.5}),
    (retried, {"recovery": 40}),
    (sampled, {"any_of_1": 30, "any_of_5": 100 * (1 - 0.7**5)}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("made", "truths"),
    COVERED,
    ids=["-".join(truths) for _, truths in COVERED],
)
def test_intervals_cover_the_truth(made: Made, truths: dict[str, float]) -> None:
    held = dict.fromkeys(truths, 0)
    for world in range(WORLDS):
        draw = Random(world).random
        cases = [made(str(at), draw) for at in range(PROBLEMS)]
        for name, truth in truths.items():
            found = METRICS[name].interval(METRICS[name].found(cases).sample)
            assert found is not None
            held[name] += found[0] <= truth <= found[1]
    shares = {name: count / WORLDS for name, count in held.items()}
    never = {name for name, truth in truths.items() if truth == 0}
    assert {shares[name] for name in never} <= {1.0}, "what never happens is always within"
    missed = {
        name: share
        for name, share in shares.items()
        if name not in never and not 0.92 <= share <= 0.98
    }
    assert missed == {}
