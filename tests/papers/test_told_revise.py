"""Whole episodes of baselines that revise, call each other or search, told from the first question on."""

from __future__ import annotations

from tests.papers.mc2_says import solved
from tests.papers.told import lines, served, told
from tests.scripted import CutOff


def test_a_revision_after_a_critic_who_could_not_be_read() -> None:
    said = {
        "reasoner": [solved("20"), solved("24")],
        "critic": ["Hm.", "Feedback: six, not five", "Feedback: well\nSound: YES"],
    }
    ran = served("self_refine", said)
    assert told(ran) == lines(r"""
    0 reasoner chain max_tokens=8192
        problem: What is six times four?
    1 generated round=0 role=reasoner answer=20 source=0 parse=ok
    2 critic critic.feedback max_tokens=8192 (problem as before)
        solution: Step 1: try. / Final_answer: \boxed{20}
    3 reply.reparsed role=critic source=2 reason=Feedback: missing
    4 critic critic.feedback max_tokens=8192 (problem, solution as before)
        assistant: Hm.
        user: This reply could not be read. Feedback: missing. Write the whole reply again, in the [...]
    5 monitor.reported round=0 source=4 parse=fallback
    6 reasoner reasoner.revise max_tokens=8192 (problem, solution as before)
        feedback: Feedback: six, not five
    7 generated round=1 role=reasoner answer=24 source=6 parse=ok
    8 critic critic.feedback max_tokens=8192 (problem as before)
        solution: Step 1: try. / Final_answer: \boxed{24}
    9 monitor.reported round=1 flag=NO source=8 parse=ok
    = (answer=24 ended_by=sound)
    """)


def test_a_verification_that_runs_out_of_calls() -> None:
    said = {"reasoner": [solved("20"), "hm"], "verifier": ["Checks: off by four\nSound: NO"] * 2}
    ran = served("self_verification", said, calls=4)
    assert told(ran) == lines(r"""
    0 reasoner chain max_tokens=8192
        problem: What is six times four?
    1 generated round=0 role=reasoner answer=20 source=0 parse=ok
    2 verifier verifier.check max_tokens=8192 (problem as before)
        solution: Step 1: try. / Final_answer: \boxed{20}
    3 monitor.reported round=0 flag=YES source=2 parse=ok
    4 reasoner reasoner.mend max_tokens=8192 (problem, solution as before)
        checks: Checks: off by four / Sound: NO
    5 generated round=1 role=reasoner source=4 parse=unreadable
    6 verifier verifier.check max_tokens=8192 (problem as before)
        solution: hm
    7 monitor.reported round=1 flag=YES source=6 parse=ok
    8 limit.reached which=calls
    = (answer=20 ended_by=limit limit=calls)
    """)


def test_reflexion_with_a_failure_and_a_verdict_that_could_not_be_read() -> None:
    said = {
        "reasoner": [solved("20"), "hm", solved("24")],
        "evaluator": ["Five for six.\nSolved: NO", "?", "?"],
        "reflector": ["Reflection: count again"],
    }
    ran = served("reflexion", said, retries=2)
    assert told(ran) == lines(r"""
    0 reasoner reflexion.actor max_tokens=8192
        problem: What is six times four?
    1 generated round=0 role=reasoner answer=20 source=0 parse=ok
    2 evaluator reflexion.evaluator max_tokens=8192 (problem as before)
        attempt: Step 1: try. / Final_answer: \boxed{20}
    3 monitor.reported round=0 flag=YES source=2 parse=ok
    4 reflector reflexion.reflector max_tokens=8192 (problem, attempt as before)
    5 generated round=0 role=reflector source=4 parse=ok
    6 reasoner reflexion.actor max_tokens=8192 (problem as before)
        reflections: 1. count again
    7 generated round=1 role=reasoner source=6 parse=unreadable
    8 evaluator reflexion.evaluator max_tokens=8192 (problem as before)
        attempt: hm
    9 reply.reparsed role=evaluator source=8 reason=Solved: missing
    10 evaluator reflexion.evaluator max_tokens=8192 (problem, attempt as before)
        assistant: ?
        user: This reply could not be read. Solved: missing. Write the whole reply again, in the [...]
    11 monitor.reported round=1 source=10 parse=fallback
    12 reasoner reflexion.actor#1 max_tokens=8192 (problem, reflections as before)
    13 generated round=2 role=reasoner answer=24 source=12 parse=ok
    = (answer=24 ended_by=retries)
    """)


def test_reflexion_that_reflects_on_what_could_not_be_read_where_that_is_a_failure() -> None:
    said = {
        "reasoner": [solved("20"), solved("24")],
        "evaluator": ["?", "?", "Well.\nSolved: YES"],
        "reflector": ["it went", "wrong somewhere"],
    }
    ran = served("reflexion", said, unread="zero")
    assert told(ran) == lines(r"""
    0 reasoner reflexion.actor max_tokens=8192
        problem: What is six times four?
    1 generated round=0 role=reasoner answer=20 source=0 parse=ok
    2 evaluator reflexion.evaluator max_tokens=8192 (problem as before)
        attempt: Step 1: try. / Final_answer: \boxed{20}
    3 reply.reparsed role=evaluator source=2 reason=Solved: missing
    4 evaluator reflexion.evaluator max_tokens=8192 (problem, attempt as before)
        assistant: ?
        user: This reply could not be read. Solved: missing. Write the whole reply again, in the [...]
    5 monitor.reported round=0 source=4 parse=fallback
    6 reflector reflexion.reflector max_tokens=8192 (problem, attempt as before)
    7 reply.reparsed role=reflector source=6 reason=Reflection: missing
    8 reflector reflexion.reflector max_tokens=8192 (problem, attempt as before)
        assistant: it went
        user: This reply could not be read. Reflection: missing. Write the whole reply again, in [...]
    9 generated round=0 role=reflector source=8 parse=fallback
    10 reasoner reflexion.actor max_tokens=8192 (problem as before)
        reflections: 1. wrong somewhere
    11 generated round=1 role=reasoner answer=24 source=10 parse=ok
    12 evaluator reflexion.evaluator max_tokens=8192 (problem as before)
        attempt: Step 1: try. / Final_answer: \boxed{24}
    13 monitor.reported round=1 flag=NO source=12 parse=ok
    = (answer=24 ended_by=solved)
    """)


def test_meta_prompting_with_a_turn_that_is_neither() -> None:
    said = {
        "conductor": [
            'Next: EXPERT\nExpert: Counter\nInstruction: """Compute 6 * 4."""',
            "Let me think.",
            "Next: ANSWER\nFinal_answer: \\boxed{24}",
        ],
        "expert": ["Result: it is 24"],
    }
    ran = served("meta_prompting", said)
    assert told(ran) == lines(r'''
    0 conductor conductor max_tokens=8192
        problem: What is six times four?
    1 expert expert max_tokens=8192
        task: Compute 6 * 4.
    2 generated round=0 role=expert source=1 parse=ok
    3 conductor conductor max_tokens=8192 (problem as before)
        assistant: Next: EXPERT / Expert: Counter / Instruction: """Compute 6 * 4."""
        user: The expert's output: / Result: it is 24
    4 reply.reparsed role=conductor source=3 reason=no expert and no answer
    5 conductor conductor max_tokens=8192 (problem, 2 turns as before)
        assistant: Let me think.
        user: This holds neither a call of an expert, with an instruction between triple quotes, [...]
    6 generated round=2 role=conductor answer=24 source=5 parse=ok
    = (answer=24 ended_by=answered)
    ''')


def test_macm_with_a_condition_that_does_not_hold() -> None:
    said = {
        "thinker": [
            "Conditions:\n- there are six\nObjective: the product",
            "New_conditions:\n- it is 24\n- it is 11",
        ],
        "judge": ["Reason: so\nCorrect: YES", "Reason: no\nCorrect: NO", "Enough: YES"],
        "executor": [solved("24"), "hm"],
    }
    ran = served("macm", said, votes=2)
    assert told(ran) == lines(r"""
    0 thinker macm.open max_tokens=8192
        problem: What is six times four?
    1 generated round=0 role=thinker source=0 parse=ok
    2 thinker macm.mine max_tokens=8192 (problem as before)
        objective: the product
        known_conditions: 1. there are six
    3 generated round=0 role=thinker source=2 parse=ok
    4 judge macm.judge max_tokens=8192 (problem, known_conditions as before)
        new_condition: it is 24
    5 monitor.reported round=0 flag=NO source=4 parse=ok
    6 judge macm.judge max_tokens=8192 (problem as before)
        known_conditions: 1. there are six / 2. it is 24
        new_condition: it is 11
    7 monitor.reported round=0 flag=YES source=6 parse=ok
    8 judge macm.enough max_tokens=8192 (problem, objective, known_conditions as before)
    9 monitor.reported round=0 flag=NO source=8 parse=ok
    10 executor macm.execute max_tokens=8192 (problem, objective, known_conditions as before)
    11 generated round=0 role=executor answer=24 source=10 parse=ok
    12 executor macm.execute#1 max_tokens=8192 (problem, objective, known_conditions as before)
    13 generated round=1 role=executor source=12 parse=unreadable
    14 voted answer=24 votes=1 of=2 unreadable=1
    = (answer=24 ended_by=voted confidence=0.5 confidence_source=vote_share)
    """)


def test_macm_that_its_limit_ends_while_it_mines() -> None:
    said = {
        "thinker": ["There is nothing.", "Nothing at all.", "?", "?"],
        "judge": ["Enough: NO"],
        "reasoner": [solved("24")],
    }
    ran = served("macm", said, calls=5)
    assert told(ran) == lines(r"""
    0 thinker macm.open max_tokens=8192
        problem: What is six times four?
    1 reply.reparsed role=thinker source=0 reason=Conditions: missing
    2 thinker macm.open max_tokens=8192 (problem as before)
        assistant: There is nothing.
        user: This reply could not be read. Conditions: missing. Write the whole reply again, in [...]
    3 generated round=0 role=thinker source=2 parse=fallback
    4 thinker macm.mine max_tokens=8192 (problem as before)
        objective: Answer the problem.
    5 reply.reparsed role=thinker source=4 reason=New_conditions: missing
    6 thinker macm.mine max_tokens=8192 (problem, objective as before)
        assistant: ?
        user: This reply could not be read. New_conditions: missing. Write the whole reply again, [...]
    7 generated round=0 role=thinker source=6 parse=fallback
    8 limit.reached which=calls
    10 reasoner chain.closing max_tokens=8192 (problem as before)
        trajectory: [Step 1] / There is nothing. /  / [Step 2] / Nothing at all. /  / [Step 3] / ? /  / [Step 4] / ?
    11 generated round=0 role=closing answer=24 source=10 parse=ok
    = (answer=24 ended_by=limit limit=calls)
    """)


def test_mcr_with_a_chain_fewer_for_its_reader() -> None:
    said = [solved("23", "One way."), "No answer.", solved("24", "All told.")]
    ran = served("mcr", said, calls=3)
    assert told(ran) == lines(r"""
    1 forked lanes=2 allow=[1 1]
    1.0.0 reasoner chain max_tokens=8192
        problem: What is six times four?
    1.0.1 generated round=0 role=reasoner answer=23 source=1.0.0 parse=ok
    1.1.0 reasoner chain#1 max_tokens=8192 (problem as before)
    1.1.1 generated round=1 role=reasoner source=1.1.0 parse=unreadable
    2 reasoner mcr.reader max_tokens=8192 (problem as before)
        chains: [Chain 1] / One way. / Final_answer: \boxed{23} /  / [Chain 2] / No answer.
    3 generated round=2 role=reasoner answer=24 source=2 parse=ok
    = (answer=24 ended_by=answered)
    """)


def test_mcr_whose_reader_cannot_be_read() -> None:
    ran = served("mcr", [solved("23"), solved("23"), "hm"], samples=2)
    assert told(ran) == lines(r"""
    1 forked lanes=2 allow=[1 1]
    1.0.0 reasoner chain max_tokens=8192
        problem: What is six times four?
    1.0.1 generated round=0 role=reasoner answer=23 source=1.0.0 parse=ok
    1.1.0 reasoner chain#1 max_tokens=8192 (problem as before)
    1.1.1 generated round=1 role=reasoner answer=23 source=1.1.0 parse=ok
    2 reasoner mcr.reader max_tokens=8192 (problem as before)
        chains: [Chain 1] / Step 1: try. / Final_answer: \boxed{23} /  / [Chain 2] / Step 1: try. / Final_answer:
            \boxed{23}
    3 generated round=2 role=reasoner source=2 parse=unreadable
    = (answer=23 ended_by=voted)
    """)


def test_the_groundwork_of_a_chosen_method() -> None:
    said = {
        "meta_reasoner": ["Assessment: a product\nMethod: step_back"],
        "reasoner": ["", solved("24")],
    }
    ran = served("meta_reasoning", said)
    assert told(ran) == lines(r"""
    0 meta_reasoner meta_reasoning.choose max_tokens=8192
        problem: What is six times four?
        methods: cot: chain of thought: think step by step, straight on; for problems with one clear way / tot: tree
            of thoughts: try several steps, rate them, follow the best; for search / sc: self-consistency: solve it
            several times and vote; for computations that slip easily / self_refine: self-refine: draft, criticise,
            revise; for answers that can be improved / step_back: step back: find the principle first, then apply
            it; for science and knowledge / analogical: analogy: recall problems like it and how they are solved;
            for known kinds / simulate: simulate: play the situation through, from each side; for people and
            processes
    1 strategy.chosen round=0 arm=step_back how=direct source=0
    2 reasoner prelude.step_back max_tokens=8192 (problem as before)
    3 reasoner prelude.solve max_tokens=8192 (problem as before)
        groundwork: (none)
    4 generated round=1 role=reasoner answer=24 source=3 parse=ok
    = (answer=24 ended_by=answered)
    """)


def test_an_agent_that_searches_is_told_of_its_faults_and_answers() -> None:
    said = [
        'I look. <tool_call>{"name": "search", "arguments": {"query": "six times four"}}</tool_call>',
        "Well then.",
        '<tool_call>{"arguments": {"topk": 2}}</tool_call>',
        "<answer>24</answer>",
    ]
    ran = served("tool_reasoning", said)
    assert told(ran) == lines(r"""
    0 reasoner agent max_tokens=8192
        problem: What is six times four?
    1 generated round=0 role=reasoner source=0 parse=ok
    2 usetool tool=search arguments=[[query six times four] [topk 3]]
    3 reasoner agent#1 max_tokens=8192 (problem as before)
        assistant: I look. <tool_call>{"name": "search", "arguments": {"query": "six times [...]
        user: <tool_response>(nothing found)</tool_response>
    4 generated round=1 role=reasoner source=3 parse=unreadable
    5 reasoner agent#2 max_tokens=8192 (problem, 2 turns as before)
        assistant: Well then.
        user: This reply holds neither a call of the tool nor an answer. Call the tool, between [...]
    6 generated round=2 role=reasoner source=5 parse=ok
    7 reasoner agent#3 max_tokens=8192 (problem, 4 turns as before)
        assistant: <tool_call>{"arguments": {"topk": 2}}</tool_call>
        user: <tool_response>error: the call has no query</tool_response>
    8 generated round=3 role=reasoner answer=24 source=7 parse=ok
    = (answer=24 ended_by=answered)
    """)


def test_an_agent_that_was_cut_off_twice_has_no_answer() -> None:
    ran = served(
        "tool_reasoning", [CutOff("<answer>2"), CutOff("<answer>24</answer> or")], output_cap=64
    )
    assert told(ran) == lines(r"""
    0 reasoner agent max_tokens=64
        problem: What is six times four?
    1 generated round=0 role=reasoner source=0 parse=unreadable
    2 reasoner agent#1 max_tokens=64 (problem as before)
        assistant: <answer>2
        user: This reply holds neither a call of the tool nor an answer. Call the tool, between [...]
    3 generated round=1 role=reasoner source=2 parse=unreadable
    = (ended_by=unreadable)
    """)


def test_an_agent_whose_calls_are_used_up() -> None:
    search = '<tool_call>{"name": "search", "arguments": {"query": "six"}}</tool_call>'
    ran = served("tool_reasoning", [search, search], tool_calls=1)
    assert told(ran) == lines(r"""
    0 reasoner agent max_tokens=8192
        problem: What is six times four?
    1 generated round=0 role=reasoner source=0 parse=ok
    2 usetool tool=search arguments=[[query six] [topk 3]]
    3 reasoner agent#1 max_tokens=8192 (problem as before)
        assistant: <tool_call>{"name": "search", "arguments": {"query": "six"}}</tool_call>
        user: <tool_response>(nothing found)</tool_response>
    4 generated round=1 role=reasoner source=3 parse=ok
    = (ended_by=tool_calls)
    """)
