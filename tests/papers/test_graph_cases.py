"""Graph memory: which cases a problem activates, what a batch keeps of its members, and what a run is worth.

Source: trainable graph memory, Algorithm 1, eq. (7) to (9).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from handlers.policies.base import Around, Batch, Member
from handlers.policies.graph_memory import GRAPH_MEMORY, GraphSettings, batch_of, usual
from handlers.policies.graph_memory.activate import activate, advise, near
from handlers.policies.graph_memory.build import Growing, consolidated, excerpts
from handlers.policies.graph_memory.induce import listed, plain, select_one, shared, standing
from handlers.policies.graph_memory.runs import Ran as Rolled
from handlers.policies.graph_memory.runs import earned, reward, worth
from handlers.policies.graph_memory.settings import ONE_PATH, base_of, unlearnable
from handlers.roles.inducer import Made
from schemas.answer_type import AnswerType
from schemas.events.episode import Forked
from schemas.events.graph import (
    ExperienceShown,
    PairCompared,
    PathGrounded,
    PrincipleInduced,
)
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled
from schemas.identity import seed_of, taken_id, text_digest
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.questions import Check, Credit, Embed, Recall, RecalledItem, Recollection
from schemas.settings import BadSetting
from schemas.vectors import pack
from tests.papers.gm_says import (
    BAD,
    FAR,
    GOOD,
    NEAR,
    ONE,
    OTHER,
    PROBLEM,
    case_item,
    learning,
    member,
    principle,
    remembered,
    remembering,
)
from tests.papers.mc2_says import knowing
from tests.scripted import Ran, run

CASE = text_digest(PROBLEM)
SERVICE = GraphSettings.resolve("service", {})


def asked(ran: Ran[Any], kind: type) -> list[Any]:
    return [question for _, question in ran.asked if isinstance(question, kind)]


# ── Activation ───────────────────────────────────────────────────────────────────────────────


def recalled(*similarities: float | None, embedder: str | None = None) -> Recollection:
    """Cases with these similarities, the nearest first."""
    items = tuple(
        RecalledItem(f"c{at}", "lesson", "case", "text", similarity)
        for at, similarity in enumerate(similarities)
    )
    return Recollection(1, items, {}, embedder=embedder)


def test_near_are_so_many_cases_from_the_floor_on_and_not_the_problem_itself() -> None:
    known = recalled(0.9, 0.8, None, 0.3, 0.29)
    some = GraphSettings(relevance_floor=0.3, active_cases=5)
    assert near(known, "", some) == {"c0": 0.9, "c1": 0.8, "c3": 0.3}
    assert near(known, "c0", some) == {"c1": 0.8, "c3": 0.3}
    assert near(known, "", some.model_copy(update={"active_cases": 2})) == {"c0": 0.9, "c1": 0.8}
    every = GraphSettings(relevance_floor=None, active_cases=9)
    assert list(near(recalled(0.1, -0.9), "", every)) == ["c0", "c1"]


def test_one_recall_brings_a_case_more_than_is_wanted_and_every_principle() -> None:
    """The problem's own may be among them, under another subject."""
    settings = GraphSettings.resolve("service", {"active_cases": 2, "relevance_floor": None})
    memory = remembering(
        {PROBLEM: {GOOD: "right"}, NEAR: {GOOD: "right"}, FAR: {OTHER: "right"}},
        {GOOD: {"m2": 2.0, "m1": 1.0}, OTHER: {"m3": 1.0}},
        number=4,
    )
    out = replace(memory, items=tuple(each for each in memory.items if each.id != "m1"))
    ran = run(activate(PROBLEM, "qa/h1", settings), [], memory=out)
    [recall] = asked(ran, Recall)
    assert (recall.query, recall.roles, recall.top) == (PROBLEM, ("case", "principle"), 3)
    assert (recall.kinds, recall.exclude) == (("rule", "lesson"), "qa/h1")
    found = ran.result
    assert list(found.similar) == [text_digest(NEAR), text_digest(FAR)]
    like, far = found.similar.values()
    assert found.scores == pytest.approx({"m2": 2 * like, "m3": far})
    assert found.texts == {"m2": "advice m2", "m3": "advice m3"}
    assert (found.out, found.version, found.graph["version"]) == (("m1",), 4, 4)
    cold = run(activate(PROBLEM, "qa/h1", settings), []).result
    assert (cold.scores, cold.out, cold.graph["version"]) == ({}, (), 0)


def test_advice_is_the_most_relevant_principles_best_first_and_says_how_relevant() -> None:
    memory = remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m1": 1.0, "m2": 3.0, "m3": 1.0}})
    ran = run(advise(PROBLEM, "qa/h1", GraphSettings(principles_shown=2)), [], memory=memory)
    assert ran.result == "advice m2\n\nadvice m1", "ties by name"
    [fact] = ran.of(ExperienceShown)
    assert (fact.sort, fact.items) == ("principle", ("m2", "m1"))
    assert fact.scores[0] == pytest.approx(3 * fact.scores[1])
    nothing = run(advise(PROBLEM, "qa/h1", SERVICE), [])
    assert (nothing.result, nothing.of(ExperienceShown)) == ("", [])


# ── What a batch keeps ───────────────────────────────────────────────────────────────────────


def test_each_problem_becomes_a_case_once_with_the_episode_that_met_it_first() -> None:
    again = replace(member("wrong", BAD, FAR), episode="p/qa/again/run")
    known = case_item(NEAR)
    kept = case_item("A third problem.")
    members = (
        *(member("right"), member("wrong", BAD, FAR), again),
        *(member("right", GOOD, NEAR), member("right", GOOD, "A third problem.")),
    )
    given = Batch("s", 2, members, knowing(known), seed=7, kept=(kept,))
    settings = GraphSettings.resolve("service", {"rollouts": 1})
    ran = run(GRAPH_MEMORY.learn(given, settings), [], memory=given.memory)
    cases = ran.of(LessonDistilled)
    assert [(each.id, each.text) for each in cases] == [
        (CASE, PROBLEM),
        (text_digest(FAR), FAR),
    ]
    assert [each.evidence for each in cases] == [(each.episode,) for each in members[:2]]
    assert [each.subject for each in cases] == [each.subject for each in members[:2]]
    assert {(each.role, each.polarity, each.source) for each in cases} == {("case", "do", "-")}
    assert [each.texts for each in asked(ran, Embed)] == [(PROBLEM, FAR)]
    idle = run(
        GRAPH_MEMORY.learn(replace(given, members=members[3:]), settings), [], memory=given.memory
    )
    assert asked(idle, Embed) == idle.of(LessonDistilled) == []


def test_neighbours_are_looked_for_by_failures_alone() -> None:
    memory = remembering({PROBLEM: {BAD: "wrong"}, NEAR: {OTHER: "right"}}, {OTHER: {"m": 1.0}})
    contrast = learning(member("right"), script=[principle()], memory=memory)
    assert asked(contrast, Recall) == []
    failure = learning(member("wrong", BAD), memory=memory, neighbours=3)
    [recall] = asked(failure, Recall)
    assert (recall.query, recall.roles, recall.kinds) == (PROBLEM, ("case",), ("lesson",))
    assert (recall.top, recall.exclude) == (4, f"qa/{CASE}")
    [fact] = failure.of(PrincipleInduced)
    assert (fact.case, fact.decision, fact.principle) == ("neighbours", "update", "m")
    assert (fact.paths, fact.near) == ((BAD,), (text_digest(NEAR),))
    assert (fact.reason, fact.subject) == ("similar cases succeed by it", f"qa/{CASE}")


def test_another_tools_trace_asks_for_no_roll_outs_of_ours() -> None:
    own = member("right")
    taken = replace(own, episode=taken_id("qa", CASE, "x"))
    ran = learning(taken, rollouts=4)
    assert [fact.source for fact in ran.of(PathGrounded)] == [taken.episode]
    assert (ran.requests, ran.of(Forked)) == ([], [])
    alone = learning(own, rollouts=1)
    assert alone.of(Forked) == [], "no lane is opened where none is wanted"


@pytest.mark.parametrize("grounding", ["events", "model"])
def test_roll_outs_are_told_from_the_episodes_own_run(grounding: str) -> None:
    said = ["<answer>a</answer>", "<answer>b</answer>", "no call", "no answer"]
    script = {"reasoner": said, "inducer": [principle()], "grounder": [f"Path: {GOOD}"] * 3}
    values: dict[str, Any] = {"rollouts": 4, "grounding": grounding}
    ran = learning(member("right"), script=script, label=lambda _: "unknown", **values)
    told = [(fact.source, fact.outcome) for fact in ran.of(PathGrounded)]
    assert told[0] == (f"p/qa/{CASE}/run", "right")
    assert {source for source, _ in told[1:]} == {"probe"}
    assert sorted(outcome for _, outcome in told[1:]) == ["unknown", "unknown", "withheld"]
    assert {fact.case for fact in ran.of(PathGrounded)} == {CASE}
    assert {fact.subject for fact in ran.of(PathGrounded)} == {f"qa/{CASE}"}
    assert seed_of(7, "e", 0) != seed_of(7, "e", 1)


def test_an_excerpt_stands_for_a_path_and_how_it_ended_by_the_first_run_that_went_it() -> None:
    runs = [
        Rolled(GOOD, "right", "e", "first"),
        Rolled(GOOD, "right", "probe", "second"),
        Rolled(GOOD, "wrong", "probe", "third"),
        Rolled(BAD, "withheld", "probe", "fourth"),
        Rolled(OTHER, "unknown", "probe", "fifth"),
        Rolled(None, "right", "probe", "sixth"),
        Rolled(OTHER, "right", "probe", ""),
    ]
    assert excerpts(runs) == {
        (GOOD, True): "first",
        (GOOD, False): "third",
        (BAD, False): "fourth",
    }


def induced(name: str | None, summary: str = "s", **more: Any) -> PrincipleInduced:
    said: dict[str, Any] = {"score": 60.0, "paths": (GOOD,), **more}
    return PrincipleInduced(
        case="contrast", decision="create", principle=name, summary=summary, **said
    )


def test_a_graph_that_changed_once_has_changed_whatever_follows() -> None:
    growing = Growing({**remembering({}, {}).learned}, ONE, 3)
    growing.take(PathGrounded(case=CASE, subject="qa/x", path=GOOD, outcome="right", source="e"))
    growing.take(induced(None))
    before = growing.changed
    growing.take(induced("M3.1"))
    growing.take(induced("M9.9", summary=""))
    assert (before, growing.changed) == (False, True)
    assert (growing.name(), growing.name()) == ("M3.1", "M3.2")
    assert list(growing.graph["principles"]) == ["M3.1"]


def test_principles_are_stated_by_name_with_their_strategies_and_how_many_are_new() -> None:
    growing = Growing({**remembering({}, {}).learned}, ONE, 3)
    growing.take(induced("M2.1", "look twice", strategies=(("read", "high", 80.0),)))
    growing.take(induced(growing.name(), "a plan"))
    growing.take(induced("M1.1", "begin"))
    fact = consolidated(growing)
    assert fact == KnowledgeConsolidated(
        role="principle",
        rules=(("M1.1", "begin"), ("M2.1", "look twice\n- read"), ("M3.1", "a plan")),
        result="consolidated",
        new=1,
    )
    assert listed(growing.graph) == [
        "[M1.1] (medium, 60) begin",
        "[M2.1] (medium, 60) look twice\n- read",
        "[M3.1] (medium, 60) a plan",
    ]


# ── What says the same, and what parts late ──────────────────────────────────────────────────


def made(summary: str) -> Made:
    return Made(summary, (), "medium", 60.0, "", None)


def test_the_later_two_paths_part_the_fewer_decisions_lie_between_them() -> None:
    assert shared("GS SP AN", "GS SP NA") == 2
    assert shared("GS SP", "GS SP NA") == 2
    assert shared("GS KS SP", "GS SP SP") == 1
    assert select_one(["b c", "a b d"], ["a b c", "a x"]) == ("a b d", "a b c")
    assert select_one(["b", "a"], ["d", "c"]) == ("a", "c"), "ties by name"
    assert select_one([], ["a"]) is None
    assert select_one(["a"], ["a", "b"]) == ("a", "b")


# ── What a run is worth ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("outcome", "worth_it"), [("right", 1.0), ("wrong", 0.0), ("withheld", 0.0), ("unknown", None)]
)
def test_an_outcome_as_a_reward(outcome: Outcome, worth_it: float | None) -> None:
    assert reward(outcome) == worth_it
    ran = run(earned(member(outcome), SERVICE), [])
    assert (ran.result, ran.asked) == (worth_it, [])


def test_a_grader_is_asked_of_the_data_set_and_told_the_form() -> None:
    one = member("right", answer="the Rhine")
    told = structs.replace(one.reflected, dataset="musique", answer_type={"type": "text"})
    typed = replace(one, reflected=told)
    f1 = GraphSettings.resolve("service", {"reward": "f1"})
    for given, domain, form in ((one, "qa", None), (typed, "musique", AnswerType(type="text"))):
        ran = run(worth(given, "the Aare", SERVICE), [], label=lambda _: "right")
        [check] = asked(ran, Check)
        assert (check.domain, check.problem, check.answer) == (domain, PROBLEM, "the Aare")
        assert (check.subject, check.typed, ran.result) == (f"qa/{CASE}", form, 1.0)
        own = run(earned(given, f1), [], credit=lambda _: 0.5)
        [credit] = asked(own, Credit)
        assert (credit.domain, credit.answer, own.result) == (domain, "the Rhine", 0.5)
    nothing = run(worth(one, None, f1), [])
    assert (nothing.result, nothing.asked) == (0.0, [])
    older = run(earned(member("right"), f1), [])
    assert (older.result, older.asked) == (None, []), "its answer is not on record"


# ── Phases, and what they leave ──────────────────────────────────────────────────────────────


def phases(*of: str) -> list[Member]:
    return [replace(member("right", phase=each), episode=f"p/qa/{each}/run") for each in of]


def test_a_batch_may_hold_members_of_each_phase() -> None:
    memory = remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m1": 1.0, "m2": 1.0}})
    ran = learning(
        *phases("use", "weigh", "build"),
        script=lambda _: "<answer>x</answer>",
        memory=memory,
        label=lambda _: "wrong",
    )
    assert [fact.source for fact in ran.of(PathGrounded)] == ["p/qa/build/run"]
    [pair] = ran.of(PairCompared)
    assert pair.pair.startswith("p/qa/weigh/run/")
    assert ran.of(KnowledgeConsolidated) == [], "no principle was made"


def test_a_forgotten_problem_leaves_its_batchs_facts_as_they_stand_without_it() -> None:
    facts = (
        PathGrounded(case=CASE, subject="qa/x", path=GOOD, outcome="right", source="e"),
        induced("M2.1", "look twice"),
    )
    given = Batch(
        "s", 2, (member("right"),), Memory("s", 1), seed=7, revision=1, facts=facts,
        stale=frozenset({"principle"}),
    )  # fmt: skip
    ran = run(GRAPH_MEMORY.relearn(given, SERVICE), [])
    [fact] = ran.of(KnowledgeConsolidated)
    assert fact.rules == (("M2.1", "look twice"),)
    assert [each.id for each in ran.of(LessonDistilled)] == [CASE]
    for other in (
        replace(given, stale=frozenset({"case"})),
        replace(given, facts=facts[:1]),
    ):
        assert run(GRAPH_MEMORY.relearn(other, SERVICE), []).of(KnowledgeConsolidated) == []


def test_how_many_learn_together_by_phase_and_series() -> None:
    using, building = SERVICE, GraphSettings.resolve("service", {"phase": "build"})
    assert (batch_of(using, 40), batch_of(using, None)) == (40, 1)
    assert (batch_of(building, 40), batch_of(building, None)) == (1, 1)
    wide = building.model_copy(update={"batch_size": 7})
    assert GRAPH_MEMORY.window(wide, 40) == 7
    assert GRAPH_MEMORY.reads(using)
    assert not GRAPH_MEMORY.reads(building)


def test_what_is_guided_where_nobody_says() -> None:
    without, with_tools = Around(), Around(tools=True)
    assert usual("service", without) == {"base": "mc2"}
    assert usual("service", with_tools) == usual("paper", without) == {}
    assert usual("paper", with_tools) == {}


def test_settings_that_can_teach_nothing_say_why() -> None:
    for base in sorted(ONE_PATH):
        settings = GraphSettings.resolve("service", {"phase": "build", "base": base})
        assert f"every run of {base} that answers has the same path" in str(unlearnable(settings))
        read = settings.model_copy(update={"grounding": "model"})
        assert unlearnable(read) is None
        assert unlearnable(settings.model_copy(update={"phase": "use"})) is None
    assert unlearnable(GraphSettings.resolve("service", {"phase": "build"})) is None
    frozen = GraphSettings.resolve("service", {"phase": "weigh", "weights": "frozen"})
    assert str(unlearnable(frozen)) == "weights=frozen uses no weight that weighing learns"
    for more in ({"phase": "build"}, {"weights": "learned"}):
        assert unlearnable(frozen.model_copy(update=more)) is None


def test_the_base_is_given_those_of_the_settings_that_it_has() -> None:
    values = {"tool_calls": 3, "output_cap": 99}
    policy, own = base_of(GraphSettings.resolve("service", values))
    assert (policy.name, getattr(own, "tool_calls", 0)) == ("tool_reasoning", 3)
    for base in ("mc2", "cot"):
        policy, own = base_of(GraphSettings.resolve("service", {**values, "base": base}))
        assert (policy.name, getattr(own, "output_cap", 0)) == (base, 99)
        assert not hasattr(own, "tool_calls")
    profiles = [
        base_of(GraphSettings.resolve(profile, {"base": "mc2"}))[1] for profile in ("service", "paper")
    ]  # fmt: skip
    assert [getattr(each, "clean_reports", "") for each in profiles] == ["accept", "ask"]
    with pytest.raises(BadSetting, match="such as tool_reasoning or mc2"):
        GraphSettings.resolve("service", {"base": "reviewed"})


def test_a_case_that_is_remembered_is_found_by_its_vector() -> None:
    [item] = remembered(learning(member("right"))).of("case", "lesson")
    assert item.vector is not None
    assert len(item.vector) == len(pack([0.0] * 32))


def test_a_principle_that_says_the_same_is_found_word_for_word_whatever_its_case_and_spaces() -> (
    None
):
    assert plain(" Look\n  TWICE ") == "look twice"
    state = remembering({}, {GOOD: {"m2": 1.0, "m1": 1.0}}).learned
    state["principles"]["m2"]["summary"] = state["principles"]["m1"]["summary"]
    loose = GraphSettings.resolve("service", {"match_above": 0.5})
    vector = (1.0, *[0.0] * 31)
    assert standing(state, made("ADVICE  m1"), vector, SERVICE) == "m1", "the first by name"
    assert standing(state, made("other words"), vector, SERVICE) is None
    assert standing(state, made("other words"), vector, loose) is None
