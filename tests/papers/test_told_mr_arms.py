"""Whole episodes of the Meta-Reasoner, told from the first question on: which arms there are and who chooses."""

from __future__ import annotations

from tests.papers.mr_says import (
    JUDGED,
    REFLECTED,
    earned,
    model,
    noted,
    reason,
    solved_by_second,
)
from tests.papers.told import lines, told

OTHERS = (
    "Look at the other side of it.",
    "Begin with the largest part.",
    "Count what is left over.",
)


def test_a_new_arm_is_chosen_for_being_new_and_its_whole_note_is_told() -> None:
    ran = reason(model(2), epsilon_clock="choice", report=False)
    assert told(ran) == JUDGED + lines(r"""
    5 embed: [Step 1] / step 1 is 2 * 1
    6 meta_reasoner meta_reasoner temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        report: [Step 1] / step 1 is 2 * 1
        judgement: so
    7 embed
        Keep one of the factors for the end.
        Keep to the present course, and be concrete about what comes next.
        Go back to the step in which the error came up, put it right, and go on from there.
        Begin once more from nothing and look for another way to the goal.
    8 strategy.proposed round=1 result=added arm=a4 parent=a1 similarity=0.6172 source=6 parse=ok
    9 strategy.chosen round=1 arm=a4 how=explore scores=[[a1 0.2] [a2 0.2] [a3 0.2] [a4 0.2]]
    11 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Reflection: r / Fact_check: f / Thought: t / Action: Use the factor 4 last.
    12 generated round=1 role=step answer=2*3*4*1 source=11 parse=ok
    """) + solved_by_second(13, "a4")


def test_a_scope_that_is_full_gives_up_its_worst_arm_for_a_new_one() -> None:
    def notes(at: int) -> str:
        return noted(OTHERS[at - 1])

    ran = reason(
        model(4, note=notes, judge=lambda at: "Value: 0.4"),
        arm_limit=4,
        report=False,
        reward="scalar",
        judge_sees="trajectory",
    )
    assert told(ran) == lines(r"""
    1 step step temperature=0.7 top_p=1 max_tokens=8192
        problem: Make 24 of 2 3 4 1.
    2 generated round=0 role=step source=1 parse=ok
    3 embed: [Step 1] / step 1 is 2 * 1
    4 meta_reasoner meta_reasoner temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        report: [Step 1] / step 1 is 2 * 1
    5 embed
        Look at the other side of it.
        Keep to the present course, and be concrete about what comes next.
        Go back to the step in which the error came up, put it right, and go on from there.
        Begin once more from nothing and look for another way to the goal.
    6 strategy.proposed round=1 result=added arm=a4 parent=a2 similarity=0.3833 source=4 parse=ok
    7 strategy.chosen round=1 arm=a1 how=warmup scores=[[a1 0.2] [a2 0.2] [a3 0.2] [a4 0.2]]
    9 step step temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1
        advice: Keep to the present course, and be concrete about what comes next. /  / Reflection: r / Fact_check:
            f
    10 generated round=1 role=step source=9 parse=ok
    11 judge judge.scalar temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2
        steps_made: 2
    12 reward.judged round=1 arm=a1 parts=[[Value 0.4]] progress=0.4 reward=0.4 self_judged=True steps=2 source=11
            parse=ok
    13 embed: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2
    14 meta_reasoner meta_reasoner temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        report: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2
    15 embed: Begin with the largest part.
    16 strategy.proposed round=2 result=added arm=a5 parent=a3 similarity=0.3254 evicts=a4 source=14 parse=ok
    17 strategy.chosen round=2 arm=a5 how=explore scores=[[a1 0.3368] [a2 0.2] [a3 0.2] [a5 0.2]]
    19 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Reflection: r / Fact_check: f / Thought: t / Action: Use the factor 4 last.
    20 generated round=2 role=step source=19 parse=ok
    21 judge judge.scalar temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2 /  / [Step 3] / step 3 is 2 * 3
        steps_made: 3
    22 reward.judged round=2 arm=a5 parts=[[Value 0.4]] progress=0.4 reward=0.4 self_judged=True steps=3 source=21
            parse=ok
    23 embed: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2 /  / [Step 3] / step 3 is 2 * 3
    24 meta_reasoner meta_reasoner temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        report: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2 /  / [Step 3] / step 3 is 2 * 3
    25 embed: Count what is left over.
    26 strategy.proposed round=3 result=added arm=a6 parent=a5 similarity=0.2981 evicts=a5 source=24 parse=ok
    27 strategy.chosen round=3 arm=a6 how=explore scores=[[a1 0.3341] [a2 0.2] [a3 0.2] [a6 0.2]]
    29 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory, advice as before)
    30 generated round=3 role=step answer=2*3*4*1 source=29 parse=ok
    31 judge judge.scalar temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2 /  / [Step 3] / step 3 is 2 * 3 /  /
            [Step 4] / step 4 is 2 * 4 / Final answer: 2*3*4*1
        steps_made: 4
    32 reward.judged round=3 arm=a6 parts=[[Value 0.4]] progress=0.4 reward=0.4 self_judged=True steps=4 source=31
            parse=ok
    = (answer=2*3*4*1 ended_by=solved confidence=0.4 confidence_source=value)
    """)


def test_arms_of_an_episode_alone_are_the_start_arms_again() -> None:
    first = reason(model(3), max_rounds=3)
    memory = earned(first)
    ran = reason(
        model(2), memory=memory, arms="episode", start_arms=5, warmup_pulls=0, updates="frozen"
    )
    assert told(ran) == REFLECTED + lines(r"""
    9 embed
        Keep one of the factors for the end.
        Keep to the present course, and be concrete about what comes next.
        Go back to the step in which the error came up, put it right, and go on from there.
        Begin once more from nothing and look for another way to the goal.
        Pause: make clear what each result says, and resolve where they conflict before you go on.
        Make it simpler: split the task into small parts that can be done one at a time.
    10 strategy.proposed round=1 result=added arm=a6 parent=a1 similarity=0.6172 source=8 parse=ok
    11 strategy.chosen round=1 arm=a6 how=explore scores=[[a1 0.2] [a2 0.2] [a3 0.2] [a4 0.2] [a5 0.2] [a6 0.2]]
    13 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Reflection: r / Fact_check: f / Thought: t / Action: Use the factor 4 last.
    14 generated round=1 role=step answer=2*3*4*1 source=13 parse=ok
    """) + solved_by_second(15, "a6")


def test_where_nothing_is_learned_no_arm_is_warmed_up() -> None:
    ran = reason(model(2), strategies="fixed", updates="frozen", report=False)
    assert told(ran) == lines(r"""
    1 step step temperature=0.7 top_p=1 max_tokens=8192
        problem: Make 24 of 2 3 4 1.
    2 generated round=0 role=step source=1 parse=ok
    3 embed: [Step 1] / step 1 is 2 * 1
    4 strategy.chosen round=1 arm=a1 how=ucb scores=[[a1 0.2] [a2 0.2] [a3 0.2]]
    6 step step temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1
        advice: Keep to the present course, and be concrete about what comes next.
    7 generated round=1 role=step answer=2*3*4*1 source=6 parse=ok
    """) + solved_by_second(8, "a1", first_judgement=True)


def test_a_report_that_cannot_be_read_stands_as_it_was_said() -> None:
    ran = reason(model(2, report=lambda at: "Hm, well."), strategies="fixed")
    assert told(ran) == lines(r"""
    1 step step temperature=0.7 top_p=1 max_tokens=8192
        problem: Make 24 of 2 3 4 1.
    2 generated round=0 role=step source=1 parse=ok
    3 reporter reporter temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1
    4 reply.reparsed role=reporter source=3 reason=Current_attempts: missing
    5 reporter reporter temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        assistant: Hm, well.
        user: This reply could not be read. Current_attempts: missing. Write the whole reply [...]
    6 progress.reported round=0 source=5 parse=fallback
    7 embed: Hm, well.
    8 strategy.chosen round=1 arm=a1 how=warmup scores=[[a1 0.2] [a2 0.2] [a3 0.2]]
    10 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Keep to the present course, and be concrete about what comes next.
    11 generated round=1 role=step answer=2*3*4*1 source=10 parse=ok
    """) + solved_by_second(12, "a1", first_judgement=True)
