"""Policies that work beside an episode: the judge of an answer, and the query about a baseline's trajectory."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.policies.answer_judge import JUDGED, JudgeSettings
from handlers.policies.base import Conclusion, Policy
from handlers.policies.baselines.trusted import TRUSTED
from tests.papers.mc2_says import solved
from tests.papers.told import TASK, lines, thought, told
from tests.scripted import Ran, Script, run

BY_NAME = {policy.name: policy for policy in TRUSTED}


def judged(*said: str) -> Ran[Conclusion]:
    settings = JudgeSettings(answer="twenty-four", references=("24", "4 * 6"))
    return run(JUDGED.solve(TASK, settings), said)


def test_a_judge_is_shown_the_answer_and_its_references() -> None:
    ran = judged("Comparison: they say the same.\nVerdict: SAME")
    assert told(ran) == lines("""
    0 answer_judge answer_judge temperature=0 max_tokens=2048
        problem: What is six times four?
        references: - 24 / - 4 * 6
        given_answer: twenty-four
    1 generated round=0 role=reasoner answer=right source=0 parse=ok
    = (answer=right ended_by=judged)
    """)


@pytest.mark.parametrize(
    ("verdict", "answer", "ended_by"),
    [("SAME", "right", "judged"), ("DIFFERENT", "wrong", "judged"), ("UNCLEAR", None, "judged")],
)
def test_what_a_verdict_says_of_an_answer(verdict: str, answer: str | None, ended_by: str) -> None:
    result = judged(f"Comparison: so.\nVerdict: {verdict}").result
    assert (result.answer, result.ended_by) == (answer, ended_by)


def test_a_verdict_that_cannot_be_read_says_nothing() -> None:
    ran = judged("Hm.", "Hm.")
    assert (ran.result.answer, ran.result.ended_by) == (None, "unread")
    assert len(ran.requests) == 2


# ── How far a baseline's trajectory is to be trusted ─────────────────────────────────────────


def trusted(name: str, script: Script, calls: int | None = None, **values: Any) -> Ran[Conclusion]:
    policy: Policy[Any] = BY_NAME[name]
    settings = policy.settings.resolve("service", values)
    return run(policy.solve(TASK, settings), script, calls=calls)


def test_a_tree_s_best_state_is_asked_about_with_the_calls_that_it_did_not_see() -> None:
    said = {
        "thinker": [thought("six fours", "24")],
        "judge": ["Value: 0.5"],
        "confidence": ["Hm.", "Confidence: 0.8"],
    }
    ran = trusted("tot_trusted", said, calls=5, candidates=1, depth=1)
    assert told(ran) == lines("""
    1 forked lanes=1 allow=[2]
    1.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    1.0.1 generated round=0 role=thinker answer=24 source=1.0.0 parse=ok
    1.0.2 judge judge temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six fours / Final answer: 24
    1.0.3 thought.judged node=1.0.0 value=0.5 source=1.0.2 parse=first
    2 thoughts.kept depth=1 values=[[1.0.0 0.5]] kept=[1.0.0]
    4 confidence confidence.A temperature=0 max_tokens=512 (problem, trajectory as before)
    5 reply.reparsed role=confidence source=4 reason=not in the format asked
    6 confidence confidence.A temperature=0 max_tokens=512 (problem, trajectory as before)
        assistant: Hm.
        user: State it again in exactly this form, and write nothing else: / Confidence: 0.xx
    7 confidence.stated node=1.0.0 value=0.8 source=6 wording=A parse=recovered
    = (answer=24 ended_by=searched confidence=0.8 confidence_source=stated trajectory=(source=1.0.0 steps=[six fours
            / Final answer: 24]))
    """)


def test_without_a_trajectory_there_is_no_confidence_and_nobody_is_asked() -> None:
    ran = trusted("best_of_n_trusted", {"reasoner": ["Hm."] * 2}, pick="vote", samples=2)
    assert ran.roles == ["reasoner"] * 2
    assert (ran.result.answer, ran.result.confidence, ran.result.confidence_source) == (
        None,
        None,
        None,
    )


def test_a_chain_of_thought_is_asked_about_as_a_whole() -> None:
    said = {"reasoner": [solved("24")] * 2, "confidence": ["Confidence: 0.7"]}
    ran = trusted("best_of_n_trusted", said, pick="vote", samples=2)
    [asked] = ran.asks("confidence")
    assert dict(asked.variables)["trajectory"] == solved("24")
    assert (ran.result.confidence, ran.result.confidence_source) == (0.7, "stated")
