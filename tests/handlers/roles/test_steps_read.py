"""What a reply adds to a trajectory: steps and thoughts, free, labelled or tagged, and their answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from handlers.roles.again import Meter
from handlers.roles.step import STEP, Made, as_fields, made_of
from handlers.roles.steps import shown, with_answer
from handlers.roles.thinker import THINKERS, Strategy, Thought, think
from schemas.answer_type import AnswerType
from tests.scripted import CutOff, run

M = "scripted"


@pytest.mark.parametrize(
    ("reply", "fields"),
    [
        ("plain", "plain"),
        (
            "<reasoning> why </reasoning><next_step> do it </next_step> solved: 7 ",
            "Reasoning: why\nNext_step: do it\nState: SOLVED\nsolved: 7",
        ),
        (
            "<next_step>a</next_step>\n<NEXT_STEP>b</NEXT_STEP> not yet solved",
            "Reasoning: -\nNext_step: a\nNext_step: b\nState: OPEN\nnot yet solved",
        ),
        (
            "It is solved. <next_step>a</next_step> What is left is open.",
            "Reasoning: -\nNext_step: a\nState: OPEN\nWhat is left is open.",
        ),
        (
            "It is solved. <next_step>a</next_step>",
            "Reasoning: -\nNext_step: a\nState: OPEN\n",
        ),
    ],
)
def test_tags_become_labels(reply: str, fields: str) -> None:
    assert as_fields(reply) == fields


@pytest.mark.parametrize(
    ("replies", "made"),
    [
        (["Next_step: do\nState: OPEN\nFinal_answer: 3"], Made("do", None, "0", "ok", M)),
        (
            ["Reasoning: r\nNext_step: do\nState: SOLVED\nFinal_answer: \\boxed{7}"],
            Made("do", "7", "0", "ok", M),
        ),
        (["I do it.\nFinal_answer: \\boxed{7}"], Made("I do it.", "7", "0", "ok", M)),
        (["I do it.\nFinal_answer: none"], Made("I do it.", None, "0", "ok", M)),
        (
            ["State the goal first.\nFinal_answer: 7"],
            Made("State the goal first.", "7", "0", "ok", M),
        ),
        (["<next_step>a</next_step> solved \\boxed{7}"], Made("a", "7", "0", "ok", M)),
        (
            ["Hm.", "Well: next step: none\n**Next step**: again\nState: maybe"],
            Made("again", None, "2", "fallback", M),
        ),
        (
            ["Hm.", "Next step: one\nNext step: two"],
            Made("Next step: one\nNext step: two", None, "2", "unreadable", M),
        ),
        (["Hm.", " Well. "], Made("Well.", None, "2", "unreadable", M)),
    ],
)
def test_a_step_and_its_answer_once_it_is_solved(replies: list[str], made: Made) -> None:
    assert made_of(run(STEP.ask(problem="p"), replies).result) == made


@pytest.mark.parametrize(
    ("way", "reply", "thought"),
    [
        ("direct", "I add.\nFinal_answer: none", Thought("I add.", None, "0", True)),
        (
            "direct",
            "I add.\nFinal_answer: \\boxed{7}",
            Thought("I add.\nFinal answer: 7", "7", "0", True),
        ),
        (
            "direct",
            "Thought: I add.\nState: OPEN\nFinal_answer: 8",
            Thought("I add.\nFinal answer: 8", "8", "0", True),
        ),
        (
            "direct",
            "Thought: I add.\nState: OPEN\nFinal_answer: not yet",
            Thought("I add.", None, "0", True),
        ),
        (
            "direct",
            "Thought: known\nState: OPEN\nThought: new\nState: ANSWERED\nFinal_answer: 9",
            Thought("new\nFinal answer: 9", "9", "0", True),
        ),
        (
            "direct",
            "State of things: bad.\nFinal_answer: 7",
            Thought("State of things: bad.\nFinal answer: 7", "7", "0", True),
        ),
        (
            "verify",
            "All is well.\nConfidence: 0.7\nFinal_answer: 7",
            Thought("All is well.\nFinal answer: 7", "7", "0", True, 0.7),
        ),
        ("direct", CutOff("it is \\boxed{4}"), Thought("it is \\boxed{4}", None, "0", False)),
        ("direct", " ", Thought("", None, "0", False)),
    ],
)
def test_a_thought_and_the_answer_that_it_comes_to(
    way: Strategy, reply: str, thought: Thought
) -> None:
    role, meter = THINKERS[way], Meter()
    question = role.question({"problem": "p", "trajectory": "[Step 1]\nknown"})
    assert run(think(question, role, meter), [reply]).result == thought
    assert meter.calls == 1


def test_on_the_way_an_answer_below_the_word_open_is_no_result() -> None:
    role = THINKERS["direct"]
    said = ["Thought: I add.\nState: OPEN\nFinal_answer: 8"]
    steps = think(role.question({"problem": "p"}), role, Meter(), to_the_end=False)
    assert run(steps, said).result == Thought("I add.", None, "0", True)


@pytest.mark.parametrize(
    ("said", "thought"),
    [
        (
            "Thought: I add.\nState: ANSWERED\nFinal_answer: 1,200 km",
            Thought("I add.\nFinal answer: 1200 km", "1200 km", "0", True),
        ),
        ("I add.\nFinal_answer: 7", Thought("I add.\nFinal answer: 7 km", "7 km", "0", True)),
        ("I add.\nFinal_answer: none", Thought("I add.", None, "0", True)),
    ],
)
def test_a_typed_answer_is_read_of_labelled_thoughts_as_well(said: str, thought: Thought) -> None:
    role = THINKERS["direct"]
    question = role.question({"problem": "p"})
    kilometres = AnswerType(type="number", unit="km")
    typed = replace(question.template, reply=question.template.reply.typed(kilometres))
    ran = run(think(structs.replace(question, template=typed), role, Meter()), [said])
    assert ran.result == thought
    on_the_way = ["Thought: I add.\nState: OPEN\nFinal_answer: 8 km"]
    steps = think(structs.replace(question, template=typed), role, Meter(), to_the_end=False)
    assert run(steps, on_the_way).result == Thought("I add.", None, "0", True)


def test_steps_are_numbered_and_an_answer_stands_below_its_thought_once() -> None:
    assert shown(("a", "b"), 4) == "[Step 4]\na\n\n[Step 5]\nb"
    assert shown(()) == ""
    assert with_answer("So it is.", "7") == "So it is.\nFinal answer: 7"
    assert with_answer("Final answer: 7", "7") == "Final answer: 7"
    assert with_answer("", "7") == "Final answer: 7"
    assert with_answer("So it is.", None) == "So it is."
