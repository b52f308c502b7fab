"""Every figure of a recipe is exact in worlds whose truth is set by hand, and its interval covers the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.events.monitoring import ExperienceFelt
from schemas.events.reasoning import ControllerActed, Generated, KnowledgeReached
from schemas.events.search import Grown, NodeExpanded, NodePruned, NodeRepaired
from schemas.events.strategy import RewardJudged, StrategyChosen
from schemas.identity import hash01
from schemas.outcome import Outcome
from schemas.usage import Usage
from streams.research.analysis.cases import Case
from streams.research.analysis.figures import outcomes
from streams.research.analysis.found import Unit
from streams.research.analysis.intervals import share_interval, wilson
from streams.research.analysis.statistics import paired_interval
from streams.research.analysis.trees import tree_figures, under
from streams.research.bench.compare import arms, progress, reward_curve
from streams.research.bench.metrics import METRICS
from streams.research.bench.results import accuracy_interval, measured
from streams.research.bench.tables import ours
from tests.streams.bench.worlds import case, episodes, grown

TALE = "\\alpha + 1"
"""What no grader compares with a number."""


def value(name: str, cases: Iterable[Case]) -> tuple[Any, int, int]:
    """A figure, of how many it is, and how many are unknown."""
    found = METRICS[name].found([*cases])
    return found.value, found.known, found.unknown


# ── Outcomes and cost ────────────────────────────────────────────────────────────────────────

MIXED: tuple[Outcome, ...] = ("right", "right", "right", "wrong", "withheld", "unknown", "unknown")


def test_an_accuracy_says_what_it_is_over() -> None:
    cases = [case(str(at), outcome) for at, outcome in enumerate(MIXED)]
    assert value("accuracy", cases) == (60.0, 5, 2)
    assert value("exact_match", cases) == (0.6, 5, 2)
    assert value("coverage", cases) == (pytest.approx(500 / 7), 7, 0)
    assert value("at_least", cases) == (pytest.approx(300 / 7), 7, 0)
    assert value("commission", cases) == (20.0, 5, 2)
    assert value("omission", cases) == (20.0, 5, 2)
    assert value("right", cases) == (3.0, 5, 2)
    assert value("accuracy", []) == value("tokens", []) == (None, 0, 0)


def test_tokens_are_of_what_is_known_and_what_is_not_is_counted() -> None:
    """One reply without its usage hid the whole run's tokens, or dropped its seed in silence."""
    spent = [Usage(calls=2, prompt_tokens=n, completion_tokens=10) for n in (90, 190)]
    cases = [case("a", "right", usage=spent[0]), case("b", "wrong", usage=spent[1]), case("c")]
    assert value("tokens", cases) == (150.0, 2, 1)
    assert value("calls", cases) == (pytest.approx(5 / 3), 3, 0)
    assert value("points_per_1k_tokens", cases)[0] == pytest.approx(1_000 * 50 / 150)
    found = measured("tokens", episodes(*cases))
    assert found is not None
    assert ours({"ours": found}).startswith("150 [")
    assert ours({"ours": found}).endswith(", 2 of 3")


def test_replies_cut_off_read_by_a_default_or_without_guidance_are_counted() -> None:
    def reply(finish: str) -> Completed:
        return Completed(asked="complete step", text="t", finish=finish, model="m")

    def reached(result: Any) -> KnowledgeReached:
        return KnowledgeReached(
            round=0, role="monitor", source="1", result=result, bullets=1, items=()
        )

    events = [reply("stop"), reply("length"), reply("stop"), reply("stop")]
    read = [Generated(source="1", parse="ok"), Generated(source="2", parse="fallback")]
    guided = [reached("composed"), reached("regenerated"), reached("fallback")]
    cases = [case("a", events=[*events, *read, *guided])]
    assert value("cut_off", cases) == (25.0, 4, 0)
    assert value("unread", cases) == (50.0, 2, 0)
    assert value("unguided", cases)[:2] == (pytest.approx(100 / 3), 3)


# ── MC² ──────────────────────────────────────────────────────────────────────────────────────


def decided(*actions: Any) -> list[Event]:
    return [
        ControllerActed(round=at, action=action, source=str(at))
        for at, action in enumerate(actions)
    ]


def test_restarts_are_counted_as_the_log_spells_them() -> None:
    """Figure 3 printed 0.0 for every pass: the log says "restart", the figure looked for "RESTART"."""
    cases = [
        case("a", events=decided("accept")),
        case("b", events=decided("restart", "accept")),
        case("c", events=decided("restart", "restart", "restart")),
        case("no controller"),
    ]
    assert value("restarts", cases) == (pytest.approx(400 / 6), 6, 0)
    assert value("restarted", cases) == (pytest.approx(200 / 3), 3, 0)
    assert value("restarts", cases[-1:]) == value("restarted", []) == (None, 0, 0)
    made = progress(episodes(*cases), lambda one: 1 if one.case.problem.id == "a" else 2)
    assert made is not None
    assert [point["restarts"] for point in made["points"]] == [0, 80]


def test_grades_have_the_accuracy_of_what_is_graded() -> None:
    def graded(problem: str, outcome: Outcome, *actions: str, ended_by: str = "accepted") -> Case:
        return case(problem, outcome, decided(*actions), ended_by=ended_by)

    cases = [
        graded("a", "right", "accept"),
        graded("b", "unknown", "accept"),
        graded("c", "wrong", "restart", "accept"),
        graded("d", "right", "restart", "restart", ended_by="rounds"),
        graded("e", "wrong", "restart", "restart", ended_by="rounds"),
    ]
    assert value("grade_a", cases) == (40.0, 5, 0)
    assert value("accuracy_a", cases) == (100.0, 1, 1)
    assert value("accuracy_c", cases) == (50.0, 2, 0)
    assert value("grade_rho", cases)[1:] == (4, 1)


# ── CoT2-Meta ────────────────────────────────────────────────────────────────────────────────


def mended(old: str, new: str) -> list[Event]:
    """A trajectory with this answer that was repaired into one with that."""
    fixed = NodeRepaired(
        round=0, node="1.0.0", into="2.0.0", parent="opened", step=1, depth=1, before=0.4, value=0.8
    )
    return [*grown(("1.0.0", old, 0.4)), Generated(answer=new, source="2.0.0"), fixed]


def test_rescued_and_hurt_are_judged_as_answers_are_and_the_unknown_is_neither() -> None:
    """A right answer in other words counted as hurt, and one that nobody could judge as wrong."""
    respelt = case("respelt", "right", mended("0.5", "\\frac{1}{2}"), reference="0.5", answer="0.5")
    saved = case("saved", "right", mended("7", "0.5"), reference="0.5", answer="0.5")
    lost = case("lost", "wrong", mended("0.5", "7"), reference="0.5", answer="7")
    nobody = case("nobody", "right", mended("a long tale", "x"), reference="x")
    cases = [respelt, saved, lost, nobody]
    assert nobody.judged("a long tale") is None
    assert value("rescue", cases) == (100.0, 1, 1)
    assert value("hurt", cases) == (50.0, 2, 1)
    assert value("net_repairs", cases) == (0.0, 3, 1)
    figures = tree_figures(cases, cases, lambda _: ())
    assert figures["repairs"]["rescue_rate"] == 1.0
    assert figures["repairs"]["hurt_rate"] == 0.5
    assert figures["repairs"]["unknown"] == 1


def test_an_ending_that_nobody_can_judge_is_not_incorrect() -> None:
    ended = [
        case("right", "right", grown(("1.0.0", "x", 0.5))),
        case("wrong", "wrong", grown(("1.0.0", "x", 0.5))),
        case("unknown", "unknown", grown(("1.0.0", "x", 0.5))),
        case("withheld", "withheld"),
    ]
    flow = tree_figures(ended, ended, lambda _: ())["flow"]
    assert flow == {"correct": 1, "incorrect": 1, "unknown": 1, "abstained": 1}


def test_misjudgement_is_unknown_where_a_leaf_is() -> None:
    def failed(problem: str, *answers: tuple[str, float]) -> Case:
        leaves = [(f"1.{at}.0", answer, worth) for at, (answer, worth) in enumerate(answers)]
        return case(problem, "wrong", grown(*leaves), reference="24", answer="25")

    cases = [
        failed("misjudged", ("25", 0.9), ("24", 0.5)),
        failed("seen", ("25", 0.4), ("24", 0.5)),
        failed("nobody", ("25", 0.9), (TALE, 0.5)),
    ]
    assert value("failure_f2", cases) == (50.0, 2, 1)


def test_a_false_prune_is_looked_for_under_the_spared_node() -> None:
    """A right answer elsewhere in the shadow run, or a branch that was never gone on with, says nothing."""

    def shadow(*children: tuple[str, str | None]) -> Any:
        under_it = tuple(Grown(node=n, strategy="direct", depth=2) for n, _ in children)
        more: list[Event] = [Generated(answer=a, source=n) for n, a in children]
        if children:
            more.append(NodeExpanded(round=1, node="1.0.0", children=under_it))
        both = grown(("1.0.0", None, 0.1), ("1.1.0", "24", 0.9))
        found = case("s", "right", [*both, *more], reference="24", answer="24")
        return type("Shadow", (), {"trace": found.trace, "node": "1.0.0", "closed": found.closed})

    parent = case("s", "right", reference="24", answer="24")
    assert under(parent, shadow()) is None
    assert under(parent, shadow(("2.0.0", "25"))) is False
    assert under(parent, shadow(("2.0.0", "25"), ("2.1.0", "24"))) is True
    assert under(parent, shadow(("2.0.0", None))) is False
    assert under(parent, shadow(("2.0.0", TALE))) is None
    cut = NodePruned(round=0, node="1.0.0", value=0.1)
    told = [*grown(("1.0.0", None, 0.1)), cut]
    pruned = case("s", "right", told, reference="24", answer="24")
    found = tree_figures([pruned], [pruned], lambda _: [shadow(), shadow(("2.0.0", "25"))])
    pruning = found["pruning"]
    assert (pruning["shadow_runs"], pruning["shadow_unknown"]) == (2, 1)
    assert (pruning["false_prune_rate"], pruning["prune_precision"]) == (0.0, 1.0)


# ── Meta-Reasoner ────────────────────────────────────────────────────────────────────────────


def advised(*pulls: tuple[str | None, float | None]) -> list[Event]:
    """A first round without advice that earned 1, then these: arm and reward."""
    made: list[Event] = [RewardJudged(round=0, reward=1.0, steps=1, source="1")]
    for at, (arm, reward) in enumerate(pulls, 1):
        made.append(StrategyChosen(round=at, arm=arm, how="ucb"))
        made.append(RewardJudged(round=at, arm=arm, reward=reward, steps=at, source="1"))
    return made


def test_reward_is_that_of_a_pull_and_not_of_slowness() -> None:
    """Summed over rounds, an episode of six bad rounds earned more than one that was solved at once."""
    quick = case("quick", "right", advised(("a1", 0.9)))
    slow = case("slow", "wrong", advised(*[("a2", 0.2)] * 5, ("a2", None)))
    assert value("reward", [quick]) == (0.9, 1, 0)
    assert value("reward", [slow]) == (pytest.approx(0.2), 5, 1)
    assert value("reward", [case("free", events=advised((None, 0.5)))]) == (0.5, 1, 0)
    assert reward_curve(episodes(quick, slow)) == [0.9, 1.1, 1.3, 1.5, 1.7, 1.9]


def test_pulls_that_nobody_rated_are_counted_and_earn_nothing() -> None:
    found = arms(episodes(case("a", events=advised(("a1", 1.0), ("a2", 0.5), ("a2", None)))))
    assert found is not None
    assert found["arms"] == {"a1": {"pulls": 1, "mean": 1.0}, "a2": {"pulls": 1, "mean": 0.5}}
    assert found["unknown"] == 1
    assert found["cumulative_reward"] == [1.0, 1.5]
    assert found["regret"] == [0.0, 0.5]


# ── Monitor–Generate–Verify ──────────────────────────────────────────────────────────────────


def feeling(kind: Any, *values: float) -> list[Event]:
    return [
        ExperienceFelt(experience=kind, source="assess", value=each, round=at)
        for at, each in enumerate(values)
    ]


def test_a_feeling_is_measured_before_the_work_and_over_what_was_answered() -> None:
    """Counting what a low feeling withheld as wrong, the area was .84; of the first feelings it was .45."""
    felt: list[tuple[Outcome, float, float]] = [
        ("right", 0.4, 0.9),
        ("right", 0.6, 0.9),
        ("wrong", 0.5, 0.8),
        ("withheld", 0.9, 0.0),
        ("unknown", 0.9, 0.0),
    ]
    cases = [
        case(str(at), outcome, feeling("FOK", first, last))
        for at, (outcome, first, last) in enumerate(felt)
    ]
    assert value("auroc_fok", cases) == (0.5, 3, 2)


def test_a_judgement_of_learning_is_the_last_and_difficulty_foretells_errors() -> None:
    learned = [
        case("a", "right", feeling("JOL", 0.1, 0.9)),
        case("b", "wrong", feeling("JOL", 0.9, 0.2)),
    ]
    assert value("auroc_jol", learned) == (1.0, 2, 0)
    hard = [
        case("a", "right", feeling("difficulty", 0.2)),
        case("b", "wrong", feeling("difficulty", 0.7)),
    ]
    assert value("auroc_difficulty", hard) == (1.0, 2, 0)


# ── Samples ──────────────────────────────────────────────────────────────────────────────────


def test_samples_that_nobody_can_judge_are_no_wrong_ones() -> None:
    def sampled(problem: str, *answers: str) -> Case:
        said = [Generated(answer=answer, source=str(at)) for at, answer in enumerate(answers)]
        return case(problem, "right", said, reference="24", answer="24")

    two, tale = sampled("two", "24", "25"), sampled("tale", TALE, "25")
    assert value("any_of_1", [two, tale]) == (50.0, 1, 1)
    assert value("any_of_2", [two]) == (100.0, 1, 0)
    assert value("vote_of_1", [two, tale])[1:] == (1, 1)
    assert value("any_of_5", [two]) == (None, 0, 1)
    assert value("recovery", [sampled("back", "25", "24"), tale, two]) == (100.0, 1, 1)


# ── Intervals ────────────────────────────────────────────────────────────────────────────────


def test_a_few_answers_that_are_all_right_are_no_certainty() -> None:
    """``analyse`` printed 100 to 100 % for three."""
    few = [case(str(at), "right") for at in range(3)]
    low, high = outcomes(few)["accuracy_interval"]
    assert (low, high) == (pytest.approx(0.4385, abs=1e-4), 1.0)
    found: Any = accuracy_interval(episodes(*few))
    assert found == (pytest.approx(100 * low), 100.0)
    assert outcomes([case("u")])["accuracy_interval"] is None
    cell = measured("accuracy", episodes(*few))
    assert cell is not None
    assert ours({"ours": cell}) == "100.00 [43.85, 100.00]"


def test_seeds_of_one_problem_are_no_more_problems() -> None:
    """Thrice the same is once; thrice by chance is thrice."""
    assert share_interval([(3, 3), (0, 3)] * 10) == pytest.approx(wilson(0.5, 20))
    assert share_interval([(1, 1), (0, 1)] * 10) == pytest.approx(wilson(0.5, 20))
    assert share_interval([(2, 4)] * 5) == pytest.approx(wilson(0.5, 20))
    assert share_interval([(3, 3)] * 4) == pytest.approx(wilson(1.0, 4))
    assert share_interval([]) is None


WORLDS, PROBLEMS = 400, 60
Truth = Callable[[float], float]
"""How likely the answer to a problem is right, by what was drawn for it."""


def alike(chance: float) -> Truth:
    return lambda drawn: chance


def unlike(low: float, high: float) -> Truth:
    """Half of the problems are hard and half are easy."""
    return lambda drawn: low if drawn < 0.5 else high


@pytest.mark.parametrize(
    ("truth", "mean", "seeds"),
    [
        (alike(0.5), 0.5, 1),
        (alike(0.8), 0.8, 1),
        (alike(0.93), 0.93, 1),
        (alike(0.7), 0.7, 3),
        (unlike(0.2, 0.9), 0.55, 3),
        (unlike(0.6, 1.0), 0.8, 5),
    ],
)
def test_the_interval_of_a_share_covers_the_truth(truth: Truth, mean: float, seeds: int) -> None:
    held = 0
    for world in range(WORLDS):
        draw, parts = Random(world).random, list[tuple[float, int]]()
        for _ in range(PROBLEMS):
            chance = truth(draw())
            parts.append((float(sum(draw() < chance for _ in range(seeds))), seeds))
        found = share_interval(parts)
        assert found is not None
        held += found[0] <= mean <= found[1]
    assert 0.92 <= held / WORLDS <= 0.98


def test_the_interval_of_a_mean_covers_the_truth() -> None:
    """Tokens of a problem, between 100 and 900, by one metric of the recipes."""
    metric, held = METRICS["tokens"], 0
    for world in range(WORLDS):
        draw = Random(world).random
        found = metric.interval(Unit(str(at), 100 + 800 * draw()) for at in range(PROBLEMS))
        assert found is not None
        held += found[0] <= 500 <= found[1]
    assert 0.92 <= held / WORLDS <= 0.98


@pytest.mark.parametrize("chances", [(0.1, 0.1), (0.3, 0.1), (0.25, 0.05)])
def test_the_interval_of_a_difference_covers_the_truth(chances: tuple[float, float]) -> None:
    one, other = chances
    held = 0
    for world in range(WORLDS):
        drawn = [hash01("pair", world, at) for at in range(PROBLEMS)]
        wins = sum(each < one for each in drawn)
        losses = sum(one <= each < one + other for each in drawn)
        found = paired_interval(wins, losses, PROBLEMS)
        assert found is not None
        held += found[0] <= one - other <= found[1]
    assert 0.92 <= held / WORLDS <= 0.98
