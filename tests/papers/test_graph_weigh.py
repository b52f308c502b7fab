"""Graph memory, Algorithm 2: pairs that differ by one principle, and how they move the weights."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning import graph
from handlers.learning.reinforce import relevance, softmax
from schemas.events.codec import decode
from schemas.events.episode import Forked
from schemas.events.graph import PairCompared, PairSkipped
from schemas.identity import canonical, hash01, text_digest
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.questions import Check, Credit
from tests.papers.gm_says import (
    FAR,
    GOOD,
    NEAR,
    ONE,
    OTHER,
    PROBLEM,
    learning,
    member,
    remembered,
    remembering,
)
from tests.scripted import Ran

RIGHT, WRONG = "<answer>right</answer>", "<answer>wrong</answer>"
TWO = {NEAR: {GOOD: "right"}}, {GOOD: {"m1": 1.0, "m2": 1.0}}


def as_said(question: Check) -> Outcome:
    said: dict[str | None, Outcome] = {"right": "right", "wrong": "wrong"}
    return said.get(question.answer, "unknown")


def weighed(*said: str, memory: Memory | None = None, **values: Any) -> Ran[None]:
    held = remembering(*TWO) if memory is None else memory
    one = member("right", phase="weigh")
    return learning(one, script=said, memory=held, label=as_said, **values)


def shares(state: graph.Graph, similar: dict[str, float]) -> dict[str, float]:
    return softmax(relevance(graph.active(state, similar)))


@pytest.mark.claim("gm-alg2-l07")
def test_nothing_active_asks_nobody() -> None:
    for memory in (Memory("s", 0), remembering({NEAR: {GOOD: "right"}}, {})):
        assert weighed(memory=memory).requests == []
    lone = remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m": 1.0}})
    assert weighed(memory=lone).requests == []
    ran = weighed(WRONG, memory=lone, lone="run")
    assert len(ran.of(PairCompared)) == 1
    moved = remembered(ran, lone).learned
    assert moved["paths"] == lone.learned["paths"]


SKIPPED: dict[str, tuple[dict[str, Any], list[str], tuple[str, str | None]]] = {
    "no case": ({"memory": Memory("s", 0)}, [], ("no_principle", None)),
    "no principle": (
        {"memory": remembering({NEAR: {GOOD: "right"}}, {})},
        [],
        ("no_principle", None),
    ),
    "one alone": (
        {"memory": remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m": 1.0}})},
        [],
        ("lone_principle", "m"),
    ),
    "nobody knows": ({}, ["<answer>perhaps</answer>"], ("reward_unknown", "drawn")),
}


@pytest.mark.parametrize(("values", "said", "why"), SKIPPED.values(), ids=SKIPPED)
def test_weights_that_cannot_move_say_why(
    values: dict[str, Any], said: list[str], why: tuple[str, str | None]
) -> None:
    """With one principle no pair was ever run, in silence: its weight stood at its start for good."""
    ran = weighed(*said, **values)
    [fact] = ran.of(PairSkipped)
    assert not ran.of(PairCompared)
    assert fact.reason == why[0]
    assert (fact.principle in ("m1", "m2")) if why[1] == "drawn" else (fact.principle == why[1])
    assert (fact.subject, fact.problem) == (
        f"qa/{text_digest(PROBLEM)}",
        text_digest(PROBLEM),
    )


@pytest.mark.claim("gm-alg2-l11")
def test_both_sides_are_twins_that_differ_by_the_guidance_alone() -> None:
    ran = weighed(RIGHT, WRONG, pairs="twins")
    with_one, without = ran.requests
    [fact] = ran.of(PairCompared)
    assert dict(with_one.variables)["guidance"] == f"advice {fact.principle}"
    assert dict(without.variables) == {**dict(with_one.variables), "guidance": ""}
    assert with_one.template == without.template
    assert with_one.draw == without.draw
    [forked] = ran.of(Forked)
    assert forked.twins
    assert fact.pair == f"p/qa/{text_digest(PROBLEM)}/run/{fact.principle}"
    assert (fact.with_reward, fact.without_reward) == (1, 0)
    assert dict(fact.active).keys() == {text_digest(NEAR)}


@pytest.mark.claim("gm-alg2-l18")
@pytest.mark.parametrize(("with_one", "without", "sign"), [
    (RIGHT, WRONG, 1), (WRONG, RIGHT, -1), (RIGHT, RIGHT, 0), (WRONG, WRONG, 0),
])  # fmt: skip
def test_utility_moves_the_share_of_what_was_drawn(with_one: str, without: str, sign: int) -> None:
    before = remembering(*TWO)
    ran = weighed(with_one, without, memory=before, pairs="twins")
    [fact] = ran.of(PairCompared)
    after, similar = remembered(ran, before).learned, dict(fact.active)
    change = (
        shares(after, similar)[fact.principle] - shares(before.learned, similar)[fact.principle]
    )
    assert fact.p == pytest.approx(shares(before.learned, similar)[fact.principle])
    if sign == 0:
        kept = ("cases", "paths", "principles")
        assert canonical([after[name] for name in kept]) == canonical(
            [before.learned[name] for name in kept]
        )
    assert change * sign > 0 or (sign == 0 and change == 0)


@pytest.mark.claim("gm-alg2-l11")
def test_a_side_may_earn_token_f1_instead() -> None:
    memory, one = remembering(*TWO), member("right", phase="weigh")
    said = ["<answer>the upper Aare</answer>", *["no answer and no call"] * 2]
    twins: dict[str, Any] = {"reward": "f1", "pairs": "twins"}
    ran = learning(one, script=said, memory=memory, credit=lambda asked: 0.8, **twins)
    [fact] = ran.of(PairCompared)
    assert (fact.with_reward, fact.without_reward) == (0.8, 0.0)
    unknown = learning(one, script=said, memory=memory, **twins)
    assert unknown.of(PairCompared) == []


@pytest.mark.claim("gm-alg2-l18")
def test_what_is_out_of_service_is_no_rival() -> None:
    """It is not drawn, and its edges stay as they are when others' move."""
    held = remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m1": 1.0, "m2": 1.0, "m3": 1.0}})
    memory = Memory("s", 1, tuple(i for i in held.items if i.id != "m3"), held.learned)
    ran = weighed(WRONG, memory=memory)
    [fact] = ran.of(PairCompared)
    assert fact.out == ("m3",)
    assert fact.p == pytest.approx(0.5)
    before, after = (
        {name: edge["weight"] for name, edge in each["paths"][GOOD]["principles"].items()}
        for each in (memory.learned, remembered(ran, memory).learned)
    )
    assert after["m3"] == before["m3"]
    assert after["m1"] - 1 == pytest.approx(1 - after["m2"])
    assert after["m1"] != before["m1"]


@pytest.mark.claim("gm-alg2-l18")
def test_an_unknown_reward_moves_nothing() -> None:
    assert weighed("<answer>neither</answer>").of(PairCompared) == []
    twins = weighed("<answer>neither</answer>", RIGHT, pairs="twins")
    assert twins.of(PairCompared) == []


@pytest.mark.claim("gm-alg2-l11")
@pytest.mark.parametrize(("own", "earned"), [
    ("right", 1.0), ("wrong", 0.0), ("withheld", 0.0), ("unknown", None),
])  # fmt: skip
def test_the_episodes_own_run_is_the_side_without_a_principle(
    own: str, earned: float | None
) -> None:
    """One run a pair, and none where nobody knows what the episode's own earned."""
    ran = learning(
        member(own, phase="weigh"), script=[RIGHT], memory=remembering(*TWO), label=as_said
    )
    if earned is None:
        assert (ran.requests, ran.of(PairCompared)) == ([], [])
        return
    [fact] = ran.of(PairCompared)
    assert (fact.with_reward, fact.without_reward) == (1.0, earned)
    [question] = ran.requests
    assert dict(question.variables)["guidance"] == f"advice {fact.principle}"


@pytest.mark.claim("gm-alg2-l11")
def test_the_own_run_may_earn_token_f1_by_the_answer_that_it_left() -> None:
    memory, asked = remembering(*TWO), list[str]()

    def credit(question: Credit) -> float:
        asked.append(question.answer)
        return 0.25 if question.answer == "the Rhine" else 0.5

    one = member("wrong", None, phase="weigh", answer="the Rhine")
    said = ["<answer>the Aare</answer>"]
    ran = learning(one, script=said, memory=memory, credit=credit, reward="f1")
    [fact] = ran.of(PairCompared)
    assert (fact.with_reward, fact.without_reward) == (0.5, 0.25)
    assert asked == ["the Rhine", "the Aare"]


@pytest.mark.claim("gm-alg2-l18")
def test_relevance_itself_may_fall_although_it_helped() -> None:
    """Sim = w_qt = 1, w_tm = (1, 3), m1 drawn, α = .1: ρ(m1) 1 → .896, p(m1) .119 → .182."""
    state = remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m1": 1.0, "m2": 3.0}}).learned
    similar = {text_digest(NEAR): 1.0}
    after = graph.after(state, (), {**ONE, "step_size": 0.1}, [pair("m1", 1.0, 0.0, similar)])
    assert relevance(graph.active(after, similar))["m1"] == pytest.approx(0.896, abs=5e-4)
    assert shares(state, similar)["m1"] == pytest.approx(0.119, abs=5e-4)
    assert shares(after, similar)["m1"] == pytest.approx(0.182, abs=5e-4)


def pair(name: str, won: float, lost: float, similar: dict[str, float]) -> PairCompared:
    return PairCompared(
        pair="p", problem="q", active=tuple(similar.items()), principle=name, p=0.5,
        with_reward=won, without_reward=lost, memory_version=1,
    )  # fmt: skip


@pytest.mark.claim("gm-alg2-l18")
@given(st.lists(st.sampled_from([("m1", 1.0), ("m1", 0.0), ("m2", 1.0), ("m2", 0.0)]), max_size=6))
def test_a_rebuilt_graph_is_the_live_one(pairs: list[tuple[str, float]]) -> None:
    """The fold of facts that went through JSON ends in the same bytes; a batch uses one gradient each."""
    state = dict(remembering(*TWO).learned)
    similar = {text_digest(NEAR): 0.5}
    facts = [pair(name, won, 0.5, similar) for name, won in pairs]
    live = again = state
    for fact in facts:
        live = graph.after(live, (), ONE, [fact])
        again = graph.after(again, (), ONE, [decode(fact.kind, fact.to_json())])
    assert canonical(live) == canonical(again)
    together = graph.after(state, (), ONE, facts)
    assert together["version"] == state["version"] + 1


@pytest.mark.claim("gm-learn")
def test_weights_learn_what_pays_and_frozen_ones_stay() -> None:
    """A synthetic domain where the truth is known: m2 pays 1, m1 nothing, m3 harms."""
    state = remembering(
        {NEAR: {GOOD: "right", OTHER: "right"}, FAR: {OTHER: "right"}},
        {GOOD: {"m1": 1.0}, OTHER: {"m1": 1.0, "m2": 1.0, "m3": 1.0}},
    ).learned
    truth = {"m1": (0.5, 0.5), "m2": (1.0, 0.0), "m3": (0.0, 1.0)}
    similar = {text_digest(NEAR): 0.8, text_digest(FAR): 0.5}
    learning_graph = dict(state)
    for at in range(150):
        now = shares(learning_graph, similar)
        name = min(truth, key=lambda m: -(hash01(7, at, m) ** (1 / max(now[m], 1e-9))))
        fact = pair(name, *truth[name], similar)
        learning_graph = graph.after(learning_graph, (), ONE, [fact])
    learned = shares(learning_graph, similar)
    assert learned["m2"] > 0.9
    assert learned["m3"] < learned["m1"]
    frozen = softmax(relevance(graph.active(learning_graph, similar, "frozen")))
    assert frozen == pytest.approx(shares(state, similar))
    counted = relevance(graph.active(learning_graph, similar, "structural"))
    assert counted == {"m1": 3.0, "m2": 2.0, "m3": 2.0}
