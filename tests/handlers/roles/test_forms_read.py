"""Small forms and what is read of replies to them, or why nothing is: a row for each way that models write."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.roles.form import (
    Unreadable,
    Values,
    cells,
    every,
    is_figure,
    parse,
    preamble,
    render_reply,
)
from handlers.roles.role import answer, choice, listed, number, open_answer, text
from handlers.roles.values import LINE_CHARS, bulleted, items
from schemas.answer_type import AnswerType
from schemas.reply import ABOUT, Field, Reply

SOLVED = Reply(
    (
        choice("State", ("OPEN", "SOLVED"), "whether it is settled"),
        Field("Final_answer", "answer", "the answer", when=("State", ("SOLVED",))),
    )
)
VERDICT = Reply(
    (
        choice("Verdict", ("PASS", "FAIL"), "whether it holds"),
        text("Finding", "what you find out about the work that was done"),
    )
)
NOTE = Reply((text("Why_so", "the reason"), Field("Remark", "text", "if any", required=False)))
SCORE = Reply((number("Score", "points"),))
TRUST = Reply((number("Trust", "how far", unit=True),))
ANSWER = Reply((answer(),))
OPEN = Reply((open_answer(),))
NOTES = Reply((listed("Notes", "what to note", most=3),))
RUNNING = Reply((text("Why", "the reason"), choice("Go", ("YES", "NO"), "whether")), False, True)


def read(said: str, form: Reply) -> Any:
    """Values by label, or what is wrong in words."""
    found = parse(said, form)
    return str(found) if isinstance(found, Unreadable) else dict(found)


SEVEN = {"State": "SOLVED", "Final_answer": "7"}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("State: OPEN | SOLVED\nFinal_answer: 7", SEVEN),
        ("State: OPEN | SOLVED\nFinal_answer: left", {**SEVEN, "Final_answer": "left"}),
        ("Final_answer: 7 apples", {**SEVEN, "Final_answer": "7 apples"}),
        ("Final_answer: not yet", "State: missing"),
        ("State: maybe\nFinal_answer: 7", "State: must be one of OPEN, SOLVED"),
        ("So it is \\boxed{7}", SEVEN),
        ("State: OPEN\nFinal_answer: 7", {"State": "OPEN"}),
        ("State: OPEN\nState: OPEN | SOLVED\nFinal_answer: 7", {"State": "OPEN"}),
        ('{"State": "SOLVED", "Final_answer": 7}', SEVEN),
        ('{"State": true}', "State: missing"),
        ("| State | Final_answer |\n|---|---|\n| SOLVED | 7 |", SEVEN),
        ("| State | SOLVED |\n| Final_answer | 7 |", SEVEN),
    ],
)
def test_a_choice_and_the_answer_that_hangs_on_it(said: str, found: Any) -> None:
    assert read(said, SOLVED) == found


def passed(finding: str) -> dict[str, str]:
    return {"Verdict": "PASS", "Finding": finding}


ECHO = "Finding: repeats the form instead of filling it"
FORM = "What you find out about the work that was done"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("**PASS** – the parts agree", passed("the parts agree")),
        ("PASS: they do", passed("they do")),
        ("PASS they do", "Verdict: missing"),
        ("The parts agree.\n\nVerdict: PASS", passed("The parts agree.")),
        (
            "The parts agree.\nSo it holds. **Verdict:** PASS",
            passed("The parts agree.\nSo it holds."),
        ),
        ("Verdict: PASS\n\nThe parts agree.", "Finding: missing"),
        ("The parts agree.\nVerdict: PASS\nOr do they?", "Finding: missing"),
        ("They agree.\nVerdict: PASS\nOr not.\nVerdict: FAIL", "Finding: missing"),
        ("The parts agree.\nVerdict: perhaps", "Verdict: must be one of PASS, FAIL"),
        (f"Verdict: PASS\nFinding: {FORM}; it holds", ECHO),
        (f"Verdict: PASS\nFinding: {FORM}: it holds", passed("it holds")),
        (f"Verdict: PASS\nFinding: {FORM}s", passed(f"{FORM}s")),
        ("Finding: x\nVerdict: PASS\n\nLet me know if you need more!", passed("x")),
        ("Verdict: PASS\nFinding: x\n\nFeel free to ask.", passed("x")),
        ("Verdict: PASS\nFinding: x\n\n---", passed("x")),
        ("Verdict: PASS\nFinding: x\n\n--", passed("x\n\n--")),
        ("Verdict: PASS\nFinding: x\n\nIt ends.", passed("x\n\nIt ends.")),
        ("```\nVerdict: PASS\nFinding: x\n```", passed("x")),
        ("Verdict: PASS\nFinding:\n```\ncode\n```", passed("```\ncode\n```")),
        ("**Verdict: PASS**\n**Finding: x**\nand more", passed("x\nand more")),
        ("Verdict PASS\nFinding x", "Verdict: missing"),
        ("**Verdict** PASS\n- Finding – so", passed("so")),
        ("## Verdict\nPASS\n## Finding\nx", passed("x")),
        ("Verdict = PASS\nFinding == x\nFinding: y", passed("y")),
        ("Verdict: PASS\nFinding: **x**", passed("x")),
        ("Verdict: PASS\nFinding: **x** or **y**", passed("**x** or **y**")),
        ("Verdict: PASS\nFinding: n/a", passed("NONE")),
        (f"Verdict: PASS\nFinding: x\n{ABOUT}\nVerdict: FAIL\nFinding: a word", passed("x")),
        (f"Verdict: FAIL\n{ABOUT}\nVerdict: PASS\nFinding: x", passed("x")),
    ],
)
def test_a_verdict_in_words_and_signs(said: str, found: Any) -> None:
    assert read(said, VERDICT) == found


@pytest.mark.parametrize(
    ("said", "found"),
    [
        *((f"{label}: so", {"Why_so": "so"}) for label in ("why-so", "Why so", "WHY\\_SO", "`Why_so`")),
        ("Why_so：so", {"Why_so": "so"}),
        ("> - Why_so: so", {"Why_so": "so"}),
        ("1. Why_so: so\n2. Remark: b", {"Why_so": "so", "Remark": "b"}),
        ("Why_so: so\nRemark: none", {"Why_so": "so", "Remark": "NONE"}),
        ("Why_so: so\nRemark: ", {"Why_so": "so"}),
        ("Why_so: first\nWhy_so: ", {"Why_so": "first"}),
        ("Why_so: first\nWhy_so: last", {"Why_so": "last"}),
        ('{"why so": ["a", ["b", 3]], "Remark": null}', {"Why_so": "a\nb\n3"}),
        ('{"Why_so": {"a": 1}}\n\nWhy_so: in words', {"Why_so": "in words"}),
        ("| Why_so | so |\n|---|---|\n| Remark | b | c |", {"Why_so": "so", "Remark": "b | c"}),
        ("Why_so", "Why_so: missing"),
    ],
)  # fmt: skip
def test_a_label_in_many_spellings(said: str, found: Any) -> None:
    assert read(said, NOTE) == found


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("7", 7.0),
        ("$1,200", 1200.0),
        ("-3.5", -3.5),
        ("Score: 1,200.5 euros", 1200.5),
        ("Score: −4", -4.0),
        ("Score: 2e3", 2000.0),
        ('{"Score": 3}', 3.0),
        ("Score: high\nScore: 3 or 4", 3.0),
        ("\n".join(["Score: 1", *["Score: x"] * 7]), 1.0),
        ("\n".join(["Score: 1", *["Score: x"] * 8]), "Score: holds no number"),
        ("Score: 1e999", "Score: must be a finite number"),
        ("about 7", "Score: missing"),
        ('{"Score": true}', "Score: missing"),
    ],
)
def test_a_number(said: str, found: Any) -> None:
    assert read(said, SCORE) == (found if isinstance(found, str) else {"Score": found})


@pytest.mark.parametrize(
    ("said", "found"),
    [
        *((said, 0.85) for said in ("0.85", "85%", "85\\%", "85 percent", "17/20", "17 out of 20")),
        ("0", 0.0), ("1", 1.0), (".5", 0.5), ("**0.5**", 0.5), ("about 0.5, or 0.6", 0.5),
        ("０．５", 0.5), ("５０％", 0.5), ("on a scale of 0 to 10, 8/10", 0.8), ("8 (on a scale from 1 to 10)", 0.8),
        ("0.8 on a scale of 0 to 10", 0.8), ("[0, 10] 8/10", 0.8), ("85 on a scale of 0-100", 0.85),
        ("from 0 to 1: 0.7", 0.7),
        ("1 in 4", 0.25), ("3 of 4", 0.75), ("0.9 in 2 of the cases", 0.9), ("11 (0-10)", None),
        ("1 (on a scale of 1-10)", 0.1), ("1 (scale: 1–10)", 0.1), ("1 on a 1-10 scale", 0.1),
        ("1 in a range of 1-10", 0.1), ("1 star out of 5", 0.2), ("3★ out of 5", 0.6), ("1 (out of 10)", 0.1),
        ("1 star", None), ("0 stars", None), ("1 (low) on a 10-point scale", None), ("1, where 10 is the best", None),
        ("1 out of five", None), ("1, on a scale of one to ten", None), ("1 on a scale of 0 to 1", 1.0),
        ("1, and nothing is out of place", 1.0), ("0 on a scale of 0-10", 0.0),
        ("not 0.9 but 0.4", 0.4), ("It isn't 90%, rather 40%", 0.4), ("not 1 but 0", 0.0), ("0.4, not 0.9", 0.4),
        ("not 100% sure, 0.8", 0.8),
        ("8", None), ("3/0", None), ("1.01", None), ("-0.1", None), ("101%", None),
    ],
)  # fmt: skip
def test_a_share(said: str, found: float | None) -> None:
    outside = "Trust: must be a number in [0, 1]"
    assert read(f"Trust: {said}", TRUST) == (outside if found is None else {"Trust": found})


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ('{"answer": 42}', "42"),
        ('{"Final answer": " 42 "}', "42"),
        ("Final_answer: \\boxed{7} or so", "7"),
        ("It is \\boxed{7}.\nFinal_answer: ", "7"),
        ('{"answer": true}', None),
        ('{"answer": {"a": 1}}', None),
        ("It must be seven.", None),
    ],
)
def test_an_answer_may_stand_elsewhere(said: str, found: str | None) -> None:
    missing = "Final_answer: missing"
    assert read(said, ANSWER) == (missing if found is None else {"Final_answer": found})


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Final_answer: none", "NONE"),
        ("Final_answer: not yet", "NONE"),
        ("Final_answer: nothing settled", "NONE"),
        ("Final_answer: none (the tax is missing)", "NONE"),
        ("Final_answer: **None** – see what remains", "NONE"),
        ("Final_answer: to be determined", "NONE"),
        ("So it is \\boxed{none}.", "NONE"),
        ("Final_answer: none of these", "none of these"),
        ("Final_answer: 7", "7"),
    ],
)
def test_who_may_leave_it_open_says_none(said: str, found: str) -> None:
    assert read(said, OPEN) == {"Final_answer": found}
    if said == "Final_answer: none":
        assert read(said, ANSWER) == "Final_answer: holds no answer"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Notes:\n- a\n- b\n  goes on\n\nlost\n* c\n• d", ("a", "b goes on", "c")),
        ("Notes:\na\nb", ("a", "b")),
        ("Notes: 1) in 3) of 1990 2) b", ("in 3) of 1990", "b")),
        ("Notes:\n- none\n- b", ("none", "b")),
        ("Notes:\n- **a**\n- **b** and **c**", ("a", "**b** and **c**")),
        ("Notes:\n```\n- a\n```", ("a",)),
        ('{"Notes": ["a", {"b": 1, "c": "x"}, ["d", "e"]]}', ("a", "b=1, c=x", "d e")),
        ('{"Notes": "- a\\n- b"}', ("a", "b")),
        ('Notes: ["a", "b, c"]', ("a", "b, c")),
        ("Notes: [a, b]", ("[a, b]",)),
        ("Notes:\n● a\n● b\ngoes on", ("a", "b goes on")),
        ("Notes:\n① a\n② b", ("a", "b")),
        ("Notes:\n1️⃣ a\n2️⃣ b", ("a", "b")),
        ("Notes:\n✔️ a\n✅ b", ("a", "b")),
        ("| Notes | 1. a<br>2. b |", ("a", "b")),
        ("Notes: none", "Notes: 0 items, at least 1 is needed"),
    ],
)
def test_a_list(said: str, found: Any) -> None:
    assert read(said, NOTES) == (found if isinstance(found, str) else {"Notes": found})


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Why: it is so. Go: NO", {"Why": "it is so.", "Go": "NO"}),
        ("It holds. Why: it is so. **Go**: YES", {"Why": "it is so.", "Go": "YES"}),
        ("Why: it is so and **Go:** NO", {"Why": "it is so and", "Go": "NO"}),
        ("Why: it is so, so that **Go: NO**", {"Why": "it is so, so that", "Go": "NO"}),
        ("Why: it is so. **Go:** YES", {"Why": "it is so.", "Go": "YES"}),
        ("Why: it is so and **go:** NO", "Go: missing"),
        ("Why: it is so. go: NO", "Go: missing"),
        ("Why: so far Go: NO", "Go: missing"),
        ("Why: it is so. Go: perhaps", "Go: missing"),
    ],
)
def test_short_fields_on_one_line(said: str, found: Any) -> None:
    assert read(said, RUNNING) == found


@pytest.mark.parametrize(
    ("said", "form", "found"),
    [
        ("(B)", AnswerType(type="choice", options=("red", "green")), "green"),
        ("Yes, it is.", AnswerType(type="yes_no"), "yes"),
        ("7000 m", AnswerType(type="number", unit="km"), "7 km"),
        ("m" * LINE_CHARS, AnswerType(type="text"), "missing"),
        ("m" * (LINE_CHARS - 1), AnswerType(type="text"), "m" * (LINE_CHARS - 1)),
        ("far away", AnswerType(type="number", unit="km"), "missing"),
    ],
)
def test_a_reply_that_is_nothing_but_an_answer_of_its_type(
    said: str, form: AnswerType, found: str
) -> None:
    text_alone = Reply((Field("Final_answer", "text", "the answer", form=form),))
    got = read(said, text_alone)
    assert (got["Final_answer"] if isinstance(got, dict) else got.rpartition(": ")[2]) == found


LIST = AnswerType(type="json", schema={"type": "array", "items": {"type": "integer"}})
OBJECT = AnswerType(type="json", schema={"type": "object"})
WORDS = AnswerType(type="json", schema={"type": "string"})


@pytest.mark.parametrize(
    ("said", "form", "found"),
    [
        ("42, since 6 * 7 is", AnswerType(type="number"), "42"),
        ("7000 m because it is far", AnswerType(type="number", unit="km"), "7 km"),
        ("B, because red is wrong", AnswerType(type="choice", options=("red", "green")), "green"),
        ("A or B, since both do", AnswerType(type="choice", options=("red", "green")), None),
        ("x, as was asked", AnswerType(type="text"), "x, as was asked"),
    ],
)
def test_why_it_is_so_may_stand_behind_an_answer_of_its_type(
    said: str, form: AnswerType, found: str | None
) -> None:
    got = read(f"Final_answer: {said}", Reply((Field("Final_answer", "answer", "x", form=form),)))
    assert (got["Final_answer"] if isinstance(got, dict) else None) == found


@pytest.mark.parametrize(
    ("said", "form", "found"),
    [
        ("Final_answer: \\boxed{[1, 2]}", LIST, "[1,2]"),
        ("The answer is \\boxed{[1, 2,]}.", LIST, "[1,2]"),
        ("\\boxed{[9]}, or rather \\boxed{[\n1, // one\n2\n]}", LIST, "[1,2]"),
        ("Final_answer: \\boxed{[1, /* one */ 2]} // done", LIST, "[1,2]"),
        ("Final_answer: \\boxed{one, two}", LIST, "is no JSON value"),
        ('Final_answer: \\boxed{{"a": 1 // one\n}}', OBJECT, '{"a":1}'),
        ('Final_answer: \\boxed{\\{"a": 1\\}}', OBJECT, '{"a":1}'),
        ('Final_answer: {"a": "\\\\boxed{[1]}"}', OBJECT, '{"a":"\\\\boxed{[1]}"}'),
        ("Final_answer: \\boxed{one}, as was asked", WORDS, '"one"'),
        ("The answer is \\boxed{one}", WORDS, '"one"'),
    ],
)
def test_a_json_value_may_stand_in_a_box(said: str, form: AnswerType, found: str) -> None:
    got = read(said, Reply((Field("Final_answer", "answer", "the answer", form=form),)))
    assert (got["Final_answer"] if isinstance(got, dict) else got.rpartition(": ")[2]) == found


def test_a_box_that_stands_in_an_object_is_read_without_its_signs() -> None:
    said = '{"work": "so it is \\\\boxed{7}", "done": true}'
    assert read(said, ANSWER) == {"Final_answer": "7"}
    assert read(f"{said}\nState: SOLVED", SOLVED) == SEVEN
    reasoned = Reply((*NOTE.fields[:1], answer()))
    for more in ('"note": ""', '"note": {"of": 1}'):
        told = f'{{"Why_so": "The answer is 7", {more}}}'
        assert read(told, reasoned) == {"Why_so": "The answer is 7", "Final_answer": "7"}


def test_every_value_behind_a_label_and_what_stands_before_the_first() -> None:
    assert list(every("Score: 1\nScore: x\nScore: 2", SCORE, "Score")) == [1.0, 2.0]
    assert preamble(" so\nScore: 1", SCORE) == "so"
    assert preamble(" so ", SCORE) == "so"


def test_what_is_a_figure_a_row_and_a_list() -> None:
    told = {"7": True, "7 apples": True, "2 x y z": True, "7 big apples now": False, "x": False}
    assert {said: is_figure(said) for said in told} == told
    assert cells(" | a | b |") == ["a", "b"]
    assert [cells(line) for line in ("| a", "a |", "||", "a | b")] == [[]] * 4
    assert [len(cells(f"|{'a' * size}|")) for size in (19_998, 19_999)] == [1, 0]
    assert bulleted("First:\n- a\n- b\nmore") == ("a", "b more")
    assert bulleted("none") == ()
    assert items("a\n\n- b\nc\n\nd\n- e") == ["a", "b c", "e"]


def test_values_are_rendered_as_they_are_read() -> None:
    form = Reply((*NOTE.fields, *SCORE.fields, listed("Notes", "x", least=0), answer()))
    values: Values = {"Why_so": "so", "Score": 0.1, "Notes": (), "Final_answer": "7"}
    told = "Why_so: so\nScore: 0.1\nNotes:\n- NONE\nFinal_answer: \\boxed{7}"
    assert render_reply(form, values) == told
    assert read(told, form) == values
