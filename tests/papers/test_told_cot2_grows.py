"""Whole searches of CoT2-Meta, told from the first question on: checks, repeats, scopes, limits."""

from __future__ import annotations

from typing import Any

from schemas.questions import Complete
from tests.papers.cot2_says import GOOD, HALF, always, grown, scores, search, sure, thought
from tests.papers.told import lines, told


def test_an_answered_trajectory_is_checked_and_its_check_is_not() -> None:
    def confirming(question: Complete) -> str:
        checks = question.template.name == "thinker.verify"
        match question.role:
            case "oracle":
                return scores(*[GOOD] * dict(question.variables)["trajectory"].count("[Step "))
            case "confidence":
                return sure(0.6)
            case _:
                return thought("it holds" if checks else "six fours", "24")

    ways: dict[str, Any] = {"own_confidence": True, "expose_meta": True}
    ran = search(confirming, primary_calls=9, strategies=("direct", "verify"), **ways)
    assert told(ran) == grown("six fours", "24", left=9, step=1, trust=0.6, value=0.84) + lines(r"""
    5 frontier.scored round=1 scores=[[2.0.0 1.881] [opened 0.7359]] chosen=2.0.0 left=6
    6 forked lanes=1 allow=[5]
    6.0.0 thinker thinker.verify temperature=0.4 top_p=0.95 max_tokens=8192 (problem, trajectory as before)
        scores: Step 1: Semantic=1.00, Logical=1.00, Fix=1.00
    6.0.1 generated round=1 role=thinker answer=24 source=6.0.0 parse=ok
    6.0.2 forked lanes=2 allow=[2 2]
    6.0.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six fours / Final answer: 24 /  / [Step 2] / it holds / Final answer: 24
        steps_to_score: Step 1, Step 2
    6.0.2.0.1 oracle.scored node=6.0.0 steps=[[1 1 1] [1 1 1]] rewards=[1 1] value=1 source=6.0.2.0.0 parse=first
    6.0.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    6.0.2.1.1 confidence.stated node=6.0.0 value=0.6 source=6.0.2.1.0 wording=A parse=first
    7 node.expanded round=1 node=2.0.0 children=[(node=6.0.0 strategy=verify depth=2 value=0.84)]
    9 frontier.scored round=2 scores=[[2.0.0 1.766] [opened 0.9264]] chosen=2.0.0 left=3
    10 forked lanes=1 allow=[3]
    10.0.0 thinker thinker.verify#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six fours / Final answer: 24
        scores: Step 1: Semantic=1.00, Logical=1.00, Fix=1.00
    10.0.1 generated round=2 role=thinker answer=24 source=10.0.0 parse=ok
    11 node.expanded round=2 node=2.0.0 children=[(node=10.0.0 strategy=verify depth=2 repeats=6.0.0)]
    14 search.decided action=return node=2.0.0 value=0.84 confidence=0.6 calls=7
    = (answer=24 ended_by=budget confidence=0.6 confidence_source=stated)
    """)


def test_a_thought_that_repeats_another_is_no_node() -> None:
    def alike(question: Complete) -> str:
        said = {"oracle": scores(GOOD), "confidence": sure(0.5)}
        return said.get(question.role, thought("six", "24"))

    ran = search(alike, primary_calls=9, strategies=("direct", "decompose"))
    assert told(ran) == lines(r"""
    1 frontier.scored round=0 scores=[[opened 0]] chosen=opened left=9
    2 forked lanes=2 allow=[4 3]
    2.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    2.0.1 generated round=0 role=thinker answer=24 source=2.0.0 parse=ok
    2.0.2 oracle oracle temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six / Final answer: 24
        steps_to_score: Step 1
    2.0.3 oracle.scored node=2.0.0 steps=[[1 1 1]] rewards=[1] value=1 source=2.0.2 parse=first
    2.0.4 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    2.0.5 confidence.stated node=2.0.0 value=0.5 source=2.0.4 wording=A parse=first
    2.1.0 thinker thinker.decompose temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    2.1.1 generated round=0 role=thinker answer=24 source=2.1.0 parse=ok
    2.1.2 forked lanes=2 allow=[1 1]
    2.1.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem, trajectory, steps_to_score as before)
    2.1.2.0.1 oracle.scored node=2.1.0 steps=[[1 1 1]] rewards=[1] value=1 source=2.1.2.0.0 parse=first
    2.1.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    2.1.2.1.1 confidence.stated node=2.1.0 value=0.5 source=2.1.2.1.0 wording=A parse=first
    3 node.expanded round=0 node=opened children=[(node=2.0.0 strategy=direct depth=1 value=0.8) (node=2.1.0
            strategy=decompose depth=1 repeats=2.0.0)]
    5 frontier.scored round=1 scores=[[opened 0.7359]] chosen=opened left=3
    6 forked lanes=1 allow=[3]
    6.0.0 thinker thinker.direct#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    6.0.1 generated round=1 role=thinker answer=24 source=6.0.0 parse=ok
    7 node.expanded round=1 node=opened children=[(node=6.0.0 strategy=direct depth=1 repeats=2.0.0)]
    10 search.decided action=return node=2.0.0 value=0.8 confidence=0.5 calls=7
    = (answer=24 ended_by=budget confidence=0.5 confidence_source=stated)
    """)


def test_the_newest_step_alone_is_scored_where_that_is_set() -> None:
    ways: dict[str, Any] = {"oracle_scope": "newest", "scratchpad": "half", "max_depth": 2}
    ran = search(always(GOOD, 0.5), primary_calls=7, strategies=("direct",), **ways)
    assert told(ran) == grown("thought 1", left=7, step=1, trust=0.5, value=0.8) + lines(r"""
    5 frontier.scored round=1 scores=[[2.0.0 1.841] [opened 0.7359]] chosen=2.0.0 left=4
    6 forked lanes=1 allow=[3]
    6.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / thoug
    6.0.1 generated round=1 role=thinker source=6.0.0 parse=ok
    6.0.2 oracle oracle temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / thought 1 /  / [Step 2] / thought 2
        steps_to_score: Step 2
    6.0.3 oracle.scored node=6.0.0 steps=[[1 1 1] [1 1 1]] rewards=[1 1] value=1 source=6.0.2 parse=first
    6.0.4 limit.reached which=calls
    7 node.expanded round=1 node=2.0.0 children=[(node=6.0.0 strategy=direct depth=2 value=1)]
    10 reasoner chain.closing temperature=0 max_tokens=8192 (problem, trajectory as before)
    11 generated round=2 role=reasoner answer=none source=10 parse=ok
    12 node.expanded round=2 node=6.0.0 children=[(node=10 strategy=closing depth=3)]
    13 confidence confidence.A temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / thought 1 /  / [Step 2] / thought 2 /  / [Step 3] / Some work. / Final_answer:
            \boxed{none} / Final answer: none
    14 confidence.stated node=10 value=0.5 source=13 wording=A parse=first
    15 search.decided action=return node=10 value=0.5 confidence=0.5 calls=7
    = (answer=none ended_by=closed confidence=0.5 confidence_source=stated)
    """)


def test_a_search_that_its_limit_ends_gives_what_it_has() -> None:
    ways: dict[str, Any] = {"primary_calls": None, "repair": "all"}
    ran = search(always(HALF, 0.5, answer="24"), calls=4, strategies=("direct",), **ways)
    assert told(ran) == grown(
        "thought 1", "24", left=4, step=0.5, trust=0.5, value=0.5, allow=(3, 1)
    ) + lines(r"""
    7 search.decided action=return node=2.0.0 value=0.5 confidence=0.5 calls=3
    = (answer=24 ended_by=budget confidence=0.5 confidence_source=stated)
    """)


def test_a_closing_call_without_an_answer_abstains() -> None:
    ran = search(["Hm."], primary_calls=1)
    assert told(ran) == lines(r"""
    2 reasoner chain temperature=0 max_tokens=8192
        problem: What is six times four?
    3 generated round=0 role=reasoner source=2 parse=unreadable
    4 search.decided action=abstain calls=1
    = (ended_by=abstained)
    """)
