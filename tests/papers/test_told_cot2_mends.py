"""Whole searches of CoT2-Meta, told from the first question on: what is asked again, written anew, split or spared."""

from __future__ import annotations

from typing import Any

from schemas.questions import Complete
from tests.papers.cot2_says import (
    GOOD,
    HALF,
    POOR,
    grown,
    scores,
    search,
    steps_asked,
    sure,
    thought,
)
from tests.papers.told import lines, told


def test_oracle_and_confidence_are_each_asked_again() -> None:
    said = {
        "thinker": [thought("six fours", "24")],
        "oracle": ["Fine.", scores(GOOD)],
        "confidence": ["Sure.", sure(0.9)],
    }
    ran = search(said, primary_calls=7, strategies=("direct",))
    assert told(ran) == lines(r"""
    1 frontier.scored round=0 scores=[[opened 0]] chosen=opened left=7
    2 forked lanes=1 allow=[5]
    2.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    2.0.1 generated round=0 role=thinker answer=24 source=2.0.0 parse=ok
    2.0.2 forked lanes=2 allow=[2 2]
    2.0.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six fours / Final answer: 24
        steps_to_score: Step 1
    2.0.2.0.1 reply.reparsed role=oracle source=2.0.2.0.0 reason=not in the format asked
    2.0.2.0.2 oracle oracle temperature=0 max_tokens=8192 (problem, trajectory, steps_to_score as before)
        assistant: Fine.
        user: Give the scores again in exactly this format, one line for each step and a number [...]
    2.0.2.0.3 oracle.scored node=2.0.0 steps=[[1 1 1]] rewards=[1] value=1 source=2.0.2.0.2 parse=recovered
    2.0.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    2.0.2.1.1 reply.reparsed role=confidence source=2.0.2.1.0 reason=not in the format asked
    2.0.2.1.2 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
        assistant: Sure.
        user: State it again in exactly this form, and write nothing else: / Confidence: 0.xx
    2.0.2.1.3 confidence.stated node=2.0.0 value=0.9 source=2.0.2.1.2 wording=A parse=recovered
    3 node.expanded round=0 node=opened children=[(node=2.0.0 strategy=direct depth=1 value=0.96)]
    5 search.decided action=stop node=2.0.0 value=0.96 confidence=0.9 calls=5
    = (answer=24 ended_by=stopped confidence=0.9 confidence_source=stated)
    """)


def test_a_repair_that_scores_lower_is_left_aside() -> None:
    def worse(question: Complete) -> str:
        again = "anew" in dict(question.variables).get("trajectory", "")
        said = {"confidence": sure(0.1 if again else 0.8), "repairer": thought("anew", "20")}
        if question.role == "oracle":
            return scores(*[POOR if again else (0.4, 0.4, 0.4)] * steps_asked(question))
        return said.get(question.role, thought("six fours", "24"))

    ran = search(worse, primary_calls=8, strategies=("direct",))
    assert told(ran) == grown("six fours", "24", left=8, step=0.4, trust=0.8, value=0.56) + lines(r"""
    5 forked lanes=1 allow=[5]
    5.0.0 repairer repairer temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        fault: Step 1: Semantic=0.40, Logical=0.40, Fix=0.40
        rejected_steps: [Step 1] / six fours / Final answer: 24
    5.0.1 generated round=0 role=repairer answer=20 source=5.0.0 parse=ok
    5.0.2 forked lanes=2 allow=[2 2]
    5.0.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem, steps_to_score as before)
        trajectory: [Step 1] / anew / Final answer: 20
    5.0.2.0.1 oracle.scored node=5.0.0 steps=[[0.1 0.1 0.1]] rewards=[0.1] value=0.1 low=1 source=5.0.2.0.0
            parse=first
    5.0.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    5.0.2.1.1 confidence.stated node=5.0.0 value=0.1 source=5.0.2.1.0 wording=A parse=first
    6 node.repaired round=0 node=2.0.0 into=5.0.0 parent=opened step=1 depth=1 before=0.56 value=0.1 kept=old
    9 search.decided action=return node=2.0.0 value=0.56 confidence=0.8 calls=6
    = (answer=24 ended_by=budget confidence=0.8 confidence_source=stated)
    """)


def test_a_thought_is_split_at_its_marks_and_written_anew_from_the_first_low_step() -> None:
    def marked(question: Complete) -> str:
        if question.role == "oracle":
            return scores(*([GOOD, POOR, GOOD] if steps_asked(question) == 3 else [GOOD] * 2))
        said = {"confidence": sure(0.7), "repairer": thought("Step 2: six fours", "24")}
        return said.get(question.role, thought("Step 1: four\nStep 2: ten\nStep 3: so", "10"))

    ran = search(marked, primary_calls=7, strategies=("direct",), segment="marked")
    assert told(ran) == lines(r"""
    1 frontier.scored round=0 scores=[[opened 0]] chosen=opened left=7
    2 forked lanes=1 allow=[5]
    2.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    2.0.1 generated round=0 role=thinker answer=10 source=2.0.0 parse=ok
    2.0.2 forked lanes=2 allow=[2 2]
    2.0.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / Step 1: four /  / [Step 2] / Step 2: ten /  / [Step 3] / Step 3: so / Final answer:
            10
        steps_to_score: Step 1, Step 2, Step 3
    2.0.2.0.1 oracle.scored node=2.0.0 steps=[[1 1 1] [0.1 0.1 0.1] [1 1 1]] rewards=[1 0.1 1] value=0.7 low=2
            source=2.0.2.0.0 parse=first
    2.0.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    2.0.2.1.1 confidence.stated node=2.0.0 value=0.7 source=2.0.2.1.0 wording=A parse=first
    3 node.expanded round=0 node=opened children=[(node=2.0.0 strategy=direct depth=1 value=0.7)]
    5 forked lanes=1 allow=[4]
    5.0.0 repairer repairer temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / Step 1: four
        fault: Step 2: Semantic=0.10, Logical=0.10, Fix=0.10
        rejected_steps: [Step 2] / Step 2: ten /  / [Step 3] / Step 3: so / Final answer: 10
    5.0.1 generated round=0 role=repairer answer=24 source=5.0.0 parse=ok
    5.0.2 oracle oracle temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / Step 1: four /  / [Step 2] / Step 2: six fours / Final answer: 24
        steps_to_score: Step 1, Step 2
    5.0.3 oracle.scored node=5.0.0 steps=[[1 1 1] [1 1 1]] rewards=[1 1] value=1 source=5.0.2 parse=first
    5.0.4 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    5.0.5 confidence.stated node=5.0.0 value=0.7 source=5.0.4 wording=A parse=first
    6 node.repaired round=0 node=2.0.0 into=5.0.0 parent=opened step=2 depth=1 before=0.7 value=0.88 kept=new
    9 search.decided action=return node=5.0.0 value=0.88 confidence=0.7 calls=6
    = (answer=24 ended_by=budget confidence=0.7 confidence_source=stated)
    """)


def test_a_shadow_run_spares_the_node_that_it_is_about() -> None:
    def poor(question: Complete) -> str:
        if question.role == "oracle":
            return scores(*[POOR] * steps_asked(question))
        again = dict(question.variables)["trajectory"]
        said = {
            "confidence": sure(0.1),
            "thinker": thought("six fours", "24") if again else thought("four"),
        }
        return said[question.role]

    ways: dict[str, Any] = {"shadow_from": "2.0.0", "repair": "none", "max_depth": 2}
    ran = search(poor, primary_calls=5, strategies=("direct",), **ways)
    assert told(ran) == grown("four", left=5, step=0.1, trust=0.1, value=0.1, allow=(3, 1)) + lines(r"""
    5 frontier.scored round=1 scores=[[2.0.0 1.141] [opened 0.7359]] chosen=2.0.0 left=7
    6 forked lanes=1 allow=[5]
    6.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192 (problem, trajectory as before)
    6.0.1 generated round=1 role=thinker answer=24 source=6.0.0 parse=ok
    6.0.2 forked lanes=2 allow=[2 2]
    6.0.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / four /  / [Step 2] / six fours / Final answer: 24
        steps_to_score: Step 1, Step 2
    6.0.2.0.1 oracle.scored node=6.0.0 steps=[[0.1 0.1 0.1] [0.1 0.1 0.1]] rewards=[0.1 0.1] value=0.1 low=1
            source=6.0.2.0.0 parse=first
    6.0.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    6.0.2.1.1 confidence.stated node=6.0.0 value=0.1 source=6.0.2.1.0 wording=A parse=first
    7 node.expanded round=1 node=2.0.0 children=[(node=6.0.0 strategy=direct depth=2 value=0.1)]
    9 frontier.scored round=2 scores=[[2.0.0 1.026] [opened 0.9264]] chosen=2.0.0 left=4
    10 forked lanes=1 allow=[4]
    10.0.0 thinker thinker.direct#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / four
    10.0.1 generated round=2 role=thinker answer=24 source=10.0.0 parse=ok
    11 node.expanded round=2 node=2.0.0 children=[(node=10.0.0 strategy=direct depth=2 repeats=6.0.0)]
    13 frontier.scored round=3 scores=[[opened 1.041] [2.0.0 0.9497]] chosen=opened left=3
    14 forked lanes=1 allow=[3]
    14.0.0 thinker thinker.direct#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    14.0.1 generated round=3 role=thinker source=14.0.0 parse=ok
    15 node.expanded round=3 node=opened children=[(node=14.0.0 strategy=direct depth=1 repeats=2.0.0)]
    18 search.decided action=return node=6.0.0 value=0.1 confidence=0.1 calls=8
    = (answer=24 ended_by=budget confidence=0.1 confidence_source=stated)
    """)


def test_an_expanded_node_is_closed_where_that_is_set() -> None:
    said = {
        "thinker": [thought("four"), thought("six fours", "24")],
        "oracle": [scores(HALF), scores(HALF, HALF)],
        "confidence": [sure(0.5), sure(0.5)],
    }
    ran = search(said, primary_calls=9, strategies=("direct",), reopen=False, ties="hash")
    assert told(ran) == grown("four", left=9, step=0.5, trust=0.5, value=0.5) + lines(r"""
    5 frontier.scored round=1 scores=[[2.0.0 1.541]] chosen=2.0.0 left=6
    6 forked lanes=1 allow=[4]
    6.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192 (problem, trajectory as before)
    6.0.1 generated round=1 role=thinker answer=24 source=6.0.0 parse=ok
    6.0.2 oracle oracle temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / four /  / [Step 2] / six fours / Final answer: 24
        steps_to_score: Step 1, Step 2
    6.0.3 oracle.scored node=6.0.0 steps=[[0.5 0.5 0.5] [0.5 0.5 0.5]] rewards=[0.5 0.5] value=0.5 source=6.0.2
            parse=first
    6.0.4 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    6.0.5 confidence.stated node=6.0.0 value=0.5 source=6.0.4 wording=A parse=first
    7 node.expanded round=1 node=2.0.0 children=[(node=6.0.0 strategy=direct depth=2 value=0.5)]
    10 search.decided action=return node=6.0.0 value=0.5 confidence=0.5 calls=6
    = (answer=24 ended_by=frontier confidence=0.5 confidence_source=stated)
    """)


def test_an_answer_that_was_pruned_leaves_no_call_for_another() -> None:
    said = {
        "thinker": [thought("six fours", "24")],
        "oracle": [scores(POOR)],
        "confidence": [sure(0.1)],
    }
    ran = search(said, calls=9, primary_calls=3, strategies=("direct",), repair="none")
    assert told(ran) == grown(
        "six fours", "24", left=3, step=0.1, trust=0.1, value=0.1, allow=(3, 1)
    ) + lines(r"""
    4 node.pruned round=0 node=2.0.0 value=0.1
    7 search.decided action=abstain calls=3
    = (ended_by=abstained)
    """)
