"""Whole episodes of the Meta-Reasoner, told from the first question on: advice, steps, judgements, arms."""

from __future__ import annotations

from schemas.questions import Complete
from tests.papers.mr_says import (
    JUDGED,
    REFLECTED,
    earned,
    model,
    noted,
    reason,
    reported,
    solved_by_second,
    stepped,
)
from tests.papers.told import lines, told


def test_a_strategy_is_proposed_and_competes_until_the_problem_is_solved() -> None:
    ran = reason(model(3))
    assert told(ran) == REFLECTED + lines(r"""
    9 embed
        Keep one of the factors for the end.
        Keep to the present course, and be concrete about what comes next.
        Go back to the step in which the error came up, put it right, and go on from there.
        Begin once more from nothing and look for another way to the goal.
    10 strategy.proposed round=1 result=added arm=a4 parent=a1 similarity=0.6172 source=8 parse=ok
    11 strategy.chosen round=1 arm=a1 how=warmup scores=[[a1 0.2] [a2 0.2] [a3 0.2] [a4 0.2]]
    13 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Keep to the present course, and be concrete about what comes next. /  / Reflection: r / Fact_check:
            f
    14 generated round=1 role=step source=13 parse=ok
    15 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem, weights as before)
        trajectory: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2
        steps_made: 2
    16 reward.judged round=1 arm=a1 parts=[[C_c 0.8] [C_a 0.6]] progress=0.7 reward=0.52 self_judged=True steps=2
            source=15 parse=ok
    17 reporter reporter temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
    18 progress.reported round=1 source=17 parse=ok
    19 embed: Current_attempts: / - attempt 2 / Observations: / - it goes well
    20 meta_reasoner meta_reasoner temperature=0.7 top_p=1 max_tokens=8192 (problem, judgement as before)
        report: Current_attempts: / - attempt 2 / Observations: / - it goes well
    21 embed: Keep one of the factors for the end.
    22 strategy.proposed round=2 result=merged arm=a4 similarity=1 source=20 parse=ok
    23 strategy.chosen round=2 arm=a2 how=warmup scores=[[a1 0.3838] [a2 0.2] [a3 0.2] [a4 0.2]]
    25 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Go back to the step in which the error came up, put it right, and go on from there. /  / Reflection:
            r / Fact_check: f
    26 generated round=2 role=step answer=2*3*4*1 source=25 parse=ok
    27 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem, weights as before)
        trajectory: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2 /  / [Step 3] / step 3 is 2 * 3 /
            Final answer: 2*3*4*1
        steps_made: 3
    28 reward.judged round=2 arm=a2 parts=[[C_c 0.8] [C_a 0.6]] progress=0.7 reward=0.5 self_judged=True steps=3
            source=27 parse=ok
    = (answer=2*3*4*1 ended_by=solved confidence=0.7 confidence_source=value)
    """)


def test_a_proposal_that_names_a_number_of_the_problem_is_refused() -> None:
    ran = reason(model(2, note=lambda at: noted("Multiply 4 by all others.")))
    assert told(ran) == REFLECTED + lines(r"""
    9 strategy.proposed round=1 result=refused reason=it names numbers of this problem source=8 parse=ok
    10 strategy.chosen round=1 arm=a1 how=warmup scores=[[a1 0.2] [a2 0.2] [a3 0.2]]
    12 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Keep to the present course, and be concrete about what comes next. /  / Reflection: r / Fact_check:
            f
    13 generated round=1 role=step answer=2*3*4*1 source=12 parse=ok
    """) + solved_by_second(14, "a1")


def test_a_note_that_cannot_be_read_proposes_nothing_and_the_last_call_answers() -> None:
    ran = reason(model(9, note=lambda at: "Hm."), calls=6, report=False)
    assert told(ran) == JUDGED + lines(r"""
    5 embed: [Step 1] / step 1 is 2 * 1
    6 meta_reasoner meta_reasoner temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        report: [Step 1] / step 1 is 2 * 1
        judgement: so
    7 reply.reparsed role=meta_reasoner source=6 reason=Reflection: missing
    8 meta_reasoner meta_reasoner temperature=0.7 top_p=1 max_tokens=8192 (problem, report, judgement as before)
        assistant: Hm.
        user: This reply could not be read. Reflection: missing. Write the whole reply again, in [...]
    9 strategy.proposed round=1 result=refused reason=no general strategy that can be read source=8 parse=fallback
    10 strategy.chosen round=1 arm=a1 how=warmup scores=[[a1 0.2] [a2 0.2] [a3 0.2]]
    12 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Keep to the present course, and be concrete about what comes next.
        steps_left: This is the last step.
    13 generated round=1 role=step source=12 parse=ok
    14 limit.reached which=calls
    16 reasoner chain.closing temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / Reasoning: the advice says so / Next_step: step 1 is 2 * 1 / State: OPEN /  / [Step
            2] / Reasoning: the advice says so / Next_step: step 2 is 2 * 2 / State: OPEN
    17 generated round=0 role=closing answer=2*3*4*1 source=16 parse=ok
    = (answer=2*3*4*1 ended_by=limit limit=calls)
    """)


def test_what_earlier_episodes_earned_decides_who_advises() -> None:
    first = reason(model(3), strategies="fixed", max_rounds=3)
    memory = earned(first)
    ran = reason(model(2), memory=memory, strategies="fixed", warmup_pulls=0)
    assert told(ran) == lines(r"""
    0 recall query=Make 24 of 2 3 4 1. top=0
    2 step step temperature=0.7 top_p=1 max_tokens=8192
        problem: Make 24 of 2 3 4 1.
    3 generated round=0 role=step source=2 parse=ok
    4 reporter reporter temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1
    5 progress.reported round=0 source=4 parse=ok
    6 embed: Current_attempts: / - attempt 1 / Observations: / - it goes well
    7 strategy.chosen round=1 arm=a1 how=ucb scores=[[a1 0.4014] [a2 0.3751] [a3 0.2]]
    9 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Keep to the present course, and be concrete about what comes next.
    10 generated round=1 role=step answer=2*3*4*1 source=9 parse=ok
    """) + solved_by_second(11, "a1", first_judgement=True)


def test_arms_by_a_draw_and_nobody_judges_what_serves_nothing() -> None:
    ran = reason(model(3), choice="random", strategies="fixed", context="last_step")
    assert told(ran) == lines(r"""
    1 step step temperature=0.7 top_p=1 max_tokens=8192
        problem: Make 24 of 2 3 4 1.
    2 generated round=0 role=step source=1 parse=ok
    3 reporter reporter temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1
    4 progress.reported round=0 source=3 parse=ok
    5 strategy.chosen round=1 arm=a1 how=random
    7 step step temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: step 1 is 2 * 1
        advice: Keep to the present course, and be concrete about what comes next.
    8 generated round=1 role=step source=7 parse=ok
    9 reporter reporter temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2
    10 progress.reported round=1 source=9 parse=ok
    11 strategy.chosen round=2 arm=a2 how=random
    13 step step temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: step 2 is 2 * 2
        advice: Go back to the step in which the error came up, put it right, and go on from there.
    14 generated round=2 role=step answer=2*3*4*1 source=13 parse=ok
    15 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2 /  / [Step 3] / step 3 is 2 * 3 /
            Final answer: 2*3*4*1
        steps_made: 3
        weights: w1 = 0.5, w2 = 0.5, alpha = 0.1, beta = 0.8
    16 reward.judged round=2 arm=a2 parts=[[C_c 0.8] [C_a 0.6]] progress=0.7 reward=0.5 self_judged=True steps=3
            source=15 parse=ok
    = (answer=2*3*4*1 ended_by=solved confidence=0.7 confidence_source=value)
    """)


def test_a_model_picks_a_listed_arm_and_its_report_is_what_the_judge_sees() -> None:
    ran = reason(model(2), choice="direct", judge_sees="report", report_window=1)
    assert told(ran) == lines(r"""
    1 step step temperature=0.7 top_p=1 max_tokens=8192
        problem: Make 24 of 2 3 4 1.
    2 generated round=0 role=step source=1 parse=ok
    3 reporter reporter temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1
    4 progress.reported round=0 source=3 parse=ok
    5 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: Current_attempts: / - attempt 1 / Observations: / - it goes well
        steps_made: 1
        weights: w1 = 0.5, w2 = 0.5, alpha = 0.1, beta = 0.8
    6 reward.judged round=0 parts=[[C_c 0.8] [C_a 0.6]] progress=0.7 reward=0.54 self_judged=True steps=1 source=5
            parse=ok
    7 meta_reasoner meta_reasoner.pick temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        report: Current_attempts: / - attempt 1 / Observations: / - it goes well
        judgement: so
        strategies: a1: when: The work goes well. Do: Keep to the present course, and be concrete about what comes
            next. / a2: when: A step made on the way is wrong. Do: Go back to the step in which the error came up,
            put it right, and go on from there. / a3: when: There is too little progress, or the approach does not
            seem to work. Do: Begin once more from nothing and look for another way to the goal.
    8 strategy.chosen round=1 arm=a3 how=direct source=7
    10 step step temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1
        advice: Begin once more from nothing and look for another way to the goal.
    11 generated round=1 role=step answer=2*3*4*1 source=10 parse=ok
    12 reporter reporter temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 2 is 2 * 2 / Final answer: 2*3*4*1
    13 progress.reported round=1 source=12 parse=ok
    14 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem, weights as before)
        trajectory: Current_attempts: / - attempt 2 / Observations: / - it goes well
        steps_made: 2
    15 reward.judged round=1 arm=a3 parts=[[C_c 0.8] [C_a 0.6]] progress=0.7 reward=0.52 self_judged=True steps=2
            source=14 parse=ok
    = (answer=2*3*4*1 ended_by=solved confidence=0.7 confidence_source=value)
    """)


def test_a_model_advises_freely() -> None:
    ran = reason(model(2), choice="direct", direct="free", report=False)
    assert told(ran) == JUDGED + lines(r"""
    5 meta_reasoner meta_reasoner temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        report: [Step 1] / step 1 is 2 * 1
        judgement: so
    6 strategy.chosen round=1 how=direct source=5
    8 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Use the factor 4 last.
    9 generated round=1 role=step answer=2*3*4*1 source=8 parse=ok
    10 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem, weights as before)
        trajectory: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2 / Final answer: 2*3*4*1
        steps_made: 2
    11 reward.judged round=1 parts=[[C_c 0.8] [C_a 0.6]] progress=0.7 reward=0.52 self_judged=True steps=2 source=10
            parse=ok
    = (answer=2*3*4*1 ended_by=solved confidence=0.7 confidence_source=value)
    """)


def test_four_weighted_ratings_are_told_of_the_strategy() -> None:
    def rated(question: Complete) -> str:
        if question.role == "judge":
            names = [
                field.label for field in question.template.reply.fields if field.kind == "number"
            ]
            return "\n".join(f"{name}: 0.5" for name in names)
        return stepped("so") if question.role == "step" else reported()

    ran = reason(rated, reward="B", max_rounds=2, strategies="fixed")
    assert told(ran) == lines(r"""
    1 step step temperature=0.7 top_p=1 max_tokens=8192
        problem: Make 24 of 2 3 4 1.
    2 generated round=0 role=step source=1 parse=ok
    3 reporter reporter temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / so
    4 progress.reported round=0 source=3 parse=ok
    5 embed: Current_attempts: / - 2 and 3 were multiplied / Observations: / - it goes well
    6 strategy.chosen round=1 arm=a1 how=warmup scores=[[a1 0.2] [a2 0.2] [a3 0.2]]
    8 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Keep to the present course, and be concrete about what comes next.
        steps_left: This is the last step.
    9 generated round=1 role=step source=8 parse=ok
    10 judge judge.B temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / so /  / [Step 2] / so
        strategy: Keep to the present course, and be concrete about what comes next.
        steps_made: 2
    11 reward.judged round=1 arm=a1 parts=[[Completion 0.5] [Quality 0.5] [Efficiency 0.5] [Alignment 0.5]]
            progress=0.5 reward=0.5 self_judged=True steps=2 source=10 parse=ok
    = (ended_by=max_rounds confidence=0.5 confidence_source=value)
    """)


def test_a_judge_that_cannot_be_read_may_count_as_the_lowest() -> None:
    unread = model(2, judge=lambda at: "Hm.")
    ran = reason(unread, strategies="fixed", judge_failure="lowest", first_judgement="always")
    assert told(ran) == lines(r"""
    1 step step temperature=0.7 top_p=1 max_tokens=8192
        problem: Make 24 of 2 3 4 1.
    2 generated round=0 role=step source=1 parse=ok
    3 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1
        steps_made: 1
        weights: w1 = 0.5, w2 = 0.5, alpha = 0.1, beta = 0.8
    4 reply.reparsed role=judge source=3 reason=C_c: missing
    5 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory, steps_made, weights as before)
        assistant: Hm.
        user: This reply could not be read. C_c: missing. Write the whole reply again, in the form [...]
    6 reward.judged round=0 parts=[[C_c 0] [C_a 0]] progress=0 reward=-0.02 self_judged=True steps=1 source=5
            parse=fallback
    7 reporter reporter temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
    8 progress.reported round=0 source=7 parse=ok
    9 embed: Current_attempts: / - attempt 1 / Observations: / - it goes well
    10 strategy.chosen round=1 arm=a1 how=warmup scores=[[a1 0.2] [a2 0.2] [a3 0.2]]
    12 step step temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory as before)
        advice: Keep to the present course, and be concrete about what comes next.
    13 generated round=1 role=step answer=2*3*4*1 source=12 parse=ok
    14 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem, weights as before)
        trajectory: [Step 1] / step 1 is 2 * 1 /  / [Step 2] / step 2 is 2 * 2 / Final answer: 2*3*4*1
        steps_made: 2
    15 reply.reparsed role=judge source=14 reason=C_c: missing
    16 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory, steps_made, weights as before)
        assistant: Hm.
        user: This reply could not be read. C_c: missing. Write the whole reply again, in the form [...]
    17 reward.judged round=1 arm=a1 parts=[[C_c 0] [C_a 0]] progress=0 reward=-0.04 self_judged=True steps=2
            source=16 parse=fallback
    = (answer=2*3*4*1 ended_by=solved confidence=0 confidence_source=value)
    """)


def test_a_judge_that_cannot_be_read_leaves_the_reward_unknown() -> None:
    ran = reason(model(1, judge=lambda at: "Hm."))
    assert told(ran) == lines(r"""
    1 step step temperature=0.7 top_p=1 max_tokens=8192
        problem: Make 24 of 2 3 4 1.
    2 generated round=0 role=step answer=2*3*4*1 source=1 parse=ok
    3 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem as before)
        trajectory: [Step 1] / step 1 is 2 * 1 / Final answer: 2*3*4*1
        steps_made: 1
        weights: w1 = 0.5, w2 = 0.5, alpha = 0.1, beta = 0.8
    4 reply.reparsed role=judge source=3 reason=C_c: missing
    5 judge judge.A temperature=0.7 top_p=1 max_tokens=8192 (problem, trajectory, steps_made, weights as before)
        assistant: Hm.
        user: This reply could not be read. C_c: missing. Write the whole reply again, in the form [...]
    6 reward.judged round=0 self_judged=True steps=1 source=5 parse=fallback
    = (answer=2*3*4*1 ended_by=solved)
    """)


def test_a_limit_leaves_what_the_trajectory_marks_as_an_answer() -> None:
    ran = reason(lambda question: stepped(r"it is \boxed{24}"), calls=2, strategies="fixed")
    assert told(ran) == lines(r"""
    1 step step temperature=0.7 top_p=1 max_tokens=8192
        problem: Make 24 of 2 3 4 1.
        steps_left: This is the last step.
    2 generated round=0 role=step source=1 parse=ok
    3 limit.reached which=calls
    = (answer=24 ended_by=limit limit=calls)
    """)


def test_one_chain_of_thought() -> None:
    ran = reason(model(1), choice="cot", training=True, training_temperature=0.1)
    assert told(ran) == lines(r"""
    0 reasoner chain temperature=0.1 top_p=1 max_tokens=8192
        problem: Make 24 of 2 3 4 1.
    1 generated round=0 role=reasoner answer=2*3*4*1 source=0 parse=ok
    = (answer=2*3*4*1 ended_by=answered)
    """)
