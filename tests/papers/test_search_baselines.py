"""Search baselines: the answer alone, best of n, tree of thoughts, Monte Carlo tree search."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.base import Conclusion, Task
from handlers.policies.baselines.best_of_n import BEST_OF_N, BestOfSettings, most_trusted
from handlers.policies.baselines.mcts import Branch, back_up, select, uct
from handlers.policies.baselines.tree import (
    START,
    TOT,
    State,
    TreeSettings,
    keep_best,
)
from handlers.policies.registry import find
from handlers.roles.thinker import GENERATION
from schemas.events.episode import Checked, Forked
from schemas.events.reasoning import Generated, Voted
from schemas.events.search import ThoughtJudged, ThoughtsKept, ValueBackedUp
from schemas.problem import Profile
from schemas.questions import Complete
from streams.support.datasets.game24 import ranked
from tests.data import shared
from tests.papers.cot2_says import TASK, chained, thought
from tests.scripted import Ran, Script, run, shown


def solve(
    name: str, script: Script, calls: int | None = None, task: Task = TASK, **values: Any
) -> Ran[Conclusion]:
    policy = find(name)
    return run(policy.solve(task, policy.settings.resolve("paper", values)), script, calls=calls)


@pytest.mark.claim("bl-io")
def test_io_is_one_call_for_the_answer_alone() -> None:
    done = solve("io", [chained("24")])
    [question] = done.requests
    assert "no reasoning" in shown(question)
    assert TASK.problem in shown(question)
    assert (done.result.answer, done.facts) == ("24", ["generated"])
    assert [each.parse for each in done.of(Generated)] == ["ok"]
    silent = solve("io", ["I cannot tell."])
    assert [(each.answer, each.parse) for each in silent.of(Generated)] == [(None, "unreadable")]


# ── Best of n ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("bl-bon-verifier")
def test_the_verifier_s_best_is_picked_ties_first_seen() -> None:
    trusts = ["Confidence=0.4", "Confidence=0.9", "Confidence=0.9", "no number"]
    answers = [chained(str(n)) for n in range(4)]
    done = solve(
        "best_of_n", {"reasoner": answers, "confidence": [*trusts, "still none"]}, samples=4
    )
    assert (done.result.answer, done.result.confidence) == ("1", 0.9)
    assert done.result.confidence_source == "stated"
    assert [question.draw for question in done.asks("reasoner")] == [0, 1, 2, 3]
    assert len({question.messages() for question in done.asks("reasoner")}) == 1


@pytest.mark.claim("bl-bon-verifier")
@given(st.lists(st.none() | st.sampled_from((0.0, 0.5, 0.9)), max_size=8))
def test_nobody_is_trusted_more_than_the_one_picked(trusts: list[float | None]) -> None:
    at = most_trusted(trusts)
    known = [trust for trust in trusts if trust is not None]
    if at is None:
        assert not known
    else:
        assert trusts[at] == max(known)
        assert trusts.index(trusts[at]) == at


@pytest.mark.claim("bl-bon-verifier")
def test_a_limit_is_shared_between_samples_and_scores() -> None:
    script = {"reasoner": [chained("1")] * 16, "confidence": ["Confidence=0.5"] * 16}
    assert len(solve("best_of_n", script, calls=16).asks("reasoner")) == 8
    assert len(solve("best_of_n", script, calls=16, pick="vote").asks("reasoner")) == 16
    one = solve("best_of_n", script, calls=1)
    assert (len(one.requests), [each.lanes for each in one.of(Forked)]) == (1, [1])


@pytest.mark.claim("bl-bon-checker")
def test_the_checker_picks_the_first_right_answer_on_the_record() -> None:
    said = [
        chained("4 * 6"),
        chained("4 * 6"),
        chained("(5 - 4) * 6 * 4"),
        chained("5 * 6 - 10 + 4"),
    ]
    done = solve("best_of_n", [*said, chained("1")], samples=5, pick="checker")
    assert (done.result.answer, done.result.ended_by) == ("5 * 6 - 10 + 4", "checked")
    assert [fact.outcome for fact in done.of(Checked)] == ["wrong", "wrong", "right"]
    assert len(done.requests) == 5


@pytest.mark.claim("bl-bon-checker")
def test_without_a_right_answer_or_a_checker_the_vote_picks() -> None:
    said = [chained("1"), chained("2"), chained("2")]
    done = solve("best_of_n", said, samples=3, pick="checker")
    assert (done.result.answer, done.result.ended_by) == ("2", "voted")
    other = Task("q", "What is 1 + 1?", "elsewhere", seed=1)
    unknown = solve("best_of_n", said, samples=3, pick="checker", task=other)
    assert {fact.outcome for fact in unknown.of(Checked)} == {"unknown"}
    assert unknown.of(Voted)[0].votes == 2


@pytest.mark.claim("bl-bon-checker")
def test_without_reasoning_each_sample_is_the_answer_alone() -> None:
    """IO's best of n: what `io` asks, so many times, under one temperature."""
    said = [chained("4 * 6"), chained("5 * 6 - 10 + 4"), chained("1")]
    done = solve("best_of_n", said, samples=3, pick="checker", reasoning=False)
    assert (done.result.answer, done.result.ended_by) == ("5 * 6 - 10 + 4", "checked")
    assert [question.draw for question in done.requests] == [0, 1, 2]
    assert all("no reasoning" in shown(question) for question in done.requests)
    assert {question.sampling.temperature for question in done.requests} == {GENERATION.temperature}
    [chain, *_] = solve("best_of_n", said, samples=3, pick="checker").requests
    assert "no reasoning" not in shown(chain)


def recorded(pattern: str) -> list[dict[str, Any]]:
    [file] = sorted((shared() / "game24" / "logs").glob(pattern))
    entries: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return entries


@pytest.mark.claim("bl-bon-checker")
@pytest.mark.slow
def test_of_the_recorded_texts_the_checker_finds_49() -> None:
    problems = [str(puzzle["problem"]) for puzzle in ranked(shared() / "game24" / "24.csv")]
    right = 0
    for entry in recorded("*naive_cot_sample*.json"):
        task = Task(str(entry["idx"]), problems[int(entry["idx"])], "game24", seed=1)
        done = solve("best_of_n", entry["ys"], task=task, samples=100, pick="checker")
        right += done.result.ended_by == "checked"
    assert right == 49


# ── Tree of thoughts ─────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("bl-tot-select")
def test_the_best_by_value_are_kept_as_in_all_400_recorded_selections() -> None:
    compared = 0
    for entry in recorded("*propose1_value3*.json"):
        for step in entry["steps"]:
            chosen = [step["new_ys"][at] for at in keep_best(step["values"], 5)]
            assert chosen == step["select_new_ys"]
            compared += 1
    assert compared == 400


@pytest.mark.claim("bl-tot-select")
@given(st.lists(st.sampled_from((0.0, 0.3, 0.9)), max_size=9), st.integers(1, 5))
def test_ties_go_to_the_first_seen(values: list[float], beam: int) -> None:
    kept = keep_best(values, beam)
    assert len(kept) == min(beam, len(values))
    for one, other in pairwise(kept):
        assert (-values[one], one) < (-values[other], other)
    rest = [at for at in range(len(values)) if at not in kept]
    assert all((-values[k], k) < (-values[at], at) for k in kept[-1:] for at in rest)


def counting(value: float = 0.5, last: int = 99) -> Any:
    said: list[int] = []

    def reply(question: Complete) -> str:
        if question.role == "judge":
            return f"Value: {value}"
        if question.role == "reasoner":
            return chained("7")
        said.append(1)
        depth = dict(question.variables)["trajectory"].count("[Step ") + 1
        return thought(f"thought {len(said)}", f"{len(said)}" if depth >= last else None)

    return reply


SHAPES: Iterable[tuple[int, int, int, int]] = [
    (5, 2, 2, 30),
    (5, 1, 3, 30),
    (5, 5, 3, 110),
    (1, 3, 4, 8),
    (2, 5, 3, 28),
]


@pytest.mark.claim("bl-tot-calls")
@pytest.mark.parametrize(("candidates", "beam", "depth", "calls"), SHAPES)
def test_calls_by_depth_width_and_beam(candidates: int, beam: int, depth: int, calls: int) -> None:
    done = solve("tot", counting(last=depth), candidates=candidates, beam=beam, depth=depth)
    assert len(done.requests) == calls
    assert [fact.depth for fact in done.of(ThoughtsKept)] == list(range(1, depth + 1))


@pytest.mark.claim("bl-tot-select", "bl-tot-calls")
def test_the_default_tree_keeps_two_of_five_and_answers_with_the_best() -> None:
    values = [0.1, 0.9, 0.2, 0.9, 0.3] + [0.2] * 4 + [0.8] + [0.6] * 5
    script = {
        "thinker": [thought(f"a{n}") for n in range(5)]
        + [thought(f"b{n}", str(n)) for n in range(10)],
        "judge": [f"Value: {value}" for value in values],
    }
    done = solve("tot", script)
    first, second = done.of(ThoughtsKept)
    judged = [fact.node for fact in done.of(ThoughtJudged)]
    assert first.kept == (judged[1], judged[3])
    assert len(second.values) == 10
    assert (done.result.answer, done.result.confidence) == ("4", 0.8)
    assert "a1" in shown(done.asks("thinker")[5])


@pytest.mark.claim("bl-tot-calls")
@pytest.mark.parametrize("calls", range(1, 31))
def test_a_limited_tree_answers_within_its_calls(calls: int) -> None:
    for name in ("tot", "rest_mcts"):
        done = solve(name, counting(last=2), calls=calls)
        assert len(done.requests) <= calls
        assert done.result.answer is not None
        assert done.result.limit is None


# ── Monte Carlo tree search ──────────────────────────────────────────────────────────────────


def state(at: str, depth: int = 1, answer: str | None = None, value: float = 0.5) -> State:
    return State(at, ("x",) * depth, answer, value)


@pytest.mark.claim("bl-mcts")
def test_selection_and_backup_on_a_hand_tree() -> None:
    root = Branch(START, expansions=1)
    a, b = Branch(state("a"), root), Branch(state("b"), root)
    root.children = [a, b]
    back_up(a, 0.9)
    back_up(b, 0.5)
    assert root.visits == 2
    assert root.mean == pytest.approx(0.7)
    assert uct(a, 0.0) == 0.9
    assert select(root, 0.7) is a
    a.expansions = 1
    c = Branch(state("c", 2), a)
    a.children = [c]
    path = back_up(c, 0.0)
    assert [node.state.id for node in path] == ["opened", "a", "c"]
    assert [(n.visits, round(n.mean, 9)) for n in path] == [
        (3, round(1.4 / 3, 9)),
        (2, 0.45),
        (1, 0.0),
    ]
    assert select(root, 0.0) is b
    assert select(root, 0.7) is b


@pytest.mark.claim("bl-mcts")
def test_a_branch_that_ended_is_not_selected_again() -> None:
    root = Branch(START, expansions=1)
    done = Branch(state("a", answer="24"), root)
    root.children = [done]
    assert done.ended
    assert root.ended
    assert select(root, 0.7) is None
    assert Branch(state("deep", 8), root, last=True).ended


@pytest.mark.claim("bl-mcts")
def test_expansion_and_backup_of_an_episode() -> None:
    script = {
        "thinker": [
            thought("a"),
            thought("b"),
            thought("c"),
            thought("d", "24"),
            thought("e"),
            thought("f"),
        ],
        "judge": [f"Value: {v}" for v in (0.2, 0.8, 0.5, 0.95, 0.1, 0.1)],
    }
    done = solve("rest_mcts", script)
    backed = done.of(ValueBackedUp)
    assert [len(fact.path) for fact in backed] == [2, 2, 2, 3, 3, 3]
    assert "b" in shown(done.asks("thinker")[3])
    assert backed[3].path[1][2] == pytest.approx((0.8 + 0.95) / 2)
    assert (done.result.answer, done.result.confidence) == ("24", 0.95)
    assert len(done.requests) == 12
    assert len(done.of(Generated)) == 6


# ── What nobody could read ───────────────────────────────────────────────────────────────────


def unread_but(*values: str) -> Any:
    """Thoughts that answer by their draw, the judge's replies in turn; "?" is asked for again in vain."""
    said = iter(values)

    def reply(question: Complete) -> str:
        if question.role == "thinker":
            return f"Thought: try {question.draw}\nState: ANSWERED\nFinal_answer: \\boxed{{{question.draw}}}"
        if question.history:
            return "I cannot say."
        return next(said)

    return reply


def test_an_unread_value_is_no_zero_in_service() -> None:
    """Tree of thoughts keeps it before what is known to be poor; in ``paper`` it is 0."""
    said = ("Value: 0.2", "I cannot say.", "Value: 0.9")
    kept: dict[Profile, tuple[str, ...]] = {}
    profiles: tuple[Profile, ...] = ("service", "paper")
    for profile in profiles:
        settings = TreeSettings.resolve(profile, {"candidates": 3, "beam": 2, "depth": 1})
        done = run(TOT.solve(TASK, settings), unread_but(*said))
        judged = done.of(ThoughtJudged)
        assert [fact.value for fact in judged] == [0.2, 0.0, 0.9]
        assert [fact.parse for fact in judged] == ["first", "defaulted", "first"]
        [level] = done.of(ThoughtsKept)
        names = [fact.node for fact in judged]
        kept[profile] = tuple(str(names.index(node)) for node in level.kept)
        assert (done.result.answer, done.result.confidence) == ("2", 0.9)
    assert kept == {"service": ("2", "1"), "paper": ("2", "0")}


def test_an_answer_that_nobody_could_judge_has_no_confidence() -> None:
    settings = TreeSettings.resolve("service", {"candidates": 1, "depth": 1})
    done = run(TOT.solve(TASK, settings), unread_but("I cannot say."))
    assert (done.result.answer, done.result.confidence) == ("0", None)
    assert done.result.confidence_source is None


def test_an_unread_value_moves_no_mean() -> None:
    root = Branch(START)
    good, unread = Branch(START, root), Branch(START, root)
    back_up(good, 0.8)
    path = back_up(unread, None)
    assert [(branch.visits, branch.expected) for branch in path] == [(2, 0.8), (1, 0.8)]
    back_up(unread, 0.2)
    assert root.mean == pytest.approx(0.5)
    assert unread.mean == 0.2


def test_a_verifier_that_cannot_be_read_leaves_no_certainty() -> None:
    def reply(question: Complete) -> str:
        return "Fine." if question.role == "confidence" else f"So \\boxed{{{question.draw}}}."

    expected: dict[Profile, float | None] = {"service": None, "paper": 0.0}
    for profile, confidence in expected.items():
        settings = BestOfSettings.resolve(profile, {"samples": 2})
        done = run(BEST_OF_N.solve(TASK, settings), reply)
        assert (done.result.answer, done.result.confidence) == ("0", confidence)


# ── Equal calls ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("calls", [6, 8, 10, 16, 32])
@pytest.mark.parametrize("last", [1, 2])
def test_trees_widen_until_their_calls_are_used(calls: int, last: int) -> None:
    """At C = 16 they spent 10 and 6 where every thought answered, and were compared with what spent 15."""
    for name in ("tot", "rest_mcts"):
        more: dict[str, Any] = {"primary_calls": calls} if name == "rest_mcts" else {}
        done = solve(name, counting(last=last), calls=calls, **more)
        assert calls - 1 <= len(done.requests) <= calls, name
        assert done.result.answer is not None
        starts = [q.draw for q in done.asks("thinker") if not dict(q.variables)["trajectory"]]
        assert len(starts) == len(set(starts)), "each thought from the root is a new draw"


def test_the_best_of_all_trees_is_the_answer() -> None:
    """The second tree's last thought is worth more than what the first one kept."""
    values = iter(["0.2"] * 5 + ["0.1", "0.7", "0.3"])

    def reply(question: Complete) -> str:
        if question.role == "judge":
            return f"Value: {next(values)}"
        return thought(f"draw {question.draw}", str(question.draw))

    done = solve("tot", reply, calls=16)
    assert (done.result.answer, done.result.confidence) == ("6", 0.7)
    assert [fact.depth for fact in done.of(ThoughtsKept)] == [1, 1]


def test_a_tree_without_a_limit_or_that_is_not_to_widen_grows_once() -> None:
    for done in (
        solve("tot", counting(last=1)),
        solve("tot", counting(last=1), calls=16, widen=False),
    ):
        assert [question.draw for question in done.asks("thinker")] == [0, 1, 2, 3, 4]
        assert len(done.requests) == 10, "and each thought is judged once"
