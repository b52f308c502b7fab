"""Whole episodes of searching baselines, told from the first question on: who is shown what, what is stated."""

from __future__ import annotations

from schemas.questions import Complete
from tests.papers.mc2_says import solved
from tests.papers.told import lines, served, thought, told


def test_best_of_n_with_a_verifier_that_is_asked_again_once() -> None:
    said = {
        "reasoner": [solved("23"), solved("24"), "hm"],
        "confidence": ["what?", "Confidence=0.4", "Confidence=0.9"],
    }
    ran = served("best_of_n", said, calls=7, samples=4)
    assert told(ran) == lines(r"""
    1 forked lanes=3 allow=[3 2 2]
    1.0.0 reasoner chain temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    1.0.1 generated round=0 role=reasoner answer=23 source=1.0.0 parse=ok
    1.0.2 confidence confidence.A temperature=0 max_tokens=8192 (problem as before)
        trajectory: Step 1: try. / Final_answer: \boxed{23}
    1.0.3 reply.reparsed role=confidence source=1.0.2 reason=not in the format asked
    1.0.4 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
        assistant: what?
        user: State it again in exactly this form, and write nothing else: / Confidence: 0.xx
    1.0.5 confidence.stated node=1.0.0 value=0.4 source=1.0.4 wording=A parse=recovered
    1.1.0 reasoner chain#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    1.1.1 generated round=1 role=reasoner answer=24 source=1.1.0 parse=ok
    1.1.2 confidence confidence.A temperature=0 max_tokens=8192 (problem as before)
        trajectory: Step 1: try. / Final_answer: \boxed{24}
    1.1.3 confidence.stated node=1.1.0 value=0.9 source=1.1.2 wording=A parse=first
    1.2.0 reasoner chain#2 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    1.2.1 generated round=2 role=reasoner source=1.2.0 parse=unreadable
    = (answer=24 ended_by=picked confidence=0.9 confidence_source=stated trajectory=(source=1.1.0 steps=Step 1: try.
            / Final_answer: \boxed{24}))
    """)


def test_best_of_n_whose_verifier_is_never_read_claims_no_confidence() -> None:
    ran = served(
        "best_of_n", {"reasoner": ["hm", solved("24")], "confidence": ["?", "?"]}, samples=2
    )
    assert told(ran) == lines(r"""
    1 forked lanes=2 allow=[3 3]
    1.0.0 reasoner chain temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    1.0.1 generated round=0 role=reasoner source=1.0.0 parse=unreadable
    1.1.0 reasoner chain#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    1.1.1 generated round=1 role=reasoner answer=24 source=1.1.0 parse=ok
    1.1.2 confidence confidence.A temperature=0 max_tokens=8192 (problem as before)
        trajectory: Step 1: try. / Final_answer: \boxed{24}
    1.1.3 reply.reparsed role=confidence source=1.1.2 reason=not in the format asked
    1.1.4 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
        assistant: ?
        user: State it again in exactly this form, and write nothing else: / Confidence: 0.xx
    1.1.5 confidence.stated node=1.1.0 source=1.1.4 wording=A parse=defaulted
    = (answer=24 ended_by=unscored)
    """)


def test_best_of_n_cut_short_by_its_limit() -> None:
    ran = served("best_of_n", {"reasoner": [solved("24")], "confidence": []}, calls=1, samples=2)
    assert told(ran) == lines(r"""
    1 forked lanes=1 allow=[2]
    1.0.0 reasoner chain temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    1.0.1 generated round=0 role=reasoner answer=24 source=1.0.0 parse=ok
    1.0.2 limit.reached which=calls
    = (answer=24 ended_by=limit limit=calls)
    """)


def test_best_of_n_by_vote_where_no_checker_can_tell() -> None:
    said = [solved("23"), solved("24"), solved("24")]
    ran = served("best_of_n", said, samples=3, pick="checker", calls=9)
    assert told(ran) == lines(r"""
    1 forked lanes=3 allow=[1 1 1]
    1.0.0 reasoner chain temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    1.0.1 generated round=0 role=reasoner answer=23 source=1.0.0 parse=ok
    1.1.0 reasoner chain#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    1.1.1 generated round=1 role=reasoner answer=24 source=1.1.0 parse=ok
    1.2.0 reasoner chain#2 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    1.2.1 generated round=2 role=reasoner answer=24 source=1.2.0 parse=ok
    2 check domain=arithmetic problem=What is six times four? answer=23: unknown
    3 check domain=arithmetic problem=What is six times four? answer=24: unknown
    4 voted answer=24 votes=2 of=3 unreadable=0
    = (answer=24 ended_by=voted confidence=0.6667 confidence_source=vote_share trajectory=(source=1.1.0 steps=Step
            1: try. / Final_answer: \boxed{24}))
    """)


def test_a_tree_of_one_candidate_a_node() -> None:
    said = {
        "thinker": [
            thought("four sixes"),
            thought("add them", "24"),
            thought("six fours"),
            thought("well", "25"),
        ],
        "judge": ["Value: 0.5", "Value: 0.8", "Value: 0.4", "Value: 0.7"],
    }
    ran = served("tot", said, calls=9, candidates=1)
    assert told(ran) == lines(r"""
    1 forked lanes=1 allow=[3]
    1.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    1.0.1 generated round=0 role=thinker source=1.0.0 parse=ok
    1.0.2 judge judge temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / four sixes
    1.0.3 thought.judged node=1.0.0 value=0.5 source=1.0.2 parse=first
    2 thoughts.kept depth=1 values=[[1.0.0 0.5]] kept=[1.0.0]
    4 forked lanes=1 allow=[3]
    4.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192 (problem, trajectory as before)
    4.0.1 generated round=1 role=thinker answer=24 source=4.0.0 parse=ok
    4.0.2 judge judge temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / four sixes /  / [Step 2] / add them / Final answer: 24
    4.0.3 thought.judged node=4.0.0 value=0.8 source=4.0.2 parse=first
    5 thoughts.kept depth=2 values=[[4.0.0 0.8]] kept=[4.0.0]
    8 forked lanes=1 allow=[3]
    8.0.0 thinker thinker.direct#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    8.0.1 generated round=0 role=thinker source=8.0.0 parse=ok
    8.0.2 judge judge temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six fours
    8.0.3 thought.judged node=8.0.0 value=0.4 source=8.0.2 parse=first
    9 thoughts.kept depth=1 values=[[8.0.0 0.4]] kept=[8.0.0]
    11 forked lanes=1 allow=[3]
    11.0.0 thinker thinker.direct#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem, trajectory as before)
    11.0.1 generated round=1 role=thinker answer=25 source=11.0.0 parse=ok
    11.0.2 judge judge temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six fours /  / [Step 2] / well / Final answer: 25
    11.0.3 thought.judged node=11.0.0 value=0.7 source=11.0.2 parse=first
    12 thoughts.kept depth=2 values=[[11.0.0 0.7]] kept=[11.0.0]
    = (answer=24 ended_by=searched confidence=0.8 confidence_source=value trajectory=(source=4.0.0 steps=[four sixes
            add them / Final answer: 24]))
    """)


def test_a_tree_without_an_answer_is_closed_by_one_chain() -> None:
    said = {"thinker": [thought("four sixes")], "judge": ["Value: 0.5"], "reasoner": [solved("24")]}
    ran = served("tot", said, calls=3, candidates=2, depth=1)
    assert told(ran) == lines(r"""
    1 forked lanes=1 allow=[2]
    1.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    1.0.1 generated round=0 role=thinker source=1.0.0 parse=ok
    1.0.2 judge judge temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / four sixes
    1.0.3 thought.judged node=1.0.0 value=0.5 source=1.0.2 parse=first
    2 thoughts.kept depth=1 values=[[1.0.0 0.5]] kept=[1.0.0]
    5 reasoner chain temperature=0 max_tokens=8192 (problem as before)
    6 generated round=0 role=reasoner answer=24 source=5 parse=ok
    = (answer=24 ended_by=closed trajectory=(source=5 steps=Step 1: try. / Final_answer: \boxed{24}))
    """)


def test_a_tree_search_that_goes_into_the_better_branch() -> None:
    said = {
        "thinker": [thought("four"), thought("six"), thought("add", "20"), thought("times", "24")],
        "judge": ["Value: 0.2", "Value: 0.6", "Value: 0.5", "Value: 0.95"],
    }
    ran = served("rest_mcts", said, candidates=2)
    assert told(ran) == lines(r"""
    1 forked lanes=2 allow=[3 3]
    1.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    1.0.1 generated round=0 role=thinker source=1.0.0 parse=ok
    1.0.2 judge judge temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / four
    1.0.3 thought.judged node=1.0.0 value=0.2 source=1.0.2 parse=first
    1.1.0 thinker thinker.direct#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    1.1.1 generated round=0 role=thinker source=1.1.0 parse=ok
    1.1.2 judge judge temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six
    1.1.3 thought.judged node=1.1.0 value=0.6 source=1.1.2 parse=first
    2 value.backed.up round=1 node=1.0.0 path=[[opened 1 0.2] [1.0.0 1 0.2]]
    3 value.backed.up round=2 node=1.1.0 path=[[opened 2 0.4] [1.1.0 1 0.6]]
    5 forked lanes=2 allow=[3 3]
    5.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192 (problem, trajectory as before)
    5.0.1 generated round=1 role=thinker answer=20 source=5.0.0 parse=ok
    5.0.2 judge judge temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six /  / [Step 2] / add / Final answer: 20
    5.0.3 thought.judged node=5.0.0 value=0.5 source=5.0.2 parse=first
    5.1.0 thinker thinker.direct#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six
    5.1.1 generated round=1 role=thinker answer=24 source=5.1.0 parse=ok
    5.1.2 judge judge temperature=0 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / six /  / [Step 2] / times / Final answer: 24
    5.1.3 thought.judged node=5.1.0 value=0.95 source=5.1.2 parse=first
    6 value.backed.up round=2 node=5.0.0 path=[[opened 3 0.4333] [1.1.0 2 0.55] [5.0.0 1 0.5]]
    7 value.backed.up round=3 node=5.1.0 path=[[opened 4 0.5625] [1.1.0 3 0.6833] [5.1.0 1 0.95]]
    = (answer=24 ended_by=searched confidence=0.95 confidence_source=value trajectory=(source=5.1.0 steps=[six times
            / Final answer: 24]))
    """)


def test_stages_in_four_manners_until_one_call_is_left() -> None:
    def stage(question: Complete) -> str:
        if question.template.name != "ttpi.continue":
            return solved("24")
        return f"Next_step: {dict(question.variables)['opening']} so\nState: OPEN"

    ran = served("ttpi", stage, calls=6)
    assert told(ran) == lines(r"""
    1 forked lanes=4
    1.0.0 reasoner ttpi.continue max_tokens=512 logprobs=True
        problem: What is six times four?
        opening: Next,
    1.0.1 generated round=0 role=reasoner source=1.0.0 parse=ok
    1.1.0 reasoner ttpi.continue max_tokens=512 logprobs=True (problem as before)
        opening: In short, what stands so far:
    1.1.1 generated round=0 role=reasoner source=1.1.0 parse=ok
    1.2.0 reasoner ttpi.continue max_tokens=512 logprobs=True (problem as before)
        opening: Wait, is that right? Checking it:
    1.2.1 generated round=0 role=reasoner source=1.2.0 parse=ok
    1.3.0 reasoner ttpi.continue max_tokens=512 logprobs=True (problem as before)
        opening: So, to close, the answer is:
    1.3.1 generated round=0 role=reasoner source=1.3.0 parse=ok
    2 strategy.chosen round=0 arm=progress how=perplexity scores=[[progress 1.649] [summarise 1.649] [verify 1.649]
            [conclude 1.649]] source=1.0.0
    4 forked lanes=1
    4.0.0 reasoner ttpi.continue#1 max_tokens=512 logprobs=True (problem, opening as before)
        trajectory: [Step 1] / Next, so
    4.0.1 generated round=1 role=reasoner source=4.0.0 parse=ok
    5 strategy.chosen round=1 arm=conclude how=perplexity scores=[[conclude 1.649]] source=4.0.0
    7 reasoner chain.closing max_tokens=512 (problem as before)
        trajectory: [Step 1] / Next, so /  / [Step 2] / So, to close, the answer is: so
    8 generated round=2 role=reasoner answer=24 source=7 parse=ok
    = (answer=24 ended_by=limit limit=calls)
    """)


def test_a_stage_that_settles_the_problem() -> None:
    said = "Next_step: it is 24\nState: SOLVED\nFinal_answer: \\boxed{24}"
    ran = served("ttpi", [said], max_stages=1, stage_cap=99)
    assert told(ran) == lines(r"""
    1 forked lanes=1
    1.0.0 reasoner ttpi.continue max_tokens=99 logprobs=True
        problem: What is six times four?
        opening: So, to close, the answer is:
    1.0.1 generated round=0 role=reasoner answer=24 source=1.0.0 parse=ok
    2 strategy.chosen round=0 arm=conclude how=perplexity scores=[[conclude 1.649]] source=1.0.0
    = (answer=24 ended_by=concluded confidence=0.6065 confidence_source=logprob)
    """)
