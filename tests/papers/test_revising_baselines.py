"""Baselines that look at their own work, call each other, or pick a method: prompts, rules, calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handlers.policies.base import Conclusion, Task
from handlers.policies.baselines.meta_prompting import CONDUCTOR, ERROR, answered, called
from handlers.policies.baselines.meta_reasoning import METHODS
from handlers.policies.registry import find
from schemas.events.reasoning import Generated, MonitorReported, Voted
from schemas.events.strategy import StrategyChosen
from schemas.questions import Complete
from tests.papers.mc2_says import solved
from tests.scripted import Ran, Script, run, shown

TASK = Task("q1", "What is six times four?", "arithmetic", seed=1)


def solve(name: str, script: Script, calls: int | None = None, **values: Any) -> Ran[Conclusion]:
    policy = find(name)
    settings = policy.settings.resolve("paper", values)
    return run(policy.solve(TASK, settings), script, calls=calls)


def told(feedback: str, sound: bool, label: str = "Feedback") -> str:
    return f"{label}: {feedback}\nSound: {'YES' if sound else 'NO'}"


# ── Self-refine and self-verification ────────────────────────────────────────────────────────

REVISING = [
    pytest.param(
        "self_refine", "critic", "Feedback", marks=pytest.mark.claim("bl-self-refine"), id="refine"
    ),
    pytest.param(
        "self_verification",
        "verifier",
        "Checks",
        marks=pytest.mark.claim("bl-self-verification"),
        id="verify",
    ),
]


@pytest.mark.parametrize(("name", "critic", "label"), REVISING)
def test_a_sound_draft_stands(name: str, critic: str, label: str) -> None:
    ran = solve(name, {"reasoner": [solved("24")], critic: [told("all well", True, label)]})
    assert ran.roles == ["reasoner", critic]
    assert (ran.result.answer, ran.result.ended_by) == ("24", "sound")
    assert solved("24") in shown(ran.requests[1])
    assert TASK.problem in shown(ran.requests[1])


@pytest.mark.parametrize(("name", "critic", "label"), REVISING)
def test_a_fault_is_shown_to_the_revision(name: str, critic: str, label: str) -> None:
    said = {
        "reasoner": [solved("20"), solved("24")],
        critic: [told("six, not five", False, label), told("well", True, label)],
    }
    ran = solve(name, said)
    assert ran.roles == ["reasoner", critic, "reasoner", critic]
    revision = shown(ran.requests[2])
    assert solved("20") in revision
    assert "six, not five" in revision
    assert [fact.flag for fact in ran.of(MonitorReported)] == ["YES", "NO"]
    assert (ran.result.answer, ran.result.ended_by) == ("24", "sound")


@pytest.mark.parametrize(("name", "critic", "label"), REVISING)
def test_at_most_three_revisions(name: str, critic: str, label: str) -> None:
    drafts = [solved(str(at)) for at in range(4)]
    ran = solve(name, {"reasoner": drafts, critic: [told("no", False, label)] * 3})
    assert len(ran.requests) == 1 + 2 * 3
    assert (ran.result.answer, ran.result.ended_by) == ("3", "revisions")
    assert [fact.round for fact in ran.of(Generated)] == [0, 1, 2, 3]


@pytest.mark.parametrize(("name", "critic", "label"), REVISING)
def test_what_cannot_be_read_keeps_the_last_answer(name: str, critic: str, label: str) -> None:
    said = {"reasoner": [solved("24"), "hm"], critic: [told("no", False, label), "?", "?"]}
    ran = solve(name, said, calls=4)
    assert (ran.result.answer, ran.result.limit) == ("24", "calls")


@pytest.mark.claim("bl-self-refine", "bl-self-verification")
def test_nothing_is_monitored_before_the_draft() -> None:
    for name in ("self_refine", "self_verification"):
        ran = solve(name, lambda q: solved("24") if q.role == "reasoner" else told("", True), 1)
        assert ran.roles == ["reasoner"]
        assert ran.result.answer == "24"


# ── Reflexion ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("bl-reflexion")
def test_reflections_are_kept_and_shown() -> None:
    said = {
        "reasoner": [solved("20"), solved("22"), solved("24")],
        "evaluator": ["Solved: NO", "Solved: NO", "Solved: YES"],
        "reflector": ["Reflection: I took five for six", "Reflection: I counted badly"],
    }
    ran = solve("reflexion", said)
    round_of = ["reasoner", "evaluator", "reflector"]
    assert ran.roles == [*round_of, *round_of, "reasoner", "evaluator"]
    first, second, third = (shown(question) for question in ran.asks("reasoner"))
    assert "Reflections" not in first.partition("### Problem")[2]
    assert "I took five for six" in second
    assert "I took five for six" in third
    assert "I counted badly" in third
    assert "I took five for six" in shown(ran.asks("reflector")[1])
    assert (ran.result.answer, ran.result.ended_by) == ("24", "solved")


@pytest.mark.claim("bl-reflexion")
def test_at_most_three_retries() -> None:
    said = {
        "reasoner": [solved(str(at)) for at in range(4)],
        "evaluator": ["Solved: NO"] * 3,
        "reflector": ["Reflection: again"] * 3,
    }
    ran = solve("reflexion", said)
    assert len(ran.requests) == 4 + 3 + 3
    assert (ran.result.answer, ran.result.ended_by) == ("3", "retries")
    told = [fact.round for fact in ran.of(Generated) if fact.role == "reflector"]
    assert told == [fact.round for fact in ran.of(MonitorReported)] == [0, 1, 2]
    assert solve("reflexion", said, calls=5).result.answer == "1"


# ── Meta-prompting ───────────────────────────────────────────────────────────────────────────


def call(instruction: str, expert: str = "Mathematician") -> str:
    return f'Next: EXPERT\nExpert: {expert}\nInstruction: """{instruction}"""'


ANSWER = "Next: ANSWER\nFinal_answer: \\boxed{24}"


@pytest.mark.claim("bl-meta-prompting")
def test_a_fresh_expert_sees_its_instruction_and_nothing_else() -> None:
    said = {
        "conductor": [call("Compute 6 * 4."), call("Check that 24 / 4 = 6."), ANSWER],
        "expert": ["Result: it is 24", "Result: it holds"],
    }
    ran = solve("meta_prompting", said)
    assert ran.roles == ["conductor", "expert", "conductor", "expert", "conductor"]
    first, second = ran.asks("expert")
    assert dict(first.variables) == {"task": "Compute 6 * 4."}
    assert (first.history, second.history) == ((), ())
    assert "it is 24" not in shown(second)
    assert TASK.problem not in shown(first)
    assert ran.result.answer == "24"


@pytest.mark.claim("bl-meta-prompting")
def test_the_conductor_has_the_whole_history() -> None:
    said = {"conductor": [call("A"), call("B"), ANSWER], "expert": ["Result: x", "Result: y"]}
    last = solve("meta_prompting", said).asks("conductor")[-1]
    assert [speaker for speaker, _ in last.history] == ["assistant", "user"] * 2
    assert '"""A"""' in shown(last)
    assert "Result: x" in shown(last)
    assert "Result: y" in shown(last)


@pytest.mark.claim("bl-meta-prompting")
@pytest.mark.parametrize(
    "neither",
    ["Let me think.", "", "Next: EXPERT\nExpert: E\nInstruction: no quotes", "Next: ANSWER"],
)
def test_neither_expert_nor_answer_is_told_so(neither: str) -> None:
    assert called(CONDUCTOR.read(neither)) is None
    assert answered(CONDUCTOR.read(neither)) is None
    ran = solve("meta_prompting", {"conductor": [neither, ANSWER]})
    assert ran.asks("conductor")[1].history[-1] == ("user", ERROR)
    assert ran.result.answer == "24"


@pytest.mark.claim("bl-meta-prompting")
def test_the_conductor_has_a_last_turn() -> None:
    ran = solve(
        "meta_prompting",
        lambda q: call("again") if q.role == "conductor" else "Result: r",
        max_rounds=3,
    )
    assert len(ran.requests) == 2 * 3
    assert (ran.result.answer, ran.result.ended_by) == (None, "max_rounds")


# ── Meta-reasoning prompting ─────────────────────────────────────────────────────────────────


def anything(method: str) -> Callable[[Complete], str]:
    """Chooses a method, and answers whatever its roles are asked."""

    def reply(question: Complete) -> str:
        labels = {field.label for field in question.template.reply.fields}
        if "Method" in labels:
            return f"Assessment: a\nMethod: {method}"
        if question.template.name.startswith("thinker"):
            return "t\nFinal_answer: none"
        if "State" in labels:
            return "Thought: t\nState: OPEN"
        if "Value" in labels:
            return "Value: 0.5"
        if "Sound" in labels:
            return told("no", False)
        return f"Groundwork: g\n{solved('24')}"

    return reply


CALLS = {
    "cot": 1,
    "tot": 2 * 5 + 2 * 2 * 5 + 1,
    "sc": 5,
    "self_refine": 1 + 2 * 3,
    "step_back": 2,
    "analogical": 2,
    "simulate": 2,
}


@pytest.mark.claim("bl-meta-reasoning")
@pytest.mark.parametrize("method", METHODS)
def test_the_chosen_method_runs_with_its_own_settings(method: str) -> None:
    ran = solve("meta_reasoning", anything(method))
    assert len(ran.requests) == 1 + CALLS[method]
    assert ran.of(StrategyChosen)[0].arm == method
    assert ran.result.answer == "24"
    assert all(name in shown(ran.requests[0]) for name in METHODS)


@pytest.mark.claim("bl-meta-reasoning")
@pytest.mark.parametrize("method", ["step_back", "analogical", "simulate"])
def test_groundwork_is_shown_to_the_solver(method: str) -> None:
    ran = solve("meta_reasoning", anything(method))
    assert ran.requests[1].template.name == f"prelude.{method}"
    assert "Groundwork: g" in shown(ran.requests[2])


@pytest.mark.claim("bl-meta-reasoning")
def test_a_choice_that_cannot_be_read_is_chain_of_thought() -> None:
    ran = solve("meta_reasoning", {"meta_reasoner": ["?", "?"], "reasoner": [solved("24")]})
    assert ran.of(StrategyChosen)[0].arm == "cot"
    assert ran.result.answer == "24"


# ── MACM and multi-chain reasoning ───────────────────────────────────────────────────────────

OPENED = "Conditions:\n- there are six\n- times four\nObjective: the product"
VERDICT = "Reason: so\nCorrect: {}"


@pytest.mark.claim("bl-macm")
def test_conditions_are_judged_one_by_one_and_executions_vote() -> None:
    said = {
        "thinker": [OPENED, "New_conditions:\n- 6 * 4 = 24\n- 6 + 4 = 11"],
        "judge": [VERDICT.format("YES"), VERDICT.format("NO"), "Enough: YES"],
        "executor": [solved("24"), solved("25"), solved("24")],
    }
    ran = solve("macm", said)
    assert ran.roles == ["thinker"] * 2 + ["judge"] * 3 + ["executor"] * 3
    first, second, enough = (shown(question) for question in ran.asks("judge"))
    assert "### New condition\n6 * 4 = 24" in first
    assert "6 + 4 = 11" not in first
    assert "3. 6 * 4 = 24" in second, "what was found to hold is known from then on"
    assert "6 + 4 = 11" not in enough
    executor = shown(ran.asks("executor")[0])
    assert "3. 6 * 4 = 24" in executor
    assert "6 + 4 = 11" not in executor
    assert ran.of(Voted) == [Voted(answer="24", votes=2, of=3)]
    assert (ran.result.answer, ran.result.confidence) == ("24", 2 / 3)


@pytest.mark.claim("bl-macm")
def test_more_is_mined_until_it_is_enough_at_most_three_times() -> None:
    mined = "New_conditions:\n- another one"
    said = {
        "thinker": [OPENED, mined, mined, mined],
        "judge": [VERDICT.format("NO"), "Enough: NO"] * 3,
        "executor": [solved("24")] * 3,
        "reasoner": [solved("24")],
    }
    ran = solve("macm", said)
    assert len(ran.requests) == 1 + 3 * (1 + 1 + 1) + 3
    assert solve("macm", said, calls=11).result == Conclusion(
        answer="24",
        ended_by="limit",
        confidence=1.0,
        confidence_source="vote_share",
        limit="calls",
    )
    early = solve("macm", said, calls=4)
    assert (early.roles[-1], early.result.answer) == ("reasoner", "24")


@pytest.mark.claim("bl-mcr")
def test_one_call_reads_every_chain() -> None:
    chains = [f"Chain of thought {at}. {solved(str(20 + at))}" for at in range(5)]
    ran = solve("mcr", [*chains, solved("24")])
    assert len(ran.requests) == 5 + 1
    assert [question.draw for question in ran.requests] == [0, 1, 2, 3, 4, 0]
    assert all(chain in shown(ran.requests[5]) for chain in chains)
    assert (ran.result.answer, ran.result.ended_by) == ("24", "answered")


@pytest.mark.claim("bl-mcr")
def test_without_room_for_the_reader_the_chains_vote() -> None:
    assert len(solve("mcr", [solved("24")] * 9, calls=3).requests) == 3
    ran = solve("mcr", [solved("24"), solved("24")], calls=1)
    assert (ran.result.answer, ran.result.limit) == ("24", "calls")
