"""Graph memory in whole episodes: what its Grounder and Inducer are shown, and what follows from it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from handlers.policies import bases
from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.graph_memory import GRAPH_MEMORY, GraphSettings
from schemas.asking import Steps
from schemas.events.graph import ExperienceShown, PairCompared, PathGrounded, PrincipleInduced
from schemas.identity import hash01, text_digest
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.questions import Check, Complete, ToolResult, UseTool
from schemas.settings import PolicySettings
from schemas.vectors import pack
from tests.papers.gm_says import (
    BAD,
    FAR,
    GOOD,
    NEAR,
    OTHER,
    PROBLEM,
    learning,
    member,
    principle,
    remembered,
    remembering,
)
from tests.scripted import Ran, run, shown

TASK = Task("h1", PROBLEM, "qa", seed=7)
ANSWER = "done <answer>the Aare</answer>"


def search(query: str = "town") -> str:
    call = f'{{"name":"search","arguments":{{"query":"{query}"}}}}'
    return f"I look for the {query}. <tool_call>{call}</tool_call>"


def searched(*replies: str, results: dict[str, str], **values: Any) -> Ran[Conclusion]:
    """An episode of the paper's agent; what is found by its queries."""

    def tool(question: UseTool) -> ToolResult:
        text = results.get(str(dict(question.arguments)["query"]), "")
        return ToolResult(text, "found" if text else "empty")

    settings = GraphSettings.resolve("paper", {"phase": "build", **values})
    return run(GRAPH_MEMORY.solve(TASK, settings), replies, tool=tool)


def left(ran: Ran[Conclusion], profile: str = "paper", **values: Any) -> dict[str, Any]:
    settings = GraphSettings.resolve("paper" if profile == "paper" else "service", values)
    return GRAPH_MEMORY.reflect(
        ran.trace, ran.result, settings.model_copy(update={"phase": "build"})
    )


def sections(question: Complete) -> dict[str, str]:
    return dict(question.variables)


# ── The Grounder ─────────────────────────────────────────────────────────────────────────────


def test_the_grounder_reads_question_reasoning_calls_and_results() -> None:
    ran = searched(search("town"), search("river"), ANSWER, results={"town": "It is Thun."})
    summary = left(ran)
    told = learning(
        member("right", None, **summary), script=['{"path": ["GS", "SP", "AN"]}'], grounding="model"
    )
    [question] = told.asks("grounder")
    said = sections(question)
    assert said["problem"] == PROBLEM
    order = [
        said["transcript"].index(part)
        for part in (
            *("I look for the town.", '"query":"town"', "[tool search: found]\nIt is Thun."),
            *("I look for the river.", "[tool search: empty]\nnothing", "the Aare", "an answer"),
        )
    ]
    assert order == sorted(order)
    for meaning in ("TS (ToolSearch, calls a tool): KG IA ED", "lacks knowledge"):
        assert meaning in said["transitions"]
    assert "outcome" not in said["transcript"]


@pytest.mark.parametrize(("path", "fault"), [
    ("GS TS IR AN", "TS→IR is not listed; TS may be followed by KG IA ED AN NA"),
    ("SP TS AN", "it begins with SP and must begin with GS"),
    ("GS SP IR", "it ends with IR and must end with AN, ED, NA"),
    ("GS XX AN", "XX is no state of the machine"),
])  # fmt: skip
def test_the_grounder_is_told_which_step_is_wrong(path: str, fault: str) -> None:
    said = [f"Path: {path}", f"Path: {GOOD}"]
    ran = learning(member("right", None, transcript="?"), script=said, grounding="model")
    assert [fact.path for fact in ran.of(PathGrounded)] == [GOOD]
    assert fault in shown(ran.asks("grounder")[1])


def test_probes_are_grounded_by_their_own_transcripts() -> None:
    """Each roll-out's own words, never an empty page."""
    said = {
        "reasoner": [f"way {at} <answer>{at}</answer>" for at in range(2)],
        "grounder": ["Path: GS KS AN"] * 3,
    }
    values: dict[str, Any] = {"grounding": "model", "rollouts": 3, "base": "tool_reasoning"}
    one = member("right", None, transcript="way own")
    ran = learning(one, script=said, label=lambda _: "right", **values)
    read = [sections(question)["transcript"] for question in ran.asks("grounder")]
    assert "way own" in read[0]
    ways = [sum(f"way {at}" in each for each in read) for at in range(2)]
    assert ways == [1, 1]


# ── Paths that differ ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("replies", "results", "path"), [
    ([search("a"), ANSWER], {"a": "A."}, "GS SP KG TS IA KS AN"),
    ([search("a"), ANSWER], {}, "GS SP KG TS KG UR AN"),
    ([search("a"), search("b"), ANSWER], {"a": "A.", "b": "B."}, "GS SP KG TS IA SP TS IA SY AN"),
    ([search("a"), search("a"), ANSWER], {"a": "A."}, "GS SP KG TS IA KG TS ED AN"),
])  # fmt: skip
def test_runs_whose_searches_find_something_do_not_all_look_alike(
    replies: list[str], results: dict[str, str], path: str
) -> None:
    """One hop, nothing found, two hops put together, the same query again, another that finds."""
    assert left(searched(*replies, results=results), "service")["path"] == path


# ── The Inducer ──────────────────────────────────────────────────────────────────────────────


def test_a_contrast_shows_the_success_as_success_and_the_failure_as_failure() -> None:
    memory = remembering({PROBLEM: {BAD: "wrong"}}, {})
    ran = learning(member("right", GOOD), script=[principle()], memory=memory)
    [question] = ran.asks("inducer")
    said = sections(question)
    assert said["path_that_succeeded"] == GOOD
    assert said["path_that_failed"] == BAD
    assert question.template.name == "inducer.contrast.first"
    assert "in which they part" in shown(question)
    assert "SP (StrategyPlanning, decides how to go about it" in said["transitions"]


def test_a_neighbours_success_is_not_shown_as_the_problems_own() -> None:
    memory = remembering({NEAR: {OTHER: "right"}}, {OTHER: {"m": 1.0}})
    ran = learning(member("wrong", BAD), script=[principle()], memory=memory, speculate=True)
    [question] = ran.asks("inducer")
    said = sections(question)
    assert said["path_that_succeeded_on_a_similar_problem"] == OTHER
    assert said["path_that_failed"] == BAD
    assert "path_that_succeeded" not in said
    assert "not this one" in shown(question)


def test_a_success_alone_is_asked_for_what_served_it() -> None:
    ran = learning(member("right", GOOD), script=[principle()], distil_success=True)
    [question] = ran.asks("inducer")
    assert sections(question)["path_that_succeeded"] == GOOD
    assert "path_that_failed" not in sections(question)
    assert "merely" in shown(question)


def test_the_inducer_sees_excerpts_of_both_runs_where_it_is_set() -> None:
    """In ``service``; in ``paper`` the states alone."""
    ran = searched(search("town"), ANSWER, results={"town": "It is Thun."})
    right = left(ran, "service")
    assert left(searched(ANSWER, results={}), "service", excerpt_chars=0).keys() == {
        "phase", "path",
    }  # fmt: skip
    said = {
        "reasoner": ["I just know. <answer>the Rhine</answer>"],
        "inducer": [principle()],
    }
    one = member("right", right.pop("path"), **right)
    probes: dict[str, Any] = {"rollouts": 2, "base": "tool_reasoning"}
    told = learning(one, script=said, label=lambda _: "wrong", **probes)
    [question] = told.asks("inducer")
    assert "It is Thun." in sections(question)["work_that_succeeded"]
    assert "I just know." in sections(question)["work_that_failed"]
    assert "It is Thun." not in sections(question)["work_that_failed"]
    bare = learning(one, script=said, label=lambda _: "wrong", excerpt_chars=0, **probes)
    assert "work_that_failed" not in shown(bare.asks("inducer")[0])
    assert "I just know." not in shown(bare.asks("inducer")[0])


@pytest.mark.parametrize(
    ("analysis", "outcome", "before", "work"),
    [
        ("contrast", "right", {PROBLEM: {BAD: "wrong"}}, {"work_that_succeeded"}),
        ("speculative", "wrong", {NEAR: {OTHER: "right"}}, {"work_that_failed"}),
        ("positive", "right", {}, {"work_that_succeeded"}),
    ],
)
def test_every_analysis_is_told_the_machine_the_principles_and_what_was_said(
    analysis: str, outcome: str, before: dict[str, dict[str, str]], work: set[str]
) -> None:
    memory = remembering({FAR: {OTHER: "right"}, **before}, {OTHER: {"m": 1.0, "n": 1.0}})
    own = member(outcome, GOOD if outcome == "right" else BAD, excerpt="I look at the map of Thun.")
    said = [principle()]
    ran = learning(own, script=said, memory=memory, speculate=True, distil_success=True)
    [question] = ran.asks("inducer")
    assert question.template.name == f"inducer.{analysis}"
    seen = sections(question)
    assert "GS (GoalSetting, takes in" in seen["transitions"]
    assert "[m] (medium, 60) advice m\n\n[n] (medium, 60) advice n" in seen["principles_so_far"]
    assert seen["how_many_there_are"] == "2"
    assert {name for name, text in seen.items() if text == "I look at the map of Thun."} == work


def test_a_principle_stands_beside_its_negation() -> None:
    """To an embedder both are much alike; the model that created it saw the other and kept both."""
    summary = "search for the missing fact before you give any answer to the question"
    negation = summary.replace("search", "do not search")
    first = remembered(
        learning(
            member("right", GOOD),
            script=[principle(summary)],
            memory=remembering({PROBLEM: {BAD: "wrong"}}, {}),
        )
    )
    again = remembering({FAR: {BAD: "wrong"}}, {})
    held = Memory("s", 1, first.items, {**again.learned, "principles": first.learned["principles"]})
    one = member("right", GOOD, FAR)
    ran = learning(one, script=[principle(negation)], memory=held)
    assert [fact.decision for fact in ran.of(PrincipleInduced)] == ["create"]
    ran = learning(one, script=[principle(negation)], memory=held, match_above=0.85)
    assert [fact.decision for fact in ran.of(PrincipleInduced)] == ["update"]
    same = learning(one, script=[principle(summary.upper())], memory=held)
    assert [fact.decision for fact in same.of(PrincipleInduced)] == ["update"]


# ── Draws, likeness, seeds ───────────────────────────────────────────────────────────────────


def weigh(problem: str, memory: Memory, outcome: str = "wrong", **values: Any) -> Ran[None]:
    one = member(outcome, None, problem, phase="weigh")
    return learning(one, script=lambda _: ANSWER, memory=memory, label=lambda _: "right", **values)


def test_pairs_are_drawn_and_not_always_of_the_most_relevant() -> None:
    """m1 has p = .731: of 200 pairs about 146 are its, and never all of them."""
    memory = remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m1": 2.0, "m2": 1.0}})
    similar = "Which river flows through the town where the sculptor number {} was born?"
    drawn = Counter[str]()
    for at in range(200):
        [fact] = weigh(similar.format(at), memory).of(PairCompared)
        drawn[fact.principle] += 1
        assert fact.p == pytest.approx(0.72 if fact.principle == "m1" else 0.28, abs=0.03)
        first = fact.p if fact.principle == "m1" else 1 - fact.p
        episode = f"p/qa/{text_digest(similar.format(at))}/run"
        assert (hash01(7, episode, "pair") < first) is (fact.principle == "m1"), "as old logs drew"
    assert 115 <= drawn["m1"] <= 170


def test_likeness_decides_which_principle_is_shown_first() -> None:
    """A heavier principle of a case that is less alike comes second."""
    memory = remembering(
        {NEAR: {GOOD: "right"}, FAR: {OTHER: "right"}}, {GOOD: {"m1": 1.0}, OTHER: {"m2": 1.5}}
    )
    settings = GraphSettings(principles_shown=1)
    task = Task(TASK.id, PROBLEM, "qa", 7, memory_version=1)
    ran = run(GRAPH_MEMORY.solve(task, settings), [ANSWER], memory=memory)
    assert [fact.items for fact in ran.of(ExperienceShown)] == [("m1",)]
    assert sections(ran.requests[0])["guidance"] == "advice m1"


def by_seed(task: Task, settings: PolicySettings) -> Steps[Conclusion]:
    """A run whose answer is its seed."""
    yield from ()
    return Conclusion(answer=str(task.seed), ended_by="answered")


def test_each_roll_out_has_luck_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy(name="seeded", version="1", about="", settings=PolicySettings, solve=by_seed)
    monkeypatch.setitem(bases.BASES, "seeded", policy)

    def answers() -> list[str]:
        given = list[str]()

        def label(question: Check) -> Outcome:
            given.append(question.answer)
            return "right"

        learning(member("right"), label=label, rollouts=5, base="seeded")
        return given

    first = answers()
    assert len(set(first)) == 4
    assert answers() == first


# ── The paper's profile ──────────────────────────────────────────────────────────────────────


def test_the_papers_profile_reads_keeps_and_weighs_as_it_is_written() -> None:
    """Model grounding, cycles kept, a lone principle run; service: events, collapse, no pair."""
    paper = GraphSettings.resolve("paper", {})
    assert "transcript" in left(searched(ANSWER, results={}))
    twice = [search("a"), search("b"), search("c"), ANSWER]
    results = {"a": "A.", "b": "B.", "c": "C."}
    kept = left(searched(*twice, results=results), grounding="events")["path"]
    cut = left(searched(*twice, results=results), "service")["path"]
    assert kept == "GS SP KG TS IA SP TS IA SP TS IA SY AN"
    assert cut == "GS SP KG TS IA SP TS IA SY AN"
    lone = remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m": 1.0}})
    assert len(weigh(PROBLEM, lone, lone=paper.lone).of(PairCompared)) == 1
    assert weigh(PROBLEM, lone).of(PairCompared) == []
    summary = GRAPH_MEMORY.reflect(
        searched(ANSWER, results={}).trace,
        Conclusion(answer="x", ended_by="answered"),
        GraphSettings(phase="weigh", lone="run"),
    )
    one = member("wrong", None, PROBLEM, **summary)
    switched = learning(one, script=[ANSWER], memory=lone, label=lambda _: "right")
    assert len(switched.of(PairCompared)) == 1, "whether lone ones are run is said by each episode"


def test_vectors_of_principles_are_kept() -> None:
    """They are what ``match_above`` goes by once it is set."""
    memory = remembering({PROBLEM: {BAD: "wrong"}}, {})
    ran = learning(member("right", GOOD), script=[principle("s")], memory=memory)
    [fact] = ran.of(PrincipleInduced)
    assert fact.vector is not None
    assert len(fact.vector) == len(pack([0.0] * 32))
    assert text_digest(PROBLEM) in remembered(ran, memory).learned["cases"]
