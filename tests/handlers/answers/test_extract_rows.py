"""What a text marks as its answer, a row for each way in which models mark one, and what marks none."""

from __future__ import annotations

import pytest

from handlers.answers.extract import (
    CONTENT_CHARS,
    TRIES,
    absent,
    boxed,
    extract,
    labelled,
    mentioned,
    stated,
    whole,
)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('<answer>4</answer>', '4'),
        ('so <answer> 4 </answer>\n```', '4'),
        ('<answer>1</answer> <answer>2</answer>', '2'),
        ('<answer>1</answer> and more text that goes on for very long here', '1'),
        ('<answer>1</answer>\nFinal answer: 2 text that goes on for very long', '2 text that goes on for very long'),
        ('Final answer: 2\n<answer>1</answer>', '1'),
        ('<answer></answer>', None),
        ('4</answer>', None),
        ('<answer>Final answer: 5</answer>', '5'),
        ('<answer>none</answer>', None),
        ('Final answer: None\nbecause', None),
        ('Final answer: N/A.', None),
        ('Answer: x\nAnswer:', 'x'),
        ('Final answer: 4\nFinal answer:', '4'),
        ('####5', '5'),
        ('##### 5', None),
        ('#### 5 ####', '5'),
        ('The answer is 5.', '5'),
        ('Our final answer is: 7, since 3+4', '7, since 3+4'),
        ('the answer was 5\n\nso the answer must be 6.', '6'),
        ('If the answer is 3 it fails.\n\nDone.', None),
        ('its correct answer would be $5$.', '5'),
        (r"\fbox{3}", '3'),
        (r"\boxed {3}", '3'),
        (r"\boxed{1} \boxed{2}", '2'),
        (r"\boxed{1}, \boxed{2}", '2'),
        (r"\boxed{ 3 . }", '3 .'),
        (r"\boxed{3} junk \boxed{}", '3'),
        ('Final answer: $$x=1$$', 'x=1'),
        ('Final answer: $$x$$ or so', '$$x$$ or so'),
        (r"Final answer: \begin{matrix}1\\2\end{matrix} ok", r"\begin{matrix}1\\2\end{matrix} ok"),
        ('Final answer: \\begin{matrix}1\n2', r"\begin{matrix}1"),
        ('Final answer: **5**', '5'),
        ('Final answer: `5`.', '5'),
        ('Final answer: $5$', '5'),
        ('Final answer: "5"', '"5"'),
        ('Final answer: (5)', '(5)'),
        ('Final answer: e.g. this etc.', 'e.g. this etc.'),
        ('Final answer: U.S.', 'U.S.'),
        ('Final answer: wait...', 'wait...'),
        ('Final answer: 5. I hope it is correct.', '5'),
        ('Final answer：5', '5'),
        ('final-answer: 5', '5'),
        ('final  answer: 5', '5'),
        ('Final answer is: 5', '5'),
        ('Final answer 5', None),
        ('The final answer\n5', '5'),
        ('answer = 5', '5'),
        ('> Answer: 5', '5'),
        ('- **Answer:** 5', '5'),
        ('Answers: 5', None),
        ('### 5 ###', None),
        ('Final answer: ### 5', '5'),
        (r"Final answer: ### \boxed{5} ###", '5'),
        ('Final answer: The answer is 5', '5'),
        ('Final answer: So, the final answer is: 5', '5'),
        ('Final answer: It is:\n- 5', 'It is:'),
        ('Final answer: It is:\n1. a\n2. b', 'It is:'),
        ('Final answer: It equals\n5', '5'),
        ('Final answer: It equals\n\n5\n', '5'),
        ('Final answer: x\ny', 'x'),
        ('Final answer: \n\n\n', None),
        ('Final answer: ```\n```', None),
        ('Final answer: ```\nabc', None),
        ('Final answer: ~~~\nabc\n~~~', None),
        ('yes', None),
        ('12 apples', None),
        (r"Final answer: \(a\) and \(b\)", r"\(a\) and \(b\)"),
        (r"Final answer: The total is \(5\)", '5'),
        ('Final answer: Total: 5', 'Total: 5'),
        ('Final answer: The sum is: 5', '5'),
        (r"Final answer: a\boxed{5}b", '5'),
        (r"\boxed{\text{a}}", r"\text{a}"),
        (r"\boxed{5", None),
        ('Final answer: C##', 'C##'),
        ('Final answer: ### ### x', None),
        ('Final answer: ### 5\nmore', '5'),
        ('Final answer: ### 5 ### more', '5'),
        ('Final answer: The sum is $5$.', '5'),
        ('It was said that the answer is 3. The answer is 4 since it must', '4'),
        ('\\boxed{1}\nFinal answer: \\boxed{}', '1'),
        ('Final answer: ##\n\nx', None),
        ('<ANSWER>5</Answer>', '5'),
        ('Final answer: 5\n\nFinal answer: ###', '5'),
        (r"Final answer: \boxed{1} or \boxed{2}", '1, 2'),
        (r"Final answer: \boxed{1} not \boxed{2}", '1'),
        (r"\boxed{a \boxed{5}}", '5'),
    ],
)  # fmt: skip
def test_what_is_marked_is_the_answer(text: str, answer: str | None) -> None:
    assert extract(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('So it is 5, or 6', '6'),
        ('It is (b) or option C', 'C'),
        ('True or False', 'False'),
        ('I said yes', None),
        ('the answer is so: 7 not 8', 'so: 7 not 8'),
        ('the answer is nothing.\n5', 'nothing'),
        ('x = 3.5e-2 m', '3.5e-2'),
        ('1/2', '1/2'),
        ('$5', '5'),
        ('-5', '-5'),
        ('a-5', '5'),
        ('5-3', '3'),
        ('(5)', '5'),
        ('v2.5', None),
        ('1,234,567.89%', '1,234,567.89%'),
        ('x2', None),
        ('5.', '5'),
        ('10:30', '30'),
        ('(A) and 5', '5'),
        ('choice d', 'd'),
        ('5 (a)', 'a'),
        ('first 5\n\nsecond', None),
        ('so the answer is 5 or (b), not 7', '5 or (b), not 7'),
        ('the answer is it:\n5', '5'),
        ('the answer is: \nthen 5', 'then 5'),
    ],
)  # fmt: skip
def test_what_is_mentioned_last_or_first_behind_such_words(text: str, answer: str | None) -> None:
    assert mentioned(text) == answer


@pytest.mark.parametrize(
    ("text", "none", "answer"),
    [
        ('none', True, None),
        (' **None** ', True, None),
        ('(n/a).', True, None),
        ('null', True, None),
        ('nil', True, None),
        ('not applicable', True, None),
        ('nonesuch', False, 'nonesuch'),
        ('none of it', False, 'none of it'),
        ('x', False, 'x'),
        (r"\boxed{5}", False, '5'),
        (' `5` ', False, '5'),
        ('```\nx\n```', False, 'x'),
        ('$$5$$', False, '5'),
        ('**5**', False, '5'),
        ('5.', False, '5'),
        ('a. b.', False, 'a. b.'),
        ('', False, None),
        ('5 ', False, '5'),
        ('none                                                                                ', False, None),
        ('n/a ......', True, None),
    ],
)  # fmt: skip
def test_a_text_that_is_nothing_but_the_answer_may_say_that_there_is_none(
    text: str, none: bool, answer: str | None
) -> None:
    assert absent(text) == none
    assert whole(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('5\n\\boxed{6}', '5'),
        ('\n\\boxed{6}', '6'),
        ('**\n\\boxed{6}', None),
        ('x\n\\boxed{6}', 'x'),
        ('None\n\\boxed{6}', None),
        ('\n```\n5\n```\n\\boxed{6}', '5'),
        ('5', '5'),
        ('\n5\n', '5'),
    ],
)  # fmt: skip
def test_behind_a_label_stands_the_answer_or_a_box_below_it(text: str, answer: str | None) -> None:
    assert labelled(text) == answer


def test_an_answer_has_so_many_characters_and_so_many_marks_are_tried() -> None:
    long = "x" * CONTENT_CHARS
    assert stated(f"{long}y") == long
    assert whole(f"{long}y") == long
    assert boxed(f"\\boxed{{{long[:-1]}}}") == long[:-1]
    assert boxed(f"\\boxed{{{long}}}") is None
    empty = "\n".join(["Final answer:\n---"] * 3)
    assert extract(f"Final answer: 5\n{empty}") is not None
    marks = "\\boxed{} " * (TRIES - 1)
    assert boxed(f"\\boxed{{5}} {marks}") == "5"
    assert boxed(f"\\boxed{{5}} \\boxed{{}} {marks}") is None


@pytest.mark.parametrize(
    ('text', 'answer'),
    [
        ('Final answer:\n- 42', '42'),
        ('**Final answer**\n\n* **42**\n\nDone.', '42'),
        ('Final answer:\n1. 42', '42'),
        ('Final answer:\n> 42', '42'),
        ('Final answer: - 42', '- 42'),
        ('Final answer:\n-42', '-42'),
        ('Final answer:\n- x = 3\n- y = 4', 'x = 3, y = 4'),
        ('Final answer:\n(a) 3\n(b) 4\n\nDone.', '(a) 3, (b) 4'),
        ('Final answer:\nx = 3\ny = 4', 'x = 3, y = 4'),
        ('Final answer:\nx = 2 + 3\nx = 5', 'x = 2 + 3'),
        (r"Final answer:" "\n" r"Part (a): \boxed{3}" "\n" r"Part (b): \boxed{4}", '3, 4'),
        ('Final answer: |\n  42', '42'),
        ('Final answer: >-\n  six eggs', 'six eggs'),
        (r"Final answer: \boxed{41}" "\n\n" r"Correction: the answer is \boxed{42}.", '42'),
        ('Final answer: 41\n\n**Correction:** the answer is 42.', '42'),
        (r"Final answer: \boxed{42}" "\n\n" r"Check: \boxed{17}", '42'),
        ('Final answer: 41\n\nCorrection: see above.', '41'),
        ('Final answer: 41\n\nRevised result: the answer is 42.', '42'),
        ('Final answer: 41\n\nRevised units: the answer is in km.', '41'),
        ('#### Step 3: Add\nShe has 42. So the answer is 42.', '42'),
        ('#### Step 3: Add\nShe has 42.', None),
        ('#### 42 eggs', '42 eggs'),
        ('#### 42\n\nLet me know!', '42'),
        ('#### 42 eggs\nas 6 * 7 = 42', '42 eggs'),
        ('#### Paris\n\nI hope this helps.', 'Paris'),
        ('#### 3. Add them\nShe has 42.', None),
        ('#### Step 4: Final answer\n\n**42**', '42'),
        ('## 5. Final answer\n42', '42'),
        ('Final answer: 42 ✅', '42'),
        ('**Final answer: 42 eggs.** 🎉', '42 eggs'),
        ('Final answer: **42** ✔️', '42'),
        ('Final answer: ✅', None),
        ('Thus the final answer is **42**.', '42'),
        ('Final answer：42。', '42'),
        ('最终答案：42', '42'),
        ('Final answer: ```42```', '42'),
        ('Final answer: ∅', '∅'),
        ('#### _Hamlet_', 'Hamlet'),
        ('Final answer: A*', 'A*'),
        ('Final answer: `__init__`', '__init__'),
        ('<reasoning>So it is.\nFinal answer: 42</reasoning>', '42'),
        ('Final answer: 42 </s>', '42'),
        ('Final answer: <s>42</s>', '<s>42</s>'),
        ('Final answer: <answer>42</answer> or so', '<answer>42</answer> or so'),
        ('Final answer: <answer>42</answer>', '42'),
        (r"Final answer: $x=\boxed{1}$ and $y=\boxed{2}$", 'x = 1, y = 2'),
        (r"Final answer: $y=\boxed{1}$, $x=\boxed{2}$", 'y = 1, x = 2'),
        (r"Final answer: x = \boxed{1} or x = \boxed{2}", '1, 2'),
        ('Final answer:\n| Eggs |\n|---|\n| 42 |\n\nSo.', '42'),
        ('Final answer:\n| x | y |\n|:-:|---|\n| 1 | 2 |\n| 3 | 4 |\n\nSo.',
         '| x | y |\n|:-:|---|\n| 1 | 2 |\n| 3 | 4 |'),
        ('Final answer: |x| < 3', '|x| < 3'),
        (r"\boxed{<}", '<'),
        (r"\boxed{...}", None),
        ('So the answer: 42', '42'),
        ('The answer is 42.\n\nLet me know if another answer is wanted!', '42'),
        ('The answer is 42.\n\n---', '42'),
    ],
)  # fmt: skip
def test_an_answer_in_a_layout_of_its_own(text: str, answer: str | None) -> None:
    """A point below its label was read with its hyphen as a minus, of several parts one, and a heading as an answer."""
    assert extract(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"answer": "Paris"}', 'Paris'),
        ('It is on the Seine.\n{"answer": "Paris"}', 'Paris'),
        ('So:\n```json\n{"Final answer": "Paris", "confidence": 0.9}\n```', 'Paris'),
        ('{"answer": "Paris"}\n\nI hope this helps!', 'Paris'),
        ("{'answer': 'Paris'}", 'Paris'),
        ('**Final answer:** {"answer": "Paris"}', 'Paris'),
        ('Final answer:\n```json\n{"answer": 42}\n```\nDone.', '42'),
        ('{"final_answer": 42, "unit": "km"}', '42'),
        ('{"thought": "the answer is 5", "answer": "6"}', '6'),
        (r'{"work": "\\boxed{7} at first", "answer": "6"}', '6'),
        (r'{"answer": "\\frac{1}{2}"}', r'\frac{1}{2}'),
        (r'{"answer": "\frac{1}{2}"}', r'\frac{1}{2}'),
        (r'{"answer": "\\boxed{\\frac{1}{2}}"}', r'\frac{1}{2}'),
        (r'{"answer": "she said \"no\""}', 'she said "no"'),
        ('{"answer": "7"} was a draft, so it is \\boxed{8}', '8'),
        ('{"answer": null}', None),
        ('{"answer": "none"}', None),
        ('Final answer: {"x": 1}', '{"x": 1}'),
        ('Final answer: {1, 2}', '{1, 2}'),
        (r'Final answer: -\frac{1}{2}', r'-\frac{1}{2}'),
        ('Final answer: "a", "b"', '"a", "b"'),
    ],
)  # fmt: skip
def test_an_answer_may_stand_behind_its_name_in_an_object(text: str, answer: str | None) -> None:
    """The signs of JSON were read along with it, or nothing was."""
    assert extract(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('Final answer: ***500***', '500'),
        ('#### ***500***', '500'),
        ('Final answer: _42_', '42'),
        ('Final answer: *42*', '42'),
        ('Final answer: **72** clips', '72 clips'),
        ('Answer: **72** clips and **3** pens', '72 clips and **3** pens'),
        ('Final answer: He has **72** clips', 'He has **72** clips'),
        ('The answer is **187.9126**.', '187.9126'),
        ('**Final answer:** ** 42', '42'),
        ('Final answer: **42', '42'),
        ('Final answer: 2**3**4', '2**3**4'),
        ('Final answer: *a* and *b*', '*a* and *b*'),
        ('Final answer: __init__', '__init__'),
        ('so the answer is 18', '18'),
        ('therefore 72', None),
        ('Final answer: Therefore, the correct answer is 42.', '42'),
        (r"Therefore, the correct answer is \boxed{42}", '42'),
        ('Answer: Hence our answer is **(B)**.', '(B)'),
    ],
)  # fmt: skip
def test_emphasis_and_a_sentence_around_an_answer_are_no_part_of_it(
    text: str, answer: str | None
) -> None:
    assert extract(text) == answer
