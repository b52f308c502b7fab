"""Whole searches of CoT2-Meta, told from the first question on: growth, scores, pruning, repair, the end."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.questions import Complete
from tests.papers.cot2_says import (
    GOOD,
    HALF,
    POOR,
    always,
    chained,
    grown,
    scores,
    search,
    sure,
    thought,
)
from tests.papers.told import lines, told


def test_an_answer_that_is_sure_enough_ends_the_search() -> None:
    ran = search(
        always(GOOD, 0.95, answer="24"), primary_calls=10, strategies=("direct", "decompose")
    )
    assert told(ran) == lines(r"""
    1 frontier.scored round=0 scores=[[opened 0]] chosen=opened left=10
    2 forked lanes=2 allow=[5 3]
    2.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    2.0.1 generated round=0 role=thinker answer=24 source=2.0.0 parse=ok
    2.0.2 forked lanes=2 allow=[2 2]
    2.1.0 thinker thinker.decompose temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    2.1.1 generated round=0 role=thinker answer=24 source=2.1.0 parse=ok
    2.1.2 forked lanes=2 allow=[1 1]
    2.0.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / thought 1 / Final answer: 24
        steps_to_score: Step 1
    2.0.2.0.1 oracle.scored node=2.0.0 steps=[[1 1 1]] rewards=[1] value=1 source=2.0.2.0.0 parse=first
    2.0.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    2.0.2.1.1 confidence.stated node=2.0.0 value=0.95 source=2.0.2.1.0 wording=A parse=first
    2.1.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem, steps_to_score as before)
        trajectory: [Step 1] / thought 2 / Final answer: 24
    2.1.2.0.1 oracle.scored node=2.1.0 steps=[[1 1 1]] rewards=[1] value=1 source=2.1.2.0.0 parse=first
    2.1.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    2.1.2.1.1 confidence.stated node=2.1.0 value=0.95 source=2.1.2.1.0 wording=A parse=first
    3 node.expanded round=0 node=opened children=[(node=2.0.0 strategy=direct depth=1 value=0.98) (node=2.1.0
            strategy=decompose depth=1 value=0.98)]
    5 search.decided action=stop node=2.0.0 value=0.98 confidence=0.95 calls=6
    = (answer=24 ended_by=stopped confidence=0.95 confidence_source=stated)
    """)


def test_a_poor_step_is_repaired_and_the_better_trajectory_stays() -> None:
    def adding(question: Complete) -> str:
        shown = dict(question.variables)
        steps = shown.get("trajectory", "").split("[Step ")[1:]
        match question.role:
            case "oracle":
                return scores(*(POOR if "ten" in step else GOOD for step in steps))
            case "confidence":
                return sure(0.95 if "sixes" in steps[-1] else 0.6)
            case "repairer":
                return thought("it is four sixes", "24")
            case _:
                return thought("it is ten", "10") if steps else thought("four and six")

    ran = search(adding, primary_calls=14, strategies=("direct",))
    assert told(ran) == grown("four and six", left=14, step=1, trust=0.6, value=0.84) + lines(r"""
    5 frontier.scored round=1 scores=[[2.0.0 1.881] [opened 0.7359]] chosen=2.0.0 left=11
    6 forked lanes=1 allow=[5]
    6.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192 (problem, trajectory as before)
    6.0.1 generated round=1 role=thinker answer=10 source=6.0.0 parse=ok
    6.0.2 forked lanes=2 allow=[2 2]
    6.0.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / four and six /  / [Step 2] / it is ten / Final answer: 10
        steps_to_score: Step 1, Step 2
    6.0.2.0.1 oracle.scored node=6.0.0 steps=[[1 1 1] [0.1 0.1 0.1]] rewards=[1 0.1] value=0.55 low=2
            source=6.0.2.0.0 parse=first
    6.0.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    6.0.2.1.1 confidence.stated node=6.0.0 value=0.6 source=6.0.2.1.0 wording=A parse=first
    7 node.expanded round=1 node=2.0.0 children=[(node=6.0.0 strategy=direct depth=2 value=0.57)]
    9 forked lanes=1 allow=[5]
    9.0.0 repairer repairer temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / four and six
        fault: Step 2: Semantic=0.10, Logical=0.10, Fix=0.10
        rejected_steps: [Step 2] / it is ten / Final answer: 10
    9.0.1 generated round=1 role=repairer answer=24 source=9.0.0 parse=ok
    9.0.2 forked lanes=2 allow=[2 2]
    9.0.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem, steps_to_score as before)
        trajectory: [Step 1] / four and six /  / [Step 2] / it is four sixes / Final answer: 24
    9.0.2.0.1 oracle.scored node=9.0.0 steps=[[1 1 1] [1 1 1]] rewards=[1 1] value=1 source=9.0.2.0.0 parse=first
    9.0.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    9.0.2.1.1 confidence.stated node=9.0.0 value=0.95 source=9.0.2.1.0 wording=A parse=first
    10 node.repaired round=1 node=6.0.0 into=9.0.0 parent=2.0.0 step=2 depth=2 before=0.57 value=0.98 kept=new
    12 search.decided action=stop node=9.0.0 value=0.98 confidence=0.95 calls=9
    = (answer=24 ended_by=stopped confidence=0.95 confidence_source=stated)
    """)


def test_what_is_poor_throughout_is_pruned_and_nothing_is_left() -> None:
    ran = search(always(POOR, 0.1), primary_calls=8, strategies=("direct",), repair="none")
    assert told(ran) == grown("thought 1", left=8, step=0.1, trust=0.1, value=0.1) + lines(r"""
    4 node.pruned round=0 node=2.0.0 value=0.1
    6 frontier.scored round=1 scores=[[opened 0.7359]] chosen=opened left=5
    7 forked lanes=1 allow=[3]
    7.0.0 thinker thinker.direct#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    7.0.1 generated round=1 role=thinker source=7.0.0 parse=ok
    7.0.2 forked lanes=2 allow=[1 1]
    7.0.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem, steps_to_score as before)
        trajectory: [Step 1] / thought 2
    7.0.2.0.1 oracle.scored node=7.0.0 steps=[[0.1 0.1 0.1]] rewards=[0.1] value=0.1 low=1 source=7.0.2.0.0
            parse=first
    7.0.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    7.0.2.1.1 confidence.stated node=7.0.0 value=0.1 source=7.0.2.1.0 wording=A parse=first
    8 node.expanded round=1 node=opened children=[(node=7.0.0 strategy=direct depth=1 value=0.1)]
    9 node.pruned round=1 node=7.0.0 value=0.1
    12 reasoner chain temperature=0 max_tokens=8192 (problem as before)
    13 generated round=2 role=reasoner answer=none source=12 parse=ok
    14 node.expanded round=2 node=opened children=[(node=12 strategy=closing depth=1)]
    15 confidence confidence.A temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / Some work. / Final_answer: \boxed{none} / Final answer: none
    16 confidence.stated node=12 value=0.1 source=15 wording=A parse=first
    17 search.decided action=return node=12 value=0.1 confidence=0.1 calls=8
    = (answer=none ended_by=closed confidence=0.1 confidence_source=stated)
    """)


def test_scores_that_cannot_be_read_are_asked_for_again_and_are_unknown() -> None:
    said = {
        "thinker": [thought("six fours", "24")],
        "oracle": ["Fine.", "Well."],
        "confidence": ["Sure.", "Quite."],
    }
    ran = search(
        said, primary_calls=7, strategies=("direct",), judging="in_turn", stop_threshold=0.0
    )
    assert told(ran) == lines(r"""
    1 frontier.scored round=0 scores=[[opened 0]] chosen=opened left=7
    2 forked lanes=1 allow=[5]
    2.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    2.0.1 generated round=0 role=thinker answer=24 source=2.0.0 parse=ok
    2.0.2 oracle oracle temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six fours / Final answer: 24
        steps_to_score: Step 1
    2.0.3 reply.reparsed role=oracle source=2.0.2 reason=not in the format asked
    2.0.4 oracle oracle temperature=0 max_tokens=8192 (problem, trajectory, steps_to_score as before)
        assistant: Fine.
        user: Give the scores again in exactly this format, one line for each step and a number [...]
    2.0.5 oracle.scored node=2.0.0 steps=[[None None None]] rewards=[None] source=2.0.4 parse=defaulted
    2.0.6 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    2.0.7 reply.reparsed role=confidence source=2.0.6 reason=not in the format asked
    2.0.8 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
        assistant: Sure.
        user: State it again in exactly this form, and write nothing else: / Confidence: 0.xx
    2.0.9 confidence.stated node=2.0.0 source=2.0.8 wording=A parse=defaulted
    3 node.expanded round=0 node=opened children=[(node=2.0.0 strategy=direct depth=1 value=0)]
    6 search.decided action=return node=2.0.0 value=0 calls=5
    = (answer=24 ended_by=budget)
    """)


@pytest.mark.parametrize(
    ("votes", "ways", "rest"),
    [
        pytest.param(
            [chained("24"), chained("24"), "Hm."],
            {"primary_calls": 3, "fallback_samples": 3},
            r"""
    6 search.decided action=fallback node=2.0.0 value=0.5 confidence=0.5 calls=3
    8 forked lanes=3 allow=[1 1 1]
    8.0.0 fallback chain temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    8.0.1 generated round=0 role=fallback answer=24 source=8.0.0 parse=ok
    8.1.0 fallback chain#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    8.1.1 generated round=1 role=fallback answer=24 source=8.1.0 parse=ok
    8.2.0 fallback chain#2 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    8.2.1 generated round=2 role=fallback source=8.2.0 parse=unreadable
    9 voted answer=24 votes=2 of=3 unreadable=1
    = (answer=24 ended_by=fallback confidence=0.6667 confidence_source=vote_share)
    """,
            id="left to a vote",
        ),
        pytest.param(
            [],
            {"primary_calls": 3, "fallback_samples": 0},
            r"""
    6 search.decided action=abstain node=2.0.0 value=0.5 confidence=0.5 calls=3
    = (ended_by=abstained confidence=0.5 confidence_source=stated)
    """,
            id="withheld where nobody votes",
        ),
        pytest.param(
            [],
            {"calls": 3},
            r"""
    6 search.decided action=fallback node=2.0.0 value=0.5 confidence=0.5 calls=3
    8 forked lanes=0
    = (answer=20 ended_by=fallback confidence=0.5 confidence_source=stated)
    """,
            id="given where no call is left for a vote",
        ),
        pytest.param(
            ["Hm.", "Hm."],
            {"calls": 5, "primary_calls": 3},
            r"""
    6 search.decided action=fallback node=2.0.0 value=0.5 confidence=0.5 calls=3
    8 forked lanes=2 allow=[1 1]
    8.0.0 fallback chain temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    8.0.1 generated round=0 role=fallback source=8.0.0 parse=unreadable
    8.1.0 fallback chain#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    8.1.1 generated round=1 role=fallback source=8.1.0 parse=unreadable
    9 voted votes=0 of=2 unreadable=2
    = (answer=20 ended_by=fallback confidence=0.5 confidence_source=stated)
    """,
            id="left to a vote as wide as the calls that are left",
        ),
    ],
)
def test_an_answer_too_doubtful(votes: list[str], ways: dict[str, Any], rest: str) -> None:
    said = {"thinker": [thought("so", "20")], "oracle": [scores(HALF)], "confidence": [sure(0.5)]}
    ran = search({**said, "fallback": votes}, strategies=("direct",), abstain_threshold=0.6, **ways)
    beginning = grown("so", "20", left=3, allow=(3, 1), step=0.5, trust=0.5, value=0.5)
    assert told(ran) == beginning + lines(rest)


def test_a_search_without_an_answer_is_closed() -> None:
    said = {"thinker": [thought("so")], "oracle": [scores(HALF)], "confidence": [sure(0.5)] * 2}
    said["reasoner"] = [chained("24")]
    ran = search(said, primary_calls=5, strategies=("direct",))
    assert told(ran) == grown("so", left=5, step=0.5, trust=0.5, value=0.5, allow=(3, 1)) + lines(r"""
    6 reasoner chain.closing temperature=0 max_tokens=8192 (problem, trajectory as before)
    7 generated round=1 role=reasoner answer=24 source=6 parse=ok
    8 node.expanded round=1 node=2.0.0 children=[(node=6 strategy=closing depth=2)]
    9 confidence confidence.A temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / so /  / [Step 2] / Some work. / Final_answer: \boxed{24} / Final answer: 24
    10 confidence.stated node=6 value=0.5 source=9 wording=A parse=first
    11 search.decided action=return node=6 value=0.5 confidence=0.5 calls=5
    = (answer=24 ended_by=closed confidence=0.5 confidence_source=stated)
    """)


def test_without_a_tree_it_is_one_chain() -> None:
    ran = search(always(GOOD, 0.8, answer="24"), primary_calls=12, tree=False)
    assert told(ran) == lines(r"""
    0 reasoner chain temperature=0 max_tokens=8192
        problem: What is six times four?
    1 generated round=0 role=reasoner answer=24 source=0 parse=ok
    = (answer=24 ended_by=answered)
    """)
