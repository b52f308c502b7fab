"""One extraction: marked answers first, then the last number or option; in linear time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.equal import equal
from handlers.answers.extract import boxed, extract, mentioned, stated, whole
from tests.data import shared
from tests.pace import within

MARKED = [
    ("Final_answer: ### 42 ###", "42"),
    ("Action: 1\nFinal_answer: ### (1,\n2) ###\nmore", "(1,\n2)"),
    ("final ANSWER :7", "7"),
    ("FINAL_ANSWER:   ###x###", "x"),
    ("Final Answer: The final answer is $\\frac{3}{4}$. I hope it is correct.", "\\frac{3}{4}"),
    ("**Final Answer:** $\\boxed{\\frac{1}{2}}$", "\\frac{1}{2}"),
    ("**Final Answer**\n\n\\boxed{5}", "5"),
    ("\\boxed{3} first, then \\boxed{\\frac{a}{b^{2}}}", "\\frac{a}{b^{2}}"),
    ("whole \\boxed{3}, cut off \\boxed{12", "3"),
    ("\\boxed{\\{1,2\\}}", "\\{1,2\\}"),
    ("\\boxed{9}\nFinal_answer: ### 8 ###", "8"),
    ("Final_answer: ### ###\n\\boxed{3}", "3"),
    ("Steps:\n4 + 4 = 8\nAnswer: (10 - 4) * 5 - 6 = 24", "(10 - 4) * 5 - 6 = 24"),
    ("Answer: None\nNote: 24 cannot be made.", "None"),
    ("Answer:\n  12", "12"),
    ("He has 3.\n#### 1,234", "1,234"),
    ("Final Answer: \\( 5 \\)", "5"),
    (
        "Final_answer: \\boxed{\\begin{pmatrix}\n1 & 2\\\\\n3 & 4\n\\end{pmatrix}}\nDone.",
        "\\begin{pmatrix}\n1 & 2\\\\\n3 & 4\n\\end{pmatrix}",
    ),
    ("Final_answer: \\boxed{\n1\n2\n}", "1\n2"),
    ("Final_answer:\n```python\nprint(1)\nprint(2)\n```\nThat is it.", "print(1)\nprint(2)"),
    ("Final_answer:\n\\[\n\\boxed{24}\n\\]", "24"),
    ("Final_answer: \\boxed{1} and \\boxed{2}", "1, 2"),
    ("Final_answer: ```python\nprint(1)\n```", "print(1)"),
    ("Final_answer: ```python\nprint(1)\n```\n\n\\boxed{2}", "print(1)"),
    ("**Final answer:** ```\nprint(1)\n```", "print(1)"),
    ("Final_answer: `x + 1`", "x + 1"),
    ("**Final answer:** `C`", "C"),
    ('Final_answer: "abc"', '"abc"'),
    ("Final_answer: 'it', she said", "'it', she said"),
    ("`Final answer:` 42", "42"),
    ('"Final answer": 42', "42"),
    ("Final_answer: y'", "y'"),
    ("Final_answer: 12:50 p.m.", "12:50 p.m."),
    ("Final_answer: C#", "C#"),
    ("Final_answer: The balloon tilts forward.", "The balloon tilts forward"),
    ("Final answer = 7", "7"),
    ("### Final Answer\n\n42", "42"),
    ("Final_answer: The total is:\n\\[ 60 + 180 = 240 \\]", "60 + 180 = 240"),
    ("Final_answer: The total is\n\\( 240 \\).", "240"),
    ("Final_answer: The answer is:\n\n240", "240"),
    ("Final_answer: **We find:**\n$$a = 1$$\nso\n$$\\boxed{9}$$", "9"),
    ("Final_answer: The code is:\n```\nprint(1)\n```", "print(1)"),
    ("Final_answer: It costs 5 dollars:\n- eggs 3\n- milk 2", "It costs 5 dollars:"),
    ("Final_answer: 12\n\nThis is:\n13", "12"),
    ("Final_answer: The total number is \\( 366 \\).", "366"),
    ("Final_answer: The total number is: 366 downloads", "366 downloads"),
    ("Final_answer: Its width is $3$", "3"),
    ("Final_answer: It is $3 a day", "It is $3 a day"),
    ("Final_answer: Its sides are $3$ and $4$", "Its sides are $3$ and $4$"),
    ("Final_answer: He is at 12:50", "He is at 12:50"),
    ("The answer is 42 apples because 40 + 2.", "42 apples"),
    ("Therefore the answer is no.", "no"),
]
MENTIONED = [
    ("She has 16 - 3 = 13 eggs.", "13"),
    ("So it costs $1,234.50.", "$1,234.50"),
    ("Thus (c) holds.", "c"),
    ("It is True.", "True"),
    ("first 3\n\nthen -5 of them.", "-5"),
    ("5-3", "3"),
    ("50%.", "50%"),
    ("3/4 of it", "3/4"),
]


@pytest.mark.parametrize(("text", "answer"), MARKED)
def test_marked_answers_are_read_word_for_word(text: str, answer: str) -> None:
    assert extract(text) == answer
    assert mentioned(text) == answer


@pytest.mark.parametrize(("text", "answer"), MENTIONED)
def test_what_is_merely_mentioned_is_no_answer(text: str, answer: str) -> None:
    assert extract(text) is None
    assert mentioned(text) == answer


@pytest.mark.parametrize("text", ["", "   \n ", "no idea", "Final answer:", "\\boxed{}", "### ###"])
def test_no_answer(text: str) -> None:
    assert extract(text) is None


@given(st.text(st.characters()))
def test_any_text_is_read(text: str) -> None:
    for read in (extract, mentioned, stated, whole):
        found = read(text)
        assert found is None or found.strip("\n") == found != ""


MARKS = [
    "Final_answer: ",
    "###",
    "\\boxed{",
    "}",
    "{",
    "Answer:",
    "####",
    "\n",
    "$",
    "(a)",
    "1,234",
]


@given(st.lists(st.sampled_from(MARKS)).map("".join))
def test_any_mix_of_marks_is_read(text: str) -> None:
    marked = extract(text)
    assert marked is None or mentioned(text) == marked


@given(st.recursive(st.sampled_from(["1", "x", "-2"]), lambda inner: inner.map("{{{}}}".format)))
def test_a_balanced_box_is_found_again(content: str) -> None:
    assert boxed(f"so \\boxed{{ {content} }} it is") == content


def test_reference_solutions_give_their_own_labels() -> None:
    for line in (shared() / "math500/test_dev.jsonl").read_text().splitlines():
        item = json.loads(line)
        assert equal(extract(item["solution"]) or "", item["answer"]) == "right"
    for line in (shared() / "gsm8k/test_dev.jsonl").read_text().splitlines():
        solution = json.loads(line)["answer"]
        assert extract(solution) == solution.rpartition("#### ")[2]


HOSTILE = ["{", "\\boxed{", "answer:", "final answer: ", "9", " ", "\n", "999,", "#", "1/", "(a)"]


@pytest.mark.parametrize("piece", [*HOSTILE, "-", "*\n", "\\", "answer is ", "$", "`", "\ud800"])
def test_five_megabytes_of_anything_take_linear_time(piece: str) -> None:
    text = piece * (5_000_000 // len(piece))
    within(2, lambda: extract(text))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "3. **Express the final answer:**\n   - It is to be a number.\n\n4. Write it:\n \\boxed{3}",
            "3",
        ),
        ("Final answer:\n42", "42"),
        ("Final answer:\n```\nprint(1)\n```\nNot \\boxed{7}.", "print(1)"),
        ("Final answer:\n\\[ \\boxed{5} \\]\nso \\boxed{5}", "5"),
        ("Final answer: 6\nAn earlier try had \\boxed{7}.", "6"),
    ],
)
def test_a_heading_over_plain_words_gives_way_to_a_box_below_it(text: str, answer: str) -> None:
    assert extract(text) == answer
