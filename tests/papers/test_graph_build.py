"""Graph memory, Algorithm 1: cases, paths, what is induced from them, and what it is linked to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning import graph
from handlers.policies.graph_memory import GraphSettings
from handlers.policies.graph_memory.induce import matched, select_one
from schemas.events.base import Event
from schemas.events.graph import PathGrounded, PrincipleInduced
from schemas.identity import canonical, text_digest
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.vectors import pack
from tests.papers.gm_says import (
    BAD,
    FAR,
    GOOD,
    NEAR,
    ONE,
    OTHER,
    PROBLEM,
    learning,
    member,
    principle,
    remembered,
    remembering,
)
from tests.scripted import shown

CASE = text_digest(PROBLEM)
PATHS = st.sampled_from([GOOD, BAD, OTHER])
OUTCOMES = st.sampled_from(["right", "wrong", "unknown", "withheld"])


def grounded(path: str = GOOD, outcome: Outcome = "right", problem: str = PROBLEM) -> PathGrounded:
    case = text_digest(problem)
    return PathGrounded(case=case, subject="qa/1", path=path, outcome=outcome, source="p/1")


def induced(name: str | None, *paths: str, score: float = 60.0) -> PrincipleInduced:
    return PrincipleInduced(
        case="contrast", decision="create", principle=name, summary="s", score=score, paths=paths
    )


FACTS = st.lists(
    st.one_of(
        st.builds(grounded, PATHS, OUTCOMES, st.sampled_from([PROBLEM, NEAR, FAR])),
        st.builds(induced, st.sampled_from(["M1.1", "M2.1"]), PATHS, PATHS),
    ),
    max_size=12,
)


@pytest.mark.claim("gm-eq-01", "gm-eq-02", "gm-eq-06", "gm-alg1-l05")
@given(FACTS)
def test_cases_lead_to_paths_and_paths_to_principles(facts: list[Event]) -> None:
    state = graph.after({}, (), ONE, facts)
    runs = [fact for fact in facts if isinstance(fact, PathGrounded)]
    made = {fact.principle for fact in facts if isinstance(fact, PrincipleInduced)}
    for case in state["cases"].values():
        assert set(case["paths"]) <= set(state["paths"])
    for path in state["paths"].values():
        assert set(path["principles"]) <= made
    edges = [edge for case in state["cases"].values() for edge in case["paths"].values()]
    assert sum(edge["runs"] for edge in edges) == len(runs)
    assert set(state["principles"]) == made
    assert canonical(graph.after({}, (), ONE, facts)) == canonical(state)


@pytest.mark.claim("gm-alg1-l05")
def test_a_path_met_again_keeps_its_weight() -> None:
    state = graph.after({}, (), ONE, [grounded(), induced("m", GOOD)])
    state["cases"][CASE]["paths"][GOOD]["weight"] = 0.3
    state["paths"][GOOD]["principles"]["m"]["weight"] = 0.2
    twice = graph.after(state, (), ONE, [grounded(GOOD, "wrong"), induced("m", GOOD, BAD)])
    edge = twice["cases"][CASE]["paths"][GOOD]
    assert canonical(edge["weight"]) == canonical(0.3)
    assert (edge["right"], edge["wrong"], edge["runs"]) == (1, 1, 2)
    assert twice["paths"][GOOD]["principles"]["m"]["weight"] == 0.2
    assert twice["paths"][BAD]["principles"]["m"]["weight"] == 1.0


# ── T_s and T_f ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("gm-alg1-l11")
@pytest.mark.parametrize(("outcome", "side"), [
    ("right", 0), ("wrong", 1), ("unknown", None), ("withheld", 1),
])  # fmt: skip
def test_outcomes_sort_paths(outcome: str, side: int | None) -> None:
    ran = learning(member(outcome))
    sides = graph.runs_of(remembered(ran).learned, CASE)[:2]
    assert [GOOD in each for each in sides] == [at == side for at in range(2)]
    assert [event.outcome for event in ran.of(PathGrounded)] == [outcome]


def test_runs_that_are_logged_count_and_the_rest_are_probes() -> None:
    """N roll-outs: the episode's own, those of the graph, then probes, each graded by the label."""
    asked: list[str] = []

    def label(question: object) -> Outcome:
        asked.append(str(question))
        return "right" if len(asked) == 1 else "wrong"

    said = ["<answer>the Aare</answer>", "<answer>the Rhine</answer>", principle()]
    memory = remembering({PROBLEM: {OTHER: "wrong"}}, {})
    ran = learning(member("wrong"), script=said, memory=memory, label=label, rollouts=4)
    assert [event.outcome for event in ran.of(PathGrounded)] == ["wrong", "right", "wrong"]
    assert ran.roles == ["reasoner", "reasoner", "inducer"]
    assert graph.runs_of(remembered(ran, memory).learned, CASE)[2] == 4


# ── What is induced ──────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("gm-alg1-l34")
@pytest.mark.parametrize(("own", "before", "switches", "case", "calls"), [
    ("right", "wrong", {}, "contrast", 1),
    ("wrong", "right", {"speculate": True, "distil_success": True}, "contrast", 1),
    ("wrong", None, {}, "neighbours", 0),
    ("wrong", None, {"speculate": True}, "speculative", 1),
    ("right", None, {}, None, 0),
    ("right", None, {"distil_success": True}, "positive", 1),
    ("unknown", None, {"speculate": True, "distil_success": True}, None, 0),
])  # fmt: skip
def test_what_is_induced(
    own: str, before: str | None, switches: dict[str, Any], case: str | None, calls: int
) -> None:
    """(T_s, T_f) × switches, with the calls that each costs."""
    earlier = {PROBLEM: {BAD: before}} if before else {}
    memory = remembering({NEAR: {OTHER: "right"}, **earlier}, {OTHER: {"m": 1.0}})
    ran = learning(member(own), script=[principle()], memory=memory, **switches)
    assert [event.case for event in ran.of(PrincipleInduced)] == ([case] if case else [])
    assert len(ran.requests) == calls


@pytest.mark.claim("gm-eq-07")
def test_only_failures_borrow_from_neighbours_successes() -> None:
    """Three cases: the exact union; the failing path of the neighbour and the case itself are out."""
    memory = remembering(
        {NEAR: {GOOD: "right", BAD: "wrong"}, PROBLEM: {BAD: "wrong"}, FAR: {OTHER: "right"}},
        {GOOD: {"m1": 1.0}, BAD: {"m2": 1.0}, OTHER: {"m3": 1.0}},
    )
    ran = learning(member("wrong", BAD), memory=memory, neighbours=1)
    assert [(e.principle, e.paths) for e in ran.of(PrincipleInduced)] == [("m1", (BAD,))]
    after = remembered(ran, memory).learned
    assert set(after["paths"][BAD]["principles"]) == {"m1", "m2"}
    assert after["principles"] == memory.learned["principles"]
    wide = learning(member("wrong", BAD), memory=memory, neighbours=2)
    assert [e.principle for e in wide.of(PrincipleInduced)] == ["m1", "m3"]


@pytest.mark.claim("gm-alg1-l34")
def test_one_success_and_one_failure_part_as_late_as_they_can() -> None:
    assert select_one([GOOD, OTHER], [BAD]) == (GOOD, BAD)
    assert select_one([GOOD], [GOOD]) is None
    assert select_one(["GS SP AN", "GS KS AN"], ["GS IR NA"]) == ("GS KS AN", "GS IR NA")


# ── Matching and links ───────────────────────────────────────────────────────────────────────


@pytest.mark.claim("gm-alg1-l19")
def test_a_new_principle_is_linked_to_both_paths_of_its_case() -> None:
    memory = remembering({PROBLEM: {BAD: "wrong"}}, {})
    ran = learning(member("right", GOOD), script=[principle()], memory=memory)
    after = remembered(ran, memory)
    [name] = after.learned["principles"]
    assert graph.evidence(after.learned, name) == [GOOD, BAD]
    assert after.learned["principles"][name]["score"] == 80
    [rule] = after.of("principle", "rule")
    assert rule.text == "search before answering\n- search again"


@pytest.mark.claim("gm-alg1-l19")
@pytest.mark.parametrize(("own", "before", "more", "switches"), [
    ("right", "wrong", 5.0, {}), ("wrong", None, 0.0, {"speculate": True}),
])  # fmt: skip
def test_what_says_the_same_is_borne_out_and_not_written_again(
    own: str, before: str | None, more: float, switches: dict[str, Any]
) -> None:
    earlier = {PROBLEM: {BAD: before}} if before else {}
    memory = remembering({NEAR: {OTHER: "right"}, **earlier}, {OTHER: {"m": 1.0}}, m=82.0)
    said = principle("advice m")
    ran = learning(member(own, GOOD), script=[said], memory=memory, **switches)
    [fact] = ran.of(PrincipleInduced)
    assert (fact.decision, fact.principle, fact.summary) == ("update", "m", "")
    after = remembered(ran, memory).learned
    assert after["principles"]["m"]["score"] == min(85.0, 82.0 + more)
    assert after["principles"]["m"]["summary"] == "advice m"
    assert len(after["principles"]) == 1


@pytest.mark.claim("gm-alg1-l19")
def test_an_update_rewrites_its_target_and_an_unknown_target_is_asked_again() -> None:
    memory = remembering({PROBLEM: {BAD: "wrong"}}, {OTHER: {"m": 0.4}})
    known = principle("search earlier", decision="update", target_meta_id="m")
    ran = learning(member("right", GOOD), script=[known], memory=memory)
    after = remembered(ran, memory).learned
    assert after["principles"]["m"]["summary"] == "search earlier"
    assert after["principles"]["m"]["version"] == 2
    assert after["paths"][OTHER]["principles"]["m"]["weight"] == 0.4
    assert graph.evidence(after, "m") == sorted([GOOD, BAD, OTHER])
    unknown = principle("search earlier", decision="update", target_meta_id="m9")
    twice = learning(member("right", GOOD), script=[unknown, known], memory=memory)
    assert [e.principle for e in twice.of(PrincipleInduced)] == ["m"]


@pytest.mark.claim("gm-alg1-l19")
def test_the_threshold_of_a_match() -> None:
    held = {"principles": {"m": {"vector": pack((1.0, 0.0))}, "n": {"vector": pack((0.0, 1.0))}}}
    assert matched(held, (0.8505, 0.526), 0.85) == "m"
    assert matched(held, (0.8495, 0.5276), 0.85) is None
    assert matched({"principles": {}}, (1.0, 0.0), 0.85) is None
    assert matched(held, (0.6, 0.8), 0.8) == "n", "as near as is set"
    assert matched(held, (0.7071, 0.7071), 0.5) == "m", "ties by id"


@pytest.mark.claim("gm-alg1-l19")
def test_a_target_counts_for_an_update_alone_and_what_is_skipped_says_why() -> None:
    memory = remembering({PROBLEM: {BAD: "wrong"}}, {OTHER: {"m": 0.4}})
    told = principle("search earlier", decision="create", target_meta_id="m")
    ran = learning(member("right", GOOD), script=[told], memory=memory)
    [fact] = ran.of(PrincipleInduced)
    assert (fact.decision, fact.principle) == ("create", "M2.1")
    assert fact.subject == member("right").subject
    assert fact.source in {at for at, _ in ran.asked}
    skip = principle(decision="skip", reasoning="nothing tells them apart")
    [left] = learning(member("right", GOOD), script=[skip], memory=memory).of(PrincipleInduced)
    assert (left.decision, left.principle) == ("skip", None)
    assert (left.reason, left.source) == ("nothing tells them apart", fact.source)
    assert left.subject == fact.subject


# ── Phases, rebuild ──────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("gm-phases")
def test_use_learns_nothing_and_probes_never_answer() -> None:
    idle = learning(member("wrong", phase="use"), script=[])
    assert idle.events == []
    ran = learning(
        member("wrong"), script=["<answer>x</answer>"] * 3, label=lambda _: "wrong", rollouts=4
    )
    assert not {"reflected", "graded", "episode.closed"} & set(ran.facts)
    assert "phase" not in GraphSettings.learning


def test_a_path_can_be_read_by_a_model() -> None:
    """``grounding: model``: the transcript and the machine, asked twice at most, else no path."""
    said = ['{"path": ["GS", "IA"]}', '{"path": ["GS", "SP", "AN"]}']
    ran = learning(
        member("right", None, transcript="I looked it up."), script=said, grounding="model"
    )
    assert [event.path for event in ran.of(PathGrounded)] == ["GS SP AN"]
    first = dict(ran.requests[0].variables)
    assert "GS (GoalSetting, takes in what is asked" in first["transitions"]
    assert first["problem"] == PROBLEM
    assert first["transcript"] == "I looked it up."
    assert "GS→IA is not listed; GS may be followed by SP KS KG TS IR" in shown(ran.requests[1])
    lost = learning(member("right", None, transcript="?"), script=["x", "y"], grounding="model")
    assert lost.of(PathGrounded) == []


def test_a_case_is_kept_once_and_never_activates_itself() -> None:
    first = remembered(learning(member("right")))
    [item] = first.of("case", "lesson")
    assert (item.id, item.text) == (CASE, PROBLEM)
    again = learning(member("wrong"), memory=first)
    assert remembered(again, first).of("case", "lesson") == (item,)
    assert isinstance(first, Memory)
