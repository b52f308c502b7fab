"""What a model of 1.5 billion parameters said to our prompts: read as it was, or refused for what it left out.

Qwen2.5-Coder-1.5B-Instruct, free text of at most 512 tokens: two problems of GSM8K by five systems and a plain chain.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from handlers.answers.extract import extract
from handlers.roles.again import Meter
from handlers.roles.confidence import read_confidence
from handlers.roles.oracle import read_scores
from handlers.roles.reasoner import REASONER
from handlers.roles.thinker import THINKERS, Thought, think
from schemas.questions import Completion
from tests.handlers.roles.every import roles
from tests.handlers.roles.test_strong_replies import wrong

REPLIES = Path(__file__).with_name("qwen_replies.jsonl.gz")
LEFT_OUT = Counter({("consolidator", "M2: missing"): 2})
"""Fields that the model did not write at all."""


@pytest.fixture(scope="module")
def replies() -> list[dict[str, Any]]:
    with gzip.open(REPLIES, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_whole_replies_are_read_unless_they_leave_a_field_out(
    replies: list[dict[str, Any]],
) -> None:
    known = {frozenset(field.label for field in role.reply.fields): role for role in roles()}
    whole = [reply for reply in replies if reply["finish"] == "stop"]
    found = Counter(
        (reply["role"], problem)
        for reply in whole
        if (problem := wrong(known[frozenset(reply["labels"])], reply["text"])) is not None
    )
    assert len(whole) > 95
    assert found == LEFT_OUT


def test_a_copied_explanation_is_no_value(replies: list[dict[str, Any]]) -> None:
    """The model said 1.0 and went on with our own "in [0, 1]", which was read as 0."""
    said = [reply["text"] for reply in replies if reply["role"] == "confidence"]
    stated = [Fraction(text.partition("Confidence: ")[2].split()[0]) for text in said]
    assert [read_confidence(text) for text in said] == stated
    assert max(stated) == 1


def test_a_step_about_the_answer_is_not_the_answer(replies: list[dict[str, Any]]) -> None:
    """A step is headed "Express the final answer:", goes on about its form, and the box comes after it."""
    said = [each["text"] for each in replies if "Express the final answer:" in each["text"]]
    boxed = [text for text in said if each_box(text)]
    assert boxed
    assert [extract(text) for text in boxed] == [each_box(text)[-1] for text in boxed]


def test_a_headed_step_gives_way_to_the_box_below_it_in_a_role_too() -> None:
    """As the model of 1.5 billion parameters said it, at the end of a right solution that was then lost."""
    said = "4. **Final answer:**\n   James runs a total of 540 meters each week.\n\nSo it is \\(\\boxed{540}\\)."
    assert REASONER.read(said) == {"Final_answer": "540"}


def each_box(text: str) -> list[str]:
    return re.findall(r"\\boxed\{([^{}]+)\}", text)


def test_a_thought_that_comes_in_several_blocks_is_read_whole() -> None:
    """The model went through its form line by line; the last block alone was kept, and lost the way to it."""
    said = (
        "Thought: 16 eggs a day.\nState: OPEN\nFinal_answer: None\n\n"
        "Thought: After eating 3 eggs, she has 16 - 3 = 13.\nState: OPEN\n"
        "Thought: 9 eggs * $2 = $18\nState: ANSWERED\nFinal_answer: \\boxed{18}"
    )
    role = THINKERS["direct"]
    question = role.question({"problem": "p", "trajectory": "[Step 1]\n16 eggs a day."})
    steps = think(question, role, Meter())
    next(steps)
    with pytest.raises(StopIteration) as ended:
        steps.send(Completion("1", said, "stop", "m"))
    thought: Thought = ended.value.value
    assert thought.answer == "18"
    assert thought.text.split("\n") == [
        "After eating 3 eggs, she has 16 - 3 = 13.",
        "9 eggs * $2 = $18",
        "Final answer: 18",
    ]


SCORED = "Semantic=0.5, Logical=0.5, Fix=0.0"
HALF = (Fraction(1, 2), Fraction(1, 2), Fraction(0))


@pytest.mark.parametrize(
    "said",
    [
        f"### Step 1: Determine the white fiber.\nIt is 1.\n\n### Scores:\n- Step 1: {SCORED}\n- Step 2: {SCORED}\n\n"
        "### Reasoning:\n1. **Step 1**: The problem clearly states it. The semantic score is 0.5.\n2. **Step 2**: Similarly.",
        "Step 1: The white fiber.\nSemantic: 0.5\nLogical: 0.5\nFix: 0.0\n\nStep 2: The total.\n- **Semantic:** 0.5\n"
        "- **Logical:** 0.5\n- **Fix:** 0.0",
    ],
)
def test_scores_are_told_from_what_is_said_of_them(said: str) -> None:
    """Reasons below the scores made each step one that is named twice; scores below their step were none."""
    reading = read_scores(said, 1, 2)
    assert (reading.steps, reading.whole) == ((HALF, HALF), True)
