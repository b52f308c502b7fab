"""What is counted of decisions, repairs, failures, arms and replies, episode by episode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.events.monitoring import ExperienceFelt
from schemas.events.reasoning import ControllerActed, Generated
from schemas.events.search import NodeRepaired, OracleScored
from schemas.events.strategy import RewardJudged, StrategyChosen
from schemas.usage import Usage, total_of
from streams.research.analysis import mechanisms as of
from streams.research.analysis.cases import Case
from streams.research.analysis.found import (
    Found,
    Metric,
    Unit,
    count_of,
    each,
    mean_of,
    over,
    share_of,
)
from streams.research.analysis.intervals import (
    bounded_interval,
    count_interval,
    mean_interval,
    share_interval,
)
from streams.research.analysis.measures import (
    ACCURACY,
    AUROC,
    EFFICIENCY,
    area,
    calibration,
    risk,
    squared,
    stated,
    tokens_per_point,
)
from tests.streams.bench.worlds import OPENED, case, grown


def told(units: Iterable[Unit]) -> list[tuple[str, Any]]:
    return [(unit.problem.removeprefix("d/"), unit.value) for unit in units]


def near(value: float | None) -> Any:
    return pytest.approx(value)


def acted(*actions: Any) -> list[Event]:
    return [ControllerActed(round=at, action=a, source="1") for at, a in enumerate(actions)]


# ── Decisions ────────────────────────────────────────────────────────────────────────────────

PATCHED = [
    case("b", "wrong", acted("patch"), ended_by="corrected", confidence=each) for each in (1.0, 0.5)
]
GRADED = [
    case("a", "right", acted("accept"), ended_by="accepted"),
    case("c", "right", acted("restart", "restart", "restart"), ended_by="rounds"),
    case("d", "wrong", acted("restart", "accept"), ended_by="accepted"),
    case("e", "unknown", acted("accept"), ended_by="accepted"),
    case("none", "wrong"),
]


def test_restarts_are_of_decisions_and_of_episodes() -> None:
    cases = [GRADED[0], GRADED[2], GRADED[4]]
    assert told(of.restarts(cases)) == [("a", False), ("d", True), ("d", False)]
    assert told(of.restarted(cases)) == [("a", False), ("d", True)]
    assert of.actions(GRADED[2]) == ["restart", "accept"]


def test_an_episode_with_a_controller_has_a_grade_and_others_have_none() -> None:
    assert [of.grade(one) for one in GRADED] == ["A", "C", "B", "A", None]
    assert [of.grade(one) for one in PATCHED] == ["A", "B"], "as the policy was set to value it"
    assert told(of.graded_a(GRADED)) == [("a", True), ("c", False), ("d", False), ("e", True)]
    assert told(of.right_of("A")(GRADED)) == [("a", True), ("e", None)]
    assert told(of.right_of("C")(GRADED)) == [("c", True)]


def test_a_grade_and_its_outcome_go_together_by_their_ranks() -> None:
    many = [replace(one, problem=case(f"{at}").problem) for at in range(3) for one in GRADED]
    odd = case("odd", "wrong", acted("accept"), ended_by="accepted")
    found = of.grade_and_outcome([*many, odd])
    assert (found.known, found.unknown) == (10, 3)
    assert found.value == near(sum(unit.value or 0 for unit in found.worth) / 10)
    assert {problem for problem, _ in told(found.worth)} == {"0", "1", "2", "odd"}
    up = [case("a", "right", acted("accept"), ended_by="accepted"),
          case("b", "wrong", acted("restart", "restart"), ended_by="rounds")]  # fmt: skip
    assert of.grade_and_outcome(up) == Found(near(1.0), 2, 0)
    assert of.grade_and_outcome(up[:1]) == Found(None, 1, 0)
    assert of.grade_and_outcome([]) == Found(None, 0, 0)


def guided(problem: str, version: int, fits: tuple[float, float] | None) -> Case:
    opened: Any = SimpleNamespace(**(vars(OPENED) | {"memory_version": version}))
    return replace(case(problem), opened=opened, fits=fits)


def test_guidance_fits_its_own_question_and_another_s_by_batch() -> None:
    cases = [guided("a", 1, (0.5, 0.25)), guided("b", 2, (0.75, 0.0)), guided("c", 2, None)]
    assert told(of.fit(0)(cases)) == [("a", 0.5), ("b", 0.75)]
    assert told(of.fit(1)(cases)) == [("a", 0.25), ("b", 0.0)]
    assert told(of.fit(0, 3)(cases)) == [("b", 0.75)]
    assert list(of.FITTED) == [2, 3, 4, 5, 6, 7, 8, 9, 10], "the first batch has no guidance"


# ── Trees ────────────────────────────────────────────────────────────────────────────────────


def mended(problem: str, old: str, new: str) -> Case:
    fixed = NodeRepaired(
        round=0, node="1.0.0", into="2.0.0", parent="opened", step=1, depth=1, before=0.4, value=0.8
    )
    events = [*grown(("1.0.0", old, 0.4)), Generated(answer=new, source="2.0.0"), fixed]
    return case(problem, "right", events, reference="24", answer="24")


REPAIRS = [mended("saved", "7", "24"), mended("lost", "24", "7"), mended("same", "7", "8"),
           mended("kept", "24", "24"), mended("nobody", "\\alpha + 1", "24")]  # fmt: skip


def test_repairs_are_of_what_was_wrong_or_right_before_and_unknown_ones_of_both() -> None:
    assert told(of.rescued(REPAIRS)) == [("saved", 1.0), ("same", 0.0), ("nobody", None)]
    assert told(of.hurt(REPAIRS)) == [("lost", 1.0), ("kept", 0.0), ("nobody", None)]
    found = of.net_repairs([*REPAIRS, mended("saved too", "7", "24")])
    assert (found.value, found.known, found.unknown) == (1.0, 5, 1)
    assert told(found.worth) == [
        ("saved", 1.0), ("lost", -1.0), ("same", 0.0), ("kept", 0.0), ("nobody", 0.0),
        ("saved too", 1.0),
    ]  # fmt: skip


def test_each_reading_of_an_oracle_counts_once_by_how_it_came_in() -> None:
    def read(*parses: Any) -> list[Event]:
        return [
            OracleScored(node=f"{at}", steps=(), rewards=(), value=0.5, source="1", parse=parse)
            for at, parse in enumerate(parses)
        ]

    cases = [
        case("a", events=read("first", "recovered", "first")),
        case("b", events=acted("accept")),
    ]
    assert sorted(told(of.parsed("first")(cases))) == [("a", False), ("a", True), ("a", True)]
    assert sorted(told(of.parsed("recovered")(cases))) == [("a", False), ("a", False), ("a", True)]


# ── Failures ─────────────────────────────────────────────────────────────────────────────────


def lost(problem: str, failed_as: str | None, outcome: Any = "wrong", calls: int = 1) -> Case:
    return replace(case(problem, outcome, usage=Usage(calls=calls)), failed_as=failed_as)


LOST = [lost("a", "F1", calls=3), lost("b", "F4", "withheld", 5), lost("c", None, calls=7)]
KEPT = [case("d", "right"), case("e")]


def test_failures_are_wrong_and_withheld_and_known_by_their_class() -> None:
    every = [*LOST, *KEPT]
    assert told(of.failed("F1")(every)) == [("a", True), ("b", False), ("c", None)]
    assert told(of.classed(every)) == [("a", True), ("b", True), ("c", False)]
    assert told(of.calls_of_failures()(every)) == [("a", 3), ("b", 5), ("c", 7)]
    assert told(of.calls_of_failures("F4")(every)) == [("b", 5)]
    whole = of.failures()(every)
    assert (whole.value, whole.known, whole.unknown) == (3.0, 4, 1)
    assert told(whole.worth) == [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 0.0), ("e", None)]
    one = of.failures("F1")(every)
    assert (one.value, one.known, one.unknown) == (1.0, 2, 1)
    assert told(one.worth) == [("a", True), ("b", False), ("c", None), ("d", 0.0)]
    assert of.failures("F1")(LOST[2:]).value is None, "its class is not known"
    assert of.failures("F1")(KEPT[:1]).value == 0.0, "of no failure, none is of any class"
    assert of.failures("F1")([]).value is None
    assert of.failures()(KEPT[1:]).value is None


def test_the_second_class_needs_no_audit() -> None:
    searched = case("a", "wrong", grown(("1.0.0", "25", 0.9), ("1.1.0", "24", 0.5)), reference="24",
                    answer="25")  # fmt: skip
    assert searched.failed_as is None
    assert told(of.failed("F2")([searched, KEPT[0]])) == [("a", True)]


# ── Arms ─────────────────────────────────────────────────────────────────────────────────────


def advised(problem: str, *pulls: tuple[str | None, float | None], **arms: str) -> Case:
    events: list[Event] = [RewardJudged(round=0, reward=1.0, steps=1, source="1")]
    for at, (arm, reward) in enumerate(pulls, 1):
        events.append(StrategyChosen(round=at, arm=arm, how="ucb"))
        events.append(RewardJudged(round=at, arm=arm, reward=reward, steps=at, source="1"))
    return case(problem, "right", events, arms=arms)


PULLS = [
    advised("a", ("x", 0.5), ("y", 0.25), (None, 0.75)),
    advised("b", ("z", 1.0), ("y", None), z="x"),
]


def test_pulls_are_of_the_arm_that_was_meant() -> None:
    assert of.pulls(PULLS[0]) == [("x", 0.5), ("y", 0.25)]
    assert of.pulls(PULLS[1]) == [("x", 1.0), ("y", None)]
    assert of.strategies(PULLS) == Found(2.0, 4)
    assert of.strategies([case("c")]) == Found(None, 0)
    assert told(of.reward_of_pulls(PULLS)) == [
        ("a", 0.5), ("a", 0.25), ("a", 0.75), ("b", 1.0), ("b", None),
    ]  # fmt: skip
    assert of.advised(PULLS[0]) == [(1, 0.5), (2, 0.25), (3, 0.75)]


def test_regret_is_held_against_the_best_arm_s_mean_which_its_own_pulls_move() -> None:
    found = of.regret(PULLS)
    assert found.value == near(0.75 - (0.5 + 0.25 + 1.0) / 3)
    assert (found.known, found.unknown) == (3, 1)
    often = 3 / 2
    assert told(found.worth) == [
        ("a", near(0.25 + often * -0.25)),
        ("a", near(0.5)),
        ("b", near(-0.25 + often * 0.25)),
    ]
    assert sum(unit.value or 0 for unit in found.worth) / 3 == near(found.value)
    assert of.regret(PULLS[1:]).value == 0.0
    unknown = of.regret([advised("a", ("x", None))])
    assert (unknown.value, unknown.known, unknown.unknown) == (None, 0, 1)
    assert list(of.mean_by_arm([("b", 1.0), ("a", 0.5), ("b", 0.0)]).items()) == [
        ("a", 0.5),
        ("b", 0.5),
    ]


def test_who_began_wrong_and_ended_right_has_recovered() -> None:
    def began(problem: str, outcome: Any, *answers: str | None) -> Case:
        events = [Generated(answer=answer, source="1") for answer in answers]
        return case(problem, outcome, events, reference="24", answer="24")

    cases = [
        began("up", "right", None, "7", "24"),
        began("down", "wrong", "7", "24"),
        began("was right", "right", "24", "7"),
        began("tale", "right", "\\alpha + 1"),
        began("open", "unknown", "7"),
        began("silent", "right", None),
    ]
    assert told(of.recovered(cases)) == [
        ("up", True),
        ("down", False),
        ("tale", None),
        ("open", None),
    ]


def felt(problem: str, outcome: Any, *values: float, kind: Any = "FOK") -> Case:
    events = [ExperienceFelt(experience=kind, source="feel", value=v, round=0) for v in values]
    return case(problem, outcome, events)


def test_a_feeling_s_area_is_over_what_was_answered() -> None:
    cases = [felt("a", "right", 0.9), felt("b", "wrong", 0.5), felt("c", "wrong", 0.95), felt("d", "unknown", 0.1),
             felt("e", "withheld", 0.1), case("f", "right"), felt("g", "right", 0.1, kind="JOL")]  # fmt: skip
    found = of.felt("FOK")(cases)
    assert (found.value, found.known, found.unknown) == (0.5, 3, 2)
    assert of.felt("FOK", of_wrong=True)(cases).value == 0.5
    sure = [*cases[:2], felt("c", "wrong", 0.5, 0.1)]
    assert of.felt("FOK")(sure).value == 1.0
    assert of.felt("FOK", last=True, of_wrong=True)(sure).value == 0.0


# ── Replies ──────────────────────────────────────────────────────────────────────────────────


def test_a_default_in_place_of_a_reply_is_unread_in_each_of_its_names() -> None:
    kinds: Sequence[Any] = ("ok", "fallback", "unreadable", "defaulted", "first")
    scored = [
        OracleScored(node="n", steps=(), rewards=(), value=0.5, source="1", parse=kind)
        for kind in ("first", "defaulted", "recovered")
    ]
    said = [Generated(source="1", parse=kind) for kind in ("ok", "fallback")]
    asked = Completed(asked="Complete a x", text="t", finish="stop", model="m")
    units = told(of.unread([case("a", events=[*scored, *said, asked])]))
    assert units == [("a", False), ("a", True), ("a", False), ("a", False), ("a", True)]
    assert {kind for kind in kinds if kind in of.UNREAD} == {"fallback", "unreadable", "defaulted"}


# ── Figures ──────────────────────────────────────────────────────────────────────────────────

YES = [Unit("a", True), Unit("a", False), Unit("b", True), Unit("c", None)]


def test_a_metric_prints_what_it_is_over_with_the_interval_of_its_kind() -> None:
    parts = [(1.0, 2), (1.0, 1)]
    share = share_of("s", lambda _: iter(YES))
    found = share.found([])
    assert (found.value, found.known, found.unknown, found.sample) == (
        near(200 / 3),
        3,
        1,
        tuple(YES),
    )
    assert (share.about, share.places, share.of([])) == ("s", 2, found.value)
    low, high = share_interval(parts) or (0, 0)
    assert share.between([found]) == (100 * low, 100 * high)
    twice = share_interval([(2.0, 4), (2.0, 2)])
    assert share.between([found, found]) == tuple(100 * each for each in twice or ())
    mean = mean_of("m", lambda _: YES, 3)
    assert (mean.of([]), mean.places) == (near(2 / 3), 3)
    assert mean.interval(YES) == mean_interval(parts)
    count = count_of("c", over(lambda _: YES))
    assert (count.interval(YES), count.places) == (count_interval(parts), 0)
    bounded = Metric("b", over(lambda _: YES), bounded=True)
    assert bounded.interval(YES) == bounded_interval(parts)
    nothing = over(lambda _: [Unit("a", None)])([])
    assert nothing == Found(None, 0, 1, (Unit("a", None),))
    assert share.between([nothing]) is None
    assert told(each(lambda one: one.closed.confidence)([case("a"), case("b", confidence=0.5)])) == [
        ("a", None), ("b", 0.5),
    ]  # fmt: skip
    assert (total_of([1, 2]), total_of([1, None]), total_of([])) == (3, None, 0)


def test_a_sample_is_of_units_or_else_of_what_each_is_worth() -> None:
    worth = (Unit("a", 1.0),)
    assert Found(1.0, 1, worth=worth).sample == worth
    assert Found(1.0, 1, units=tuple(YES), worth=worth).sample == tuple(YES)


STATED = [
    case("c", "right", confidence=0.75, seed=1),
    case("a", "wrong", confidence=0.25),
    case("b", "right", confidence=0.25),
    case("d", "unknown", confidence=0.5),
    case("e", "right"),
    case("f", "withheld", confidence=0.5),
]


def test_what_is_stated_is_of_answers_that_were_graded_in_the_order_of_their_names() -> None:
    items, unknown = stated(STATED)
    assert items == [("d/a", 0.25, False), ("d/b", 0.25, True), ("d/c", 0.75, True)]
    assert unknown == 2, "a withheld answer states nothing"
    assert calibration(items, unknown).value == near((2 * 0.25 + 0.25) / 3)
    brier = squared(items, unknown)
    assert (brier.value, brier.known, brier.unknown) == (
        near((0.0625 * 2 + 0.5625) / 3),
        3,
        2,
    )
    assert told(brier.units) == [("a", 0.0625), ("b", 0.5625), ("c", 0.0625)]
    risky = risk(items, unknown)
    assert risky.value == near(sum(unit.value or 0 for unit in risky.worth) / 3)
    assert [problem for problem, _ in told(risky.worth)] == ["a", "b", "c"]
    ranked = area(items, unknown)
    assert (ranked.value, ranked.unknown, len(ranked.worth)) == (0.75, 2, 3)
    assert area(items[1:], 0) == Found(None, 2, 0)
    for measure in (calibration, squared, risk, area):
        assert measure([], 4).value is None
        assert measure([], 4).unknown == 4
    assert AUROC.of(STATED) == 0.75


def spent(problem: str, outcome: Any, tokens: int | None, seed: int = 0) -> Case:
    usage = Usage(calls=1, prompt_tokens=tokens, completion_tokens=None if tokens is None else 0)
    return case(problem, outcome, usage=usage, seed=seed)


def test_points_for_tokens_are_of_what_is_known_on_both_sides() -> None:
    said: Any = [
        ("a", "right", 100),
        ("b", "wrong", 300),
        ("c", "unknown", 200),
        ("d", "right", None),
    ]
    cases = [spent(*each) for each in said]
    found = EFFICIENCY.found(cases)
    points, tokens = 50, 200
    assert found.value == near(1_000 * points / tokens)
    assert (found.known, found.unknown) == (2, 2)
    ratio = found.value or 0
    assert told(found.worth) == [
        ("a", near(ratio * (1 + 1 + 0.5))),
        ("b", near(ratio * (1 - 1 - 0.5))),
    ]
    nothing = EFFICIENCY.found([spent("a", "wrong", 100)])
    assert (nothing.value, nothing.worth) == (0.0, ())
    assert EFFICIENCY.of([spent("a", "right", 0)]) is None
    assert EFFICIENCY.of([spent("a", "unknown", 5)]) is None
    assert ACCURACY.of(cases) == near(200 / 3), "over what is graded, whoever knows what it cost"


def test_tokens_for_a_point_are_of_the_problems_that_are_known_on_both_sides() -> None:
    mine = [spent("a", "right", 300), spent("a", "right", 100, 1), spent("b", "right", 400),
            spent("c", "right", None), spent("d", "unknown", 1)]  # fmt: skip
    base = [spent("a", "wrong", 100), spent("b", "right", 100), spent("c", "wrong", 1),
            spent("d", "wrong", 1), spent("e", "wrong", 1)]  # fmt: skip
    found = tokens_per_point(mine, base)
    assert (found.value, found.known, found.unknown) == (near(200 / 50), 2, 3)
    assert found.interval is None or found.interval[0] <= 4 <= found.interval[1]
    less = tokens_per_point(base, mine)
    assert (less.value, less.interval, less.known, less.unknown) == (None, None, 2, 3)
    none = tokens_per_point(mine[3:], base)
    assert (none.value, none.known, none.unknown) == (None, 0, 5)
