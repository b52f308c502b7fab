"""The figures of mechanisms: exact where nothing is drawn, and their intervals cover truths that were set by hand.

With ``test_spreads`` this is every figure that a recipe names: one that is in neither fails here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import comb
from random import Random
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest

from handlers.answers.normalise import canonical
from handlers.learning.metrics import ece
from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.events.monitoring import ExperienceFelt
from schemas.events.reasoning import ControllerActed, Generated
from schemas.events.search import (
    Grown,
    NodeExpanded,
    NodePruned,
    NodeRepaired,
    OracleScored,
    SearchDecided,
)
from schemas.events.strategy import RewardJudged, StrategyChosen
from schemas.outcome import Outcome
from schemas.usage import Usage
from streams.analysis.calibrated import calibration_interval
from streams.analysis.cases import Case
from streams.analysis.control import DEPTHS
from streams.analysis.intervals import (
    correlation_interval,
    count_interval,
    ratio_interval,
    sum_interval,
    wilson,
)
from streams.analysis.mechanisms import FITTED
from streams.analysis.statistics import left_out, mcnemar, spearman
from streams.bench import curves
from streams.bench.cells import ours
from streams.bench.compare import arms
from streams.bench.curves import POINTS
from streams.bench.metrics import METRICS
from streams.bench.recipe import COMPARED, P_VALUE, TOKENS_PER_POINT, Place, load, names
from streams.bench.results import Episode, Results
from tests.streams.bench.test_cells import HERE, recipe
from tests.streams.bench.test_spreads import COVERED as PLAIN
from tests.streams.bench.test_spreads import alike
from tests.streams.bench.worlds import case, episodes, grown

WORLDS, PROBLEMS, MANY = 400, 60, 240
"""Problems of a world, and of one whose failures of each class are to be some."""
Draw = Callable[[], float]
Made = Callable[[str, Draw], Case]
World = tuple[Made, Mapping[str, float]]


def value(name: str, cases: Sequence[Case]) -> tuple[Any, int, int]:
    found = METRICS[name].found(cases)
    return found.value, found.known, found.unknown


def graded(one: Case) -> Case:
    """The same, by a grader that is quick: reading a number takes most of a world's time."""
    return replace(one, grade=alike)


# ── Exact ────────────────────────────────────────────────────────────────────────────────────


def test_regret_is_against_the_best_arm_s_mean_and_is_the_curve_s_end() -> None:
    cases = [pulled("a", ("x", 0.9), ("y", 0.1)), pulled("b", ("x", 0.7), ("y", None))]
    assert value("regret", cases) == (pytest.approx(0.8 - 1.7 / 3), 3, 1)
    made = arms(episodes(*cases))
    assert made is not None
    assert made["regret"][-1] == pytest.approx(3 * (0.8 - 1.7 / 3), abs=1e-6)
    assert value("regret", [pulled("c", ("x", None))]) == (None, 0, 1)
    worth = METRICS["regret"].found(cases).worth
    assert fmean(unit.value or 0 for unit in worth) == pytest.approx(0.8 - 1.7 / 3)


def test_a_calibration_error_begins_at_none_where_chance_alone_makes_as_much() -> None:
    even = [(0.5, at % 2 == 0) for at in range(40)]
    low, high = calibration_interval(even) or (1, 1)
    assert (low, ece(even)) == (0, 0)
    assert 0.05 < high < 0.2
    sure = [(0.9, False)] * 40
    low, high = calibration_interval(sure) or (1, 0)
    assert 0.75 < low < ece(sure) == pytest.approx(0.9)
    assert high <= 0.9 + 1e-9, "no gap is wider than its confidence lets it be"
    assert calibration_interval([]) is None
    seeds = [METRICS["ece"].found([confident([(0.9, 0.0)])(str(at), Random(seed).random) for at in range(9)])
             for seed in (1, 2)]  # fmt: skip
    assert METRICS["ece"].between(seeds) == METRICS["ece"].between(seeds[:1])


def test_what_is_left_without_each_says_what_it_is_worth() -> None:
    draw = Random(3).random
    pairs = [(draw(), draw()) for _ in range(30)]

    def rho(items: Sequence[tuple[float, float]]) -> float | None:
        return spearman([a for a, _ in items], [b for _, b in items])

    worth = left_out(pairs, rho)
    assert worth is not None
    assert fmean(worth) == pytest.approx(rho(pairs))
    assert left_out([(1.0, 1.0), (2.0, 2.0)], rho) is None, "without one of them there is none"
    assert correlation_interval([(1.0, 1)] * 5) is None


def test_intervals_of_counts_and_sums_are_of_as_many_problems() -> None:
    low, high = wilson(0.25, 8)
    assert count_interval([(1, 1), (0, 1), (0, 1), (0, 1)] * 2) == pytest.approx(
        (8 * low, 8 * high)
    )
    assert count_interval([]) is None
    same = sum_interval([(0, 1)] * 10)
    assert same == pytest.approx((-10 * wilson(0, 10)[1], 10 * wilson(0, 10)[1]))
    assert sum_interval([(1, 1)]) is None
    found = sum_interval([(1, 1), (0, 1), (-1, 1), (1, 1)])
    assert found is not None
    assert fmean(found) == pytest.approx(1)


def test_a_ratio_s_interval_is_unknown_where_its_lower_side_may_be_nothing() -> None:
    assert ratio_interval([(10, 1), (10, -1), (10, 0)]) is None
    assert ratio_interval([(10, 1)]) is None
    low, high = ratio_interval([(10, 1), (12, 1), (8, 1)]) or (0, 0)
    assert low < 10 < high
    assert low + high == pytest.approx(20)


# ── Worlds ───────────────────────────────────────────────────────────────────────────────────


def repairing(problem: str, draw: Draw) -> Case:
    """One to three repairs; two of five were right before, of which one in five is lost, half of the rest saved."""
    saved, events = 0.3 if draw() < 0.5 else 0.7, list[Event]()
    for at in range(1 + int(3 * draw())):
        before = draw() < 0.4
        after = draw() >= 0.2 if before else draw() < saved
        old, new = ("24" if right else "25" for right in (before, after))
        events += grown((f"1.{at}.0", old, 0.4))
        events.append(Generated(answer=new, source=f"2.{at}.0"))
        events.append(
            NodeRepaired(
                round=0, node=f"1.{at}.0", into=f"2.{at}.0", parent="opened", step=1, depth=1,
                before=0.4, value=0.8,
            )
        )  # fmt: skip
    return graded(case(problem, "right", events, reference="24", answer="24"))


GRADES = {"A": (0.5, 0.9), "B": (0.3, 0.6), "C": (0.2, 0.3)}
"""How often each grade is given, and how often it is right."""


def marked(problem: str, draw: Draw) -> Case:
    """A case of grade A, B or C."""
    drawn = draw()
    letter = "A" if drawn < 0.5 else "B" if drawn < 0.8 else "C"
    last: Any = "restart" if letter == "C" else "accept"
    actions: list[Any] = [last] if letter == "A" else ["restart", last]
    events: list[Event] = [
        ControllerActed(round=at, action=action, source=str(at))
        for at, action in enumerate(actions)
    ]
    ended_by = "max_rounds" if letter == "C" else "accepted"
    right = draw() < GRADES[letter][1]
    return case(problem, "right" if right else "wrong", events, ended_by=ended_by)


def rho_of_grades() -> float:
    """Pearson's correlation of middle ranks, of the grades and outcomes as they are drawn."""
    right = sum(share * chance for share, chance in GRADES.values())
    below = {"C": 0.0, "B": 0.2, "A": 0.5}
    middle = {letter: below[letter] + share / 2 for letter, (share, _) in GRADES.items()}
    both = sum(
        share * (middle[letter] - 0.5) * (chance - right)
        for letter, (share, chance) in GRADES.items()
    )
    spread = sum(share * (middle[letter] - 0.5) ** 2 for letter, (share, _) in GRADES.items())
    return float(both / (spread * right * (1 - right)) ** 0.5)


WORDS = ("alpha", "beta", "gamma", "delta")


def worded(problem: str, draw: Draw) -> Case:
    """An answer of some of a reference's four words; one in five has none of them."""
    count = int(5 * draw())
    said = " ".join(WORDS[:count]) or "omega"
    one = case(problem, "wrong", reference=" ".join(WORDS), answer=said)
    return replace(one, problem=one.problem.model_copy(update={"dataset": "hotpotqa"}))


F1 = fmean(2 * count / (count + 4) for count in range(5))
CLASSES = {"F1": 0.15, "F2": 0.2, "F3": 0.2, "F4": 0.25, "unclassified": 0.1}
"""How often a failure is of each class; the others are of none that is known."""


def failing(problem: str, draw: Draw) -> Case:
    """Right every second time; else of a class, at 6 to 14 calls."""
    if draw() < 0.5:
        return case(problem, "right")
    drawn, left, name = draw(), 0.0, None
    for each, share in CLASSES.items():
        left += share
        if name is None and drawn < left:
            name = each
    worth = 0.9 if name == "F2" else 0.4
    events = grown(("1.0.0", "25", worth), ("1.1.0", "24", 0.5))
    calls = Usage(calls=6 + int(9 * draw()))
    lost = case(problem, "wrong", events, reference="24", answer="25", usage=calls)
    return graded(replace(lost, failed_as=name))


def pulled(problem: str, *pulls: tuple[str, float | None]) -> Case:
    """A first round without advice, then these: arm and reward."""
    events: list[Event] = [RewardJudged(round=0, reward=1.0, steps=1, source="1")]
    for at, (arm, reward) in enumerate(pulls, 1):
        events.append(StrategyChosen(round=at, arm=arm, how="ucb"))
        events.append(RewardJudged(round=at, arm=arm, reward=reward, steps=at, source="1"))
    return case(problem, events=events)


ARMS = {"a": (0.5, 0.7), "b": (0.3, 0.4), "c": (0.2, 0.3)}
"""How often each arm is pulled, and its mean reward."""


def choosing(problem: str, draw: Draw) -> Case:
    """One to four pulls, whose rewards lie around their arm's mean and what the problem adds to it."""
    more, pulls = 0.4 * draw() - 0.2, list[tuple[str, float | None]]()
    for _ in range(1 + int(4 * draw())):
        drawn = draw()
        arm = "a" if drawn < 0.5 else "b" if drawn < 0.8 else "c"
        pulls.append((arm, ARMS[arm][1] + more + 0.2 * draw() - 0.1))
    return pulled(problem, *pulls)


REGRET = 0.7 - sum(share * mean for share, mean in ARMS.values())


def sampled(n: int, *chances: float) -> Made:
    """So many samples, of which as many are right as these chances say, drawn for the problem."""

    def made(problem: str, draw: Draw) -> Case:
        chance = chances[int(len(chances) * draw())]
        said = ["24" if draw() < chance else "25" for _ in range(n)]
        events: list[Event] = [
            Generated(answer=each, source=str(at)) for at, each in enumerate(said)
        ]
        return graded(case(problem, "right", events, reference="24", answer="24"))

    return made


def voted(n: int, chance: float) -> float:
    """How often the vote of n samples is right; a tie is decided by the first, which is either."""

    def often(right: int) -> float:
        return float(comb(n, right) * chance**right * (1 - chance) ** (n - right))

    more = sum(often(right) for right in range(n + 1) if 2 * right > n)
    return more + (often(n // 2) / 2 if n % 2 == 0 else 0.0)


def acting(depth: int) -> Made:
    """One to three nodes at a depth, each gone on with, pruned or repaired; every second search stops there."""

    def made(problem: str, draw: Draw) -> Case:
        names = [f"1.{at}.0" for at in range(1 + int(3 * draw()))]
        children = tuple(Grown(node=name, strategy="direct", depth=depth) for name in names)
        events: list[Event] = [NodeExpanded(round=0, node="opened", children=children)]
        for at, name in enumerate(names):
            drawn = draw()
            if drawn < 0.5:
                events.append(NodeExpanded(round=1, node=name, children=()))
            elif drawn < 0.8:
                events.append(NodePruned(round=1, node=name, value=0.1))
            else:
                events.append(
                    NodeRepaired(
                        round=1, node=name, into=f"2.{at}.0", parent="opened", step=1, depth=depth,
                        before=0.4, value=0.8,
                    )
                )  # fmt: skip
        if draw() < 0.5:
            events.append(SearchDecided(action="stop", node=names[0], calls=1))
        return case(problem, "wrong", events)

    return made


TAKEN = {"expand": 1.0, "prune": 0.6, "repair": 0.4, "stop": 0.5}
"""How many of each action there are at that depth, beside the root's own expansion at depth 0."""


def at_depth(depth: int) -> dict[str, float]:
    root = depth == 0
    shares = {
        name: 100 * (count + (root and name == "expand")) / (2.5 + root)
        for name, count in TAKEN.items()
    }
    here = {f"act_{name}_at_{depth}": share for name, share in shares.items()}
    return here | ({f"act_{name}": share for name, share in shares.items()} if root else {})


def ending(problem: str, draw: Draw) -> Case:
    """A search that ends right by itself or by a repair, wrong with a right answer pruned or without, or withheld."""
    drawn = draw()
    events = grown(("1.0.0", "24" if drawn >= 0.6 else "25", 0.4))
    said, ended = "24", "1.0.0"
    outcome: Outcome = "right"
    if drawn < 0.2:
        said, outcome = "25", "wrong"
    elif drawn < 0.35:
        return graded(case(problem, "withheld", events))
    elif drawn < 0.6:
        events.append(Generated(answer="24", source="2.0.0"))
        events.append(
            NodeRepaired(
                round=0, node="1.0.0", into="2.0.0", parent="opened", step=1, depth=1, before=0.4, value=0.8
            )
        )  # fmt: skip
        ended = "2.0.0"
    elif drawn < 0.75:
        events.append(NodePruned(round=0, node="1.0.0", value=0.1))
        said, outcome = "25", "wrong"
    events.append(SearchDecided(action="stop", node=ended, calls=1))
    return graded(case(problem, outcome, events, reference="24", answer=said))


FLOWS = {"incorrect": 20, "abstained": 15, "repaired": 25, "over_pruned": 15, "correct": 25}


def guided(batch: int) -> Made:
    """Guidance of a batch, which is nearer to its own question than to another."""

    def made(problem: str, draw: Draw) -> Case:
        one = case(problem, "right")
        opened: Any = SimpleNamespace(memory_version=batch - 1)
        return replace(one, opened=opened, fits=(0.4 + 0.4 * draw(), 0.1 + 0.4 * draw()))

    return made


def audited(problem: str, draw: Draw) -> Case:
    """One to three audited prunes, of which easy problems lose more; the relaxed run is better, worse or alike."""
    lost = 0.2 if draw() < 0.5 else 0.4
    spared = tuple(draw() < lost for _ in range(1 + int(3 * draw())))
    return replace(
        case(problem, "wrong"), spared=spared, gap=float(int(4 * draw()) > 1) - (draw() < 0.2)
    )


def judged(problem: str, draw: Draw) -> Case:
    """Two to four calls of a judge at 1 to 3 thousandths, beside one of another role that is dearer."""
    events: list[Event] = [
        Completed(asked="complete step x", text="t", finish="stop", model="m", cost=9.0)
    ]
    for _ in range(2 + int(3 * draw())):
        cost = 0.001 + 0.002 * draw()
        events.append(
            Completed(asked="complete judge x", text="t", finish="stop", model="m", cost=cost)
        )
    return case(problem, events=events)


def read_again(problem: str, draw: Draw) -> Case:
    """Three readings of an oracle: at once, after the re-prompt or by default."""
    bad, events = 0.1 if draw() < 0.5 else 0.5, list[Event]()
    for _ in range(3):
        drawn = draw()
        parse: Any = "recovered" if drawn < bad else "defaulted" if drawn < bad + 0.2 else "first"
        events.append(
            OracleScored(node="1.0.0", steps=(), rewards=(), value=0.5, source="1", parse=parse)
        )
    return case(problem, events=events)


def confident(values: Sequence[tuple[float, float]]) -> Made:
    """One of these confidences, each right as often as stands beside it."""

    def made(problem: str, draw: Draw) -> Case:
        confidence, chance = values[int(len(values) * draw())]
        right = draw() < chance
        return case(
            problem, "right" if right else "wrong", confidence=confidence, confidence_source="stated"
        )  # fmt: skip

    return made


def leaning(by: Callable[[float], float]) -> Made:
    """Any confidence, right as often as this says of it."""

    def made(problem: str, draw: Draw) -> Case:
        confidence = draw()
        right = draw() < by(confidence)
        return case(
            problem, "right" if right else "wrong", confidence=confidence, confidence_source="stated"
        )  # fmt: skip

    return made


def feeling(experience: Any, *, of_wrong: bool = False) -> Made:
    """A feeling of .2, .5 or .8, which comes true less often than it says."""

    def made(problem: str, draw: Draw) -> Case:
        said = (0.2, 0.5, 0.8)[int(3 * draw())]
        true = draw() < said / 2
        event = ExperienceFelt(experience=experience, source="assess", value=said, round=0)
        return case(problem, "right" if true is not of_wrong else "wrong", [event])

    return made


VOTES = ((0.4, 0.2), (0.6, 0.35), (0.8, 0.5), (1.0, 0.8))
"""Shares of votes, and how often such a vote is right: all too sure of themselves."""

COVERED: list[World] = [
    (repairing, {"rescue": 50, "hurt": 20, "net_repairs": PROBLEMS * 2 * (0.6 * 0.5 - 0.4 * 0.2)}),
    (marked, {"grade_rho": rho_of_grades(), "accuracy_a": 90}),
    (worded, {"f1": F1, "f1_percent": 100 * F1}),
    (
        failing,
        {"failures": MANY / 2, "failure": 90, "failure_calls": 10}
        | {f"failures_{name.lower()}": MANY / 2 * share for name, share in CLASSES.items()}
        | {f"failure_{name.lower()}": 100 * share / (1 if name == "F2" else 0.9) for name, share in CLASSES.items()}
        | {f"failure_calls_{name.lower()}": 10 for name in CLASSES},
    ),
    (choosing, {"regret": REGRET}),
    (judged, {"judge_cost": 2.0}),
    *((acting(depth), at_depth(depth)) for depth in DEPTHS),
    *((guided(batch), {f"guide_fit_batch_{batch}": 0.6, f"guide_fit_random_batch_{batch}": 0.3}) for batch in FITTED),
    (guided(2), {"guide_fit": 0.6, "guide_fit_random": 0.3}),
    (ending, {f"flow_{name}": share for name, share in FLOWS.items()}),
    (audited, {"false_prunes": 30, "prune_precision": 70, "oracle_gap": 0.3}),
    (read_again, {"parse_recovered": 30}),
    (marked, {"right": PROBLEMS * sum(share * chance for share, chance in GRADES.values())}),
    (confident(VOTES), {"ece": fmean(said - true for said, true in VOTES)}),
    (leaning(lambda said: said), {"ece": 0.0}),
    (leaning(lambda said: said / 2), {"ece": 0.25}),
    *((feeling(each), {f"ece_{each.lower()}": 0.25}) for each in ("EOL", "FOK", "JOL")),
    (feeling("difficulty", of_wrong=True), {"ece_difficulty": 0.25}),
    *((sampled(n + 2, 1 / n), {f"any_of_{n}": 100 * (1 - (1 - 1 / n) ** n)}) for n in POINTS[1:]),
    *((sampled(n, 0.3, 0.6), {f"vote_of_{n}": 50 * (voted(n, 0.3) + voted(n, 0.6))}) for n in POINTS),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("made", "truths"),
    COVERED,
    ids=["-".join(truths)[:60] for _, truths in COVERED],
)
def test_intervals_cover_the_truth(
    made: Made, truths: Mapping[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves, "DRAWS", 1)  # an order more or less changes no truth
    monkeypatch.setattr(curves, "canonical", lru_cache(maxsize=None)(canonical))
    monkeypatch.setattr(curves, "order", lru_cache(maxsize=None)(curves.order))
    held = dict.fromkeys(truths, 0)
    for world in range(WORLDS):
        draw = Random(world).random
        cases = [made(str(at), draw) for at in range(MANY if made is failing else PROBLEMS)]
        for name, truth in truths.items():
            found = METRICS[name].between([METRICS[name].found(cases)])
            assert found is not None
            held[name] += found[0] <= truth <= found[1]
    shares = {name: count / WORLDS for name, count in held.items()}
    most = {name: 1.0 if truth == 0 else 0.98 for name, truth in truths.items()}
    missed = {name: share for name, share in shares.items() if not 0.92 <= share <= most[name]}
    assert missed == {}, "of what is 0 and cannot be less, one side alone can miss"


# ── Of two runs ──────────────────────────────────────────────────────────────────────────────


def told(metric: str, mine: Sequence[Case], other: Sequence[Case]) -> dict[str, Any]:
    groups: dict[tuple[str, str], list[Episode]] = {
        ("a", "d"): episodes(*mine),
        ("b", "d"): episodes(*other),
    }
    place = Place(run="a", data="d", metric=metric, less=("b",))
    found: dict[str, Any] = ours(place, recipe("a", "b"), Results((), groups=groups), HERE)["ours"]
    return found


def spent(problem: str, draw: Draw, *, chance: float, tokens: int) -> Case:
    usage = Usage(calls=1, prompt_tokens=tokens + int(201 * draw()), completion_tokens=0)
    return case(problem, "right" if draw() < chance else "wrong", usage=usage)


@pytest.mark.slow
def test_the_interval_of_tokens_for_a_point_covers_the_truth() -> None:
    held = 0
    for world in range(WORLDS):
        draw = Random(world).random
        mine = [spent(str(at), draw, chance=0.9, tokens=900) for at in range(2 * PROBLEMS)]
        other = [spent(str(at), draw, chance=0.3, tokens=300) for at in range(2 * PROBLEMS)]
        low, high = told(TOKENS_PER_POINT, mine, other)["interval"]
        held += low <= 600 / 60 <= high
    assert 0.92 <= held / WORLDS <= 0.98


@pytest.mark.slow
def test_a_p_value_is_small_in_few_worlds_without_a_difference() -> None:
    small = 0
    for world in range(WORLDS):
        draw = Random(world).random
        mine, other = (
            [spent(str(at), draw, chance=0.5, tokens=0) for at in range(PROBLEMS)] for _ in "ab"
        )
        small += told(P_VALUE, mine, other)["value"] <= 0.05
    assert 0.01 <= small / WORLDS <= 0.05, "it is exact, and so somewhat careful"
    assert mcnemar(5, 0) == 2 / 32


# ── All of them ──────────────────────────────────────────────────────────────────────────────

FACTS: Mapping[str, str] = {
    "strategies": "the arms that a run pulled: a count of what its log holds, and no estimate",
    P_VALUE: "a test of two runs: how seldom it is small without a difference is tested above",
}
"""Figures without an interval, and why."""


def test_every_figure_of_every_recipe_has_a_world_or_is_a_fact() -> None:
    named = {
        part.metric
        for name in names()
        for table in load(name).tables
        for row in table.rows.values()
        for column in table.columns.values()
        for place in [row.joined(column)]
        for part in (place, *place.parts)
        if part.metric is not None
    }
    covered = {name for _, truths in (*PLAIN, *COVERED) for name in truths} | {TOKENS_PER_POINT}
    assert {*METRICS, *COMPARED, *named} - covered == FACTS.keys()
    assert (
        METRICS["strategies"].interval(METRICS["strategies"].found([pulled("a", ("x", 1))]).sample)
        is None
    )
