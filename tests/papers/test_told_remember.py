"""What baselines with a memory learn from a batch, and what they are shown of it afterwards, told in full."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from schemas.memory import Memory
from schemas.questions import Complete
from tests.papers.mc2_says import solved
from tests.papers.told import learnt, lines, member, served, thought, told
from tests.scripted import NO_MEMORY


def expelled(*operations: str, memory: Memory = NO_MEMORY) -> Memory:
    """A memory of insights after these operations."""
    said = ["Insight_operations:\n" + "\n".join(f"- {each}" for each in operations)]
    return learnt("expel", [member("four", trajectory="I looked")], said, memory)[0]


def noted(*keywords: str) -> Memory:
    """A memory of one note about a product."""
    said = "\n- ".join(("Context: a product\nKeywords:", *keywords))
    return learnt("a_mem", [member("four", answer="24", trajectory="I looked")], [said])[0]


def kept() -> Memory:
    """A memory of two trajectories."""
    four = member("four", "right", answer="24", trajectory="I looked")
    five = member("five", answer="30", trajectory="I saw")
    return learnt("direct_trajectory", [four, five], [])[0]


@pytest.mark.parametrize(
    ("name", "memory", "ways", "recalled", "shown", "guidance"),
    [
        (
            "expel",
            partial(expelled, "ADD: Count twice.", "ADD: Ask first.", "UPVOTE 2"),
            {"shown": 1},
            "roles=[insight] top=1 kinds=[rule]",
            "sort=insight items=[E1 E2] scores=[0 0]",
            "(3) Ask first. /  / (2) Count twice.",
        ),
        (
            "a_mem",
            partial(noted, "six"),
            {},
            "roles=[note] top=3 kinds=[lesson]",
            "sort=note items=[N1.1] scores=[0.3162]",
            "a product / Keywords: six / Answer: 24",
        ),
        (
            "direct_trajectory",
            kept,
            {"shown": 1},
            "roles=[trajectory] top=1 kinds=[lesson]",
            "sort=trajectory items=[T1.1] scores=[1]",
            "What is six times four? / I looked / Answer: 24. It was right.",
        ),
    ],
)
def test_what_was_learned_guides_an_agent(
    name: str,
    memory: Callable[[], Memory],
    ways: dict[str, Any],
    recalled: str,
    shown: str,
    guidance: str,
) -> None:
    ran = served(name, ["<answer>24</answer>"], memory(), **ways)
    assert told(ran) == lines(f"""
    0 recall query=What is six times four? {recalled} exclude=arithmetic/q1
    1 experience.shown {shown}
    2 reasoner agent max_tokens=8192
        problem: What is six times four?
        guidance: {guidance}
    3 generated round=0 role=reasoner answer=24 source=2 parse=ok
    = (answer=24 ended_by=answered)
    """)


def test_insights_are_voted_on_and_numbered_anew() -> None:
    before = expelled("ADD: Count twice.", "ADD: Ask first.", "ADD: Guess.")
    said = [
        "Insight_operations:\n- UPVOTE 2\n- DOWNVOTE 3\n- DOWNVOTE 3\n- EDIT 1: Count thrice.\n- ADD: Rest.\n- UPVOTE 9"
    ]
    members = [
        member("four", "right", trajectory="I looked"),
        member("five", "wrong", trajectory="I guessed"),
    ]
    members.append(member("six", trajectory="none of it", frozen=True))
    _, ran = learnt("expel", members, said, before)
    assert told(ran) == lines(r"""
    0 consolidator insights
        insights: 1. Count twice. / 2. Ask first. / 3. Guess.
        trajectories: [right] / What is six times four? / I looked /  / [wrong] / What is six times five? / I
            guessed
    1 insight.voted operation=UPVOTE insight=2 source=0
    2 insight.voted operation=DOWNVOTE insight=3 source=0
    3 insight.voted operation=DOWNVOTE insight=3 source=0
    4 insight.voted operation=EDIT insight=1 text=Count thrice. source=0
    5 insight.voted operation=ADD insight=4 text=Rest. source=0
    6 insight.voted operation=UPVOTE insight=9 source=0
    7 knowledge.consolidated role=insight rules=[[E1 (3) Count thrice.] [E2 (3) Ask first.] [E3 (2) Rest.]]
            result=consolidated new=0 source=0
    """)


def test_insights_stay_where_no_operation_can_be_read() -> None:
    _, ran = learnt(
        "expel", [member("four", trajectory="I")], ["Hm.", "Hm."], expelled("ADD: Count twice.")
    )
    assert told(ran) == lines(r"""
    0 consolidator insights
        insights: 1. Count twice.
        trajectories: [unknown] / What is six times four? / I
    1 reply.reparsed role=consolidator source=0 reason=Insight_operations: missing
    2 consolidator insights (insights, trajectories as before)
        assistant: Hm.
        user: This reply could not be read. Insight_operations: missing. Write the whole reply [...]
    3 knowledge.consolidated role=insight rules=[[E1 (2) Count twice.]] result=kept new=0 source=2
    """)


def test_a_note_is_linked_to_the_nearest_and_renews_it() -> None:
    said = [
        "Context: six and five\nKeywords:\n- six",
        "Link: YES\nRenewed_context: products of six",
    ]
    five = member("five", "wrong", trajectory="I saw", answer=None)
    _, ran = learnt("a_mem", [five], said, noted("six", "times"))
    assert told(ran) == lines(r"""
    0 distiller note
        problem: What is six times five?
        trajectory: I saw
    1 lesson.distilled id=N2.1 role=note polarity=avoid text=six and five / Keywords: six / Answer: none
            evidence=[p/arithmetic/five/run] source=0 subject=arithmetic/five
    2 embed: six and five / Keywords: six / Answer: none
    3 distiller link
        new_note: six and five / Keywords: six / Answer: none
        earlier_notes: a product / Keywords: six, times / Answer: 24
    4 note.linked note=N2.1 links=[N1.1] evolved=[[N1.1 products of six]]
    5 lesson.distilled id=N2.1+ role=note polarity=avoid text=products of six / Keywords: six, times / Answer: 24
            evidence=[p/arithmetic/five/run] source=3
    6 embed: products of six / Keywords: six, times / Answer: 24
    """)


def test_a_note_that_belongs_to_no_other_renews_nothing() -> None:
    said = ["Hm.", "Hm.", "Link: NO\nRenewed_context: something else"]
    five = member("five", "right", answer="30", trajectory="I saw")
    _, ran = learnt("a_mem", [five], said, noted("six"))
    assert told(ran) == lines(r"""
    0 distiller note
        problem: What is six times five?
        trajectory: I saw
    1 reply.reparsed role=distiller source=0 reason=Context: missing
    2 distiller note (problem, trajectory as before)
        assistant: Hm.
        user: This reply could not be read. Context: missing. Write the whole reply again, in the [...]
    3 lesson.distilled id=N2.1 role=note polarity=do text=What is six times five? / Keywords:  / Answer: 30
            evidence=[p/arithmetic/five/run] source=2 subject=arithmetic/five
    4 embed: What is six times five? / Keywords:  / Answer: 30
    5 distiller link
        new_note: What is six times five? / Keywords:  / Answer: 30
        earlier_notes: a product / Keywords: six / Answer: 24
    6 note.linked note=N2.1
    """)


def test_trajectories_are_kept_as_they_went_and_found_by_their_problems() -> None:
    members = [
        member("four", "right", answer="24", trajectory="I looked"),
        member("five", "wrong", answer=None, trajectory="I guessed"),
    ]
    _, ran = learnt(
        "direct_trajectory", [*members, member("six", answer="36", trajectory="I", frozen=True)], []
    )
    assert told(ran) == lines(r"""
    0 lesson.distilled id=T1.1 role=trajectory polarity=do text=What is six times four? / I looked / Answer: 24. It
            was right. evidence=[p/arithmetic/four/run] source=- subject=arithmetic/four
    1 lesson.distilled id=T1.2 role=trajectory polarity=avoid text=What is six times five? / I guessed / Answer:
            none. It was wrong. evidence=[p/arithmetic/five/run] source=- subject=arithmetic/five
    2 embed
        What is six times four?
        What is six times five?
    """)


def test_a_template_is_made_of_a_solution_and_dropped_where_one_is_like_it() -> None:
    said = [
        "Descriptor: a product of two numbers\nRecipe:\n- multiply",
        "Hm.",
        "Hm.",
        "Descriptor: a product of two numbers\nRecipe:\n- add",
    ]
    members = [
        member(name, answer="24", solution=f"I solved {name}.") for name in ("four", "five", "six")
    ]
    _, ran = learnt(
        "buffer_of_thought", [*members, member("seven", answer=None, solution="")], said
    )
    assert told(ran) == lines(r"""
    0 distiller bot.manage
        problem: What is six times four?
        solution: I solved four.
    1 distiller bot.manage
        problem: What is six times five?
        solution: I solved five.
    2 reply.reparsed role=distiller source=1 reason=Descriptor: missing
    3 distiller bot.manage (problem, solution as before)
        assistant: Hm.
        user: This reply could not be read. Descriptor: missing. Write the whole reply again, in [...]
    4 distiller bot.manage
        problem: What is six times six?
        solution: I solved six.
    5 embed
        a product of two numbers
        a product of two numbers
    6 lesson.distilled id=T1.1 role=template polarity=do text=Descriptor: a product of two numbers / Recipe: / -
            multiply evidence=[p/arithmetic/four/run] source=0 subject=arithmetic/four
    7 lesson.dropped role=template reason=not novel source=4 evidence=[p/arithmetic/six/run]
    """)


def test_a_template_is_found_by_what_a_problem_is_distilled_to() -> None:
    managed = ["Descriptor: a product of two numbers\nRecipe:\n- multiply"]
    before, _ = learnt(
        "buffer_of_thought", [member("four", answer="24", solution="I solved it.")], managed
    )
    said = {
        "distiller": ["Descriptor: a product of two numbers\nKey_facts:\n- six\nGoal: the product"],
        "reasoner": [solved("24")],
    }
    ran = served("buffer_of_thought", said, memory=before)
    assert told(ran) == lines(r"""
    0 distiller bot.distil max_tokens=8192
        problem: What is six times four?
    1 generated round=0 role=distiller source=0 parse=ok
    2 recall query=a product of two numbers roles=[template] top=1 kinds=[lesson] exclude=arithmetic/q1
    3 experience.shown sort=template items=[T1.1] scores=[1]
    4 reasoner bot.instantiate max_tokens=8192 (problem as before)
        essentials: Descriptor: a product of two numbers / Key_facts: / - six / Goal: the product
        thought_template: Descriptor: a product of two numbers / Recipe: / - multiply
    5 generated round=1 role=reasoner answer=24 source=4 parse=ok
    = (answer=24 ended_by=answered)
    """)


def test_instructions_evolve_on_a_sample() -> None:
    def evolve(question: Complete) -> str:
        if question.role == "consolidator":
            return f"New_wording: bred {question.draw}"
        words = dict(question.variables)["instruction"]
        return solved("24" if "bred" in words or "ways" in words else "20")

    _, ran = learnt("evo_prompt", [member("four"), member("five")], evolve, generations=1, sample=1)
    assert told(ran) == lines(r"""
    0 forked lanes=4
    0.0.0 reasoner evo_prompt.solve
        problem: What is six times four?
        instruction: Think step by step and write each step on a line of its own.
    0.0.1 check domain=arithmetic problem=What is six times four? answer=20 subject=arithmetic/four: wrong
    0.1.0 reasoner evo_prompt.solve (problem as before)
        instruction: Say first what is given and what is asked; then work towards it and check the result.
    0.1.1 check domain=arithmetic problem=What is six times four? answer=20 subject=arithmetic/four: wrong
    0.2.0 reasoner evo_prompt.solve (problem as before)
        instruction: Look for several ways to the goal, and follow the one that promises most.
    0.2.1 check domain=arithmetic problem=What is six times four? answer=24 subject=arithmetic/four: right
    0.3.0 reasoner evo_prompt.solve (problem as before)
        instruction: Work backwards from what is asked until you meet what is given.
    0.3.1 check domain=arithmetic problem=What is six times four? answer=20 subject=arithmetic/four: wrong
    1 thoughts.kept depth=1 values=[[I1 0] [I2 0] [I3 1] [I4 0]] kept=[I3 I1 I2 I4]
    2 forked lanes=4
    2.0.0 consolidator evo_prompt.breed#4
        first_instruction: Look for several ways to the goal, and follow the one that promises most.
        second_instruction: Say first what is given and what is asked; then work towards it and check the result.
    2.1.0 consolidator evo_prompt.breed#5 (first_instruction as before)
        second_instruction: Think step by step and write each step on a line of its own.
    2.2.0 consolidator evo_prompt.breed#6 (first_instruction as before)
        second_instruction: Say first what is given and what is asked; then work towards it and check the result.
    2.3.0 consolidator evo_prompt.breed#7 (first_instruction as before)
        second_instruction: Work backwards from what is asked until you meet what is given.
    3 forked lanes=4
    3.0.0 reasoner evo_prompt.solve#1 (problem as before)
        instruction: bred 4
    3.0.1 check domain=arithmetic problem=What is six times four? answer=24 subject=arithmetic/four: right
    3.1.0 reasoner evo_prompt.solve#1 (problem as before)
        instruction: bred 5
    3.1.1 check domain=arithmetic problem=What is six times four? answer=24 subject=arithmetic/four: right
    3.2.0 reasoner evo_prompt.solve#1 (problem as before)
        instruction: bred 6
    3.2.1 check domain=arithmetic problem=What is six times four? answer=24 subject=arithmetic/four: right
    3.3.0 reasoner evo_prompt.solve#1 (problem as before)
        instruction: bred 7
    3.3.1 check domain=arithmetic problem=What is six times four? answer=24 subject=arithmetic/four: right
    4 thoughts.kept depth=2 values=[[I3 1] [I1 0] [I2 0] [I4 0] [2.0.0 1] [2.1.0 1] [2.2.0 1] [2.3.0 1]] kept=[I3
            2.0.0 2.1.0 2.2.0]
    5 knowledge.consolidated role=instruction rules=[[I1 Look for several ways to the goal, and follow the one that
            promises most.] [I2 bred 4] [I3 bred 5] [I4 bred 6]] result=consolidated new=3
    """)


def test_cards_are_found_by_a_search() -> None:
    def work(question: Complete) -> str:
        name = question.template.name.removeprefix("atomic.")
        after = dict(question.variables)["trajectory"]
        return thought(name, ("24" if "step" in after else "20") if name == "reason" else None)

    _, ran = learnt("hiar_icl", [member("four")], work, rollouts=6, depth=2)
    assert told(ran) == lines(r"""
    0 forked lanes=1
    0.0.0 thinker atomic.analyse temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    0.0.1 generated round=0 role=thinker source=0.0.0 parse=ok
    0.0.2 thinker atomic.reason temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / analyse
    0.0.3 generated round=1 role=thinker answer=20 source=0.0.2 parse=ok
    0.0.4 check domain=arithmetic problem=What is six times four? answer=20 subject=arithmetic/four: wrong
    0.0.5 value.backed.up round=0 node=analyse > reason path=[[analyse 1 0] [analyse > reason 1 0]]
    0.0.6 thinker atomic.step temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    0.0.7 generated round=0 role=thinker source=0.0.6 parse=ok
    0.0.8 thinker atomic.reason temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step
    0.0.9 generated round=1 role=thinker answer=24 source=0.0.8 parse=ok
    0.0.10 check domain=arithmetic problem=What is six times four? answer=24 subject=arithmetic/four: right
    0.0.11 value.backed.up round=1 node=step > reason path=[[step 1 1] [step > reason 1 1]]
    0.0.12 thinker atomic.reason temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    0.0.13 generated round=0 role=thinker answer=20 source=0.0.12 parse=ok
    0.0.14 check domain=arithmetic problem=What is six times four? answer=20 subject=arithmetic/four: wrong
    0.0.15 value.backed.up round=2 node=reason path=[[reason 1 0]]
    0.0.16 thinker atomic.divide temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    0.0.17 generated round=0 role=thinker source=0.0.16 parse=ok
    0.0.18 thinker atomic.reason temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / divide
    0.0.19 generated round=1 role=thinker answer=20 source=0.0.18 parse=ok
    0.0.20 check domain=arithmetic problem=What is six times four? answer=20 subject=arithmetic/four: wrong
    0.0.21 value.backed.up round=3 node=divide > reason path=[[divide 1 0] [divide > reason 1 0]]
    0.0.22 thinker atomic.analyse temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step
    0.0.23 generated round=1 role=thinker source=0.0.22 parse=ok
    0.0.24 thinker atomic.reason temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step /  / [Step 2] / analyse
    0.0.25 generated round=2 role=thinker answer=24 source=0.0.24 parse=ok
    0.0.26 check domain=arithmetic problem=What is six times four? answer=24 subject=arithmetic/four: right
    0.0.27 value.backed.up round=4 node=step > analyse > reason path=[[step 2 1] [step > analyse 1 1] [step >
            analyse > reason 1 1]]
    0.0.28 thinker atomic.divide temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step
    0.0.29 generated round=1 role=thinker source=0.0.28 parse=ok
    0.0.30 thinker atomic.reason temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step /  / [Step 2] / divide
    0.0.31 generated round=2 role=thinker answer=24 source=0.0.30 parse=ok
    0.0.32 check domain=arithmetic problem=What is six times four? answer=24 subject=arithmetic/four: right
    0.0.33 value.backed.up round=5 node=step > divide > reason path=[[step 3 1] [step > divide 1 1] [step > divide >
            reason 1 1]]
    1 knowledge.consolidated role=card rules=[[C001 (complexity 2) step > reason]] result=consolidated new=1
    """)


def test_standard_cards_within_five_calls() -> None:
    ran = served(
        "hiar_icl", [thought("six fours"), thought("it is", "24"), thought("it is", "24")], calls=5
    )
    assert told(ran) == lines(r"""
    1 strategy.chosen round=0 arm=reason how=matched scores=[[reason 2] [analyse > reason 2]]
    2 strategy.chosen round=1 arm=analyse > reason how=matched scores=[[reason 2] [analyse > reason 2]]
    3 forked lanes=2 allow=[1 2]
    3.0.0 thinker atomic.reason temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    3.0.1 generated round=0 role=thinker source=3.0.0 parse=ok
    3.1.0 thinker atomic.analyse#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    3.1.1 generated round=0 role=thinker answer=24 source=3.1.0 parse=ok
    3.1.2 thinker atomic.reason#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / it is / Final answer: 24
    3.1.3 generated round=1 role=thinker answer=24 source=3.1.2 parse=ok
    4 voted answer=24 votes=1 of=2 unreadable=1
    = (answer=24 ended_by=voted confidence=0.5 confidence_source=vote_share)
    """)


def test_cards_that_come_to_nothing_are_followed_by_one_chain() -> None:
    ran = served(
        "hiar_icl", [thought("six fours"), thought("so"), thought("well"), solved("24")], calls=4
    )
    assert told(ran) == lines(r"""
    1 strategy.chosen round=0 arm=reason how=matched scores=[[reason 2] [analyse > reason 2]]
    2 strategy.chosen round=1 arm=analyse > reason how=matched scores=[[reason 2] [analyse > reason 2]]
    3 forked lanes=2 allow=[1 2]
    3.0.0 thinker atomic.reason temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    3.0.1 generated round=0 role=thinker source=3.0.0 parse=ok
    3.1.0 thinker atomic.analyse#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    3.1.1 generated round=0 role=thinker source=3.1.0 parse=ok
    3.1.2 thinker atomic.reason#1 temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / so
    3.1.3 generated round=1 role=thinker source=3.1.2 parse=ok
    4 voted votes=0 of=2 unreadable=2
    6 reasoner chain temperature=0.4 top_p=0.95 max_tokens=8192 (problem as before)
    7 generated round=0 role=reasoner answer=24 source=6 parse=ok
    = (answer=24 ended_by=closed)
    """)


def test_no_card_is_begun_with_the_call_that_is_kept() -> None:
    ran = served("hiar_icl", [solved("24")], calls=1)
    assert told(ran) == lines(r"""
    1 forked lanes=0
    3 reasoner chain temperature=0.4 top_p=0.95 max_tokens=8192
        problem: What is six times four?
    4 generated round=0 role=reasoner answer=24 source=3 parse=ok
    = (answer=24 ended_by=closed)
    """)
