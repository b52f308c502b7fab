"""Laws of MC² over any script: determinism, purity of reflection and history, limits."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.base import Conclusion
from handlers.policies.last_call import CLOSED
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.trace import history
from schemas.events.episode import Completed
from schemas.events.reasoning import Generated
from schemas.questions import Recall
from tests.papers.mc2_says import (
    PAPER,
    audited,
    decided,
    episode,
    full_memory,
    guided,
    knowing,
    reflected,
    setting,
    solved,
)
from tests.scripted import NO_MEMORY, Ran

SAID = {
    "reasoner": st.sampled_from((solved("24"), solved("x + 1"), "no idea", "")),
    "monitor": st.sampled_from((audited("YES"), audited("NO"), "hm", "Error_found: maybe")),
    "controller": st.sampled_from(
        (decided(1), decided(2), decided(3), decided(3), "hm", "Action: 2")
    ),
    "composer": st.sampled_from((guided(), guided("Review plan"), guided("Decision policy"), "no")),
}


@st.composite
def episodes(draw: st.DrawFn) -> Ran[Conclusion]:
    """An episode over any of these replies, cold or guided, with any limit of calls."""
    memory = full_memory() if draw(st.booleans()) else NO_MEMORY
    calls = draw(st.none() | st.integers(1, 30))
    script = {role: draw(st.lists(said, min_size=24, max_size=24)) for role, said in SAID.items()}
    return episode(script, memory=memory, calls=calls)


@given(episodes())
def test_reflection_and_history_are_functions_of_the_record(ran: Ran[Conclusion]) -> None:
    summary, told = reflected(ran), history(ran.trace)
    assert json.dumps(summary) == json.dumps(reflected(ran))
    assert json.loads(json.dumps(told)) == told == history(ran.trace)
    assert len(told) == summary["rounds"]
    assert [one["controller"]["action"] for one in told if one["controller"]] == summary["actions"]


@given(episodes())
def test_the_same_replies_give_the_same_record(ran: Ran[Conclusion]) -> None:
    memory = full_memory() if any(isinstance(q, Recall) for _, q in ran.asked) else NO_MEMORY
    calls = len(ran.requests) if ran.result.limit else None
    again = episode([reply.text for reply in ran.of(Completed)], memory=memory, calls=calls)
    assert again.events == ran.events
    assert again.result == ran.result


@given(episodes())
def test_rounds_and_confidence_fit_the_ending(ran: Ran[Conclusion]) -> None:
    summary, result = reflected(ran), ran.result
    assert summary["rounds"] <= PAPER.max_rounds
    closed = any(fact.role == CLOSED for fact in ran.of(Generated))
    graded = {"A": 1.0, "B": 0.5, "C": 0.0}[summary["grade"]]
    assert result.confidence == (None if closed else graded), "nobody graded the kept call's answer"
    assert (result.limit is None) == (result.ended_by != "limit")
    assert summary["ended_by"] == result.ended_by
    assert result.ended_by not in ("accepted", "corrected") or result.answer is not None


def test_memory_is_asked_once_and_only_where_there_can_be_any() -> None:
    def recalls(ran: Ran[Conclusion]) -> int:
        return sum(isinstance(question, Recall) for _, question in ran.asked)

    script = {"reasoner": [solved("1")], "monitor": [audited("NO")], "controller": [decided(1)]}
    empty = knowing(number=3)
    assert recalls(episode(script)) == 0
    assert recalls(episode(script, memory=empty)) == 1
    assert recalls(episode(script, setting(warm_start="a/b/c/d"))) == 1
    assert recalls(episode(script, setting(guidance="none"), memory=empty)) == 0
    assert MC2.confidence_source == "value"
