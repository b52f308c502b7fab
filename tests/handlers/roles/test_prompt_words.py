"""A prompt's words: what may change, what of it differs, what is missing, and what is wrong with it."""

from __future__ import annotations

import pytest

from handlers.roles.role import Role, answer, text
from handlers.roles.wording import changed, faults, lacking, worded, words_of
from schemas.settings import PromptWords

ABOUT = "the final answer"
TEMPLATE = Role.of(
    "r",
    "Do {x_y} with it.\n",
    sections=("Problem", "Recent work?"),
    reply=[answer(about=ABOUT), text("Why", "the reason")],
    notes={"Recent work": "what was done"},
    closing="Now.",
).template


def test_the_words_of_a_template_and_a_template_in_other_words() -> None:
    own: PromptWords = {
        "instructions": "Do {x_y} with it.",
        "sections": {"problem": "", "recent_work": "what was done"},
        "closing": "Now.",
        "reply": {"Final_answer": ABOUT, "Why": "the reason"},
    }
    assert words_of(TEMPLATE) == own
    assert changed(TEMPLATE, own) == {}
    other = worded(
        TEMPLATE,
        {
            "instructions": "Do.",
            "sections": {"recent_work": "new", "none": "x"},
            "reply": {"Why": "how"},
        },
    )
    assert words_of(other) == {
        "instructions": "Do.",
        "sections": {"problem": "", "recent_work": "new"},
        "closing": "Now.",
        "reply": {"Final_answer": ABOUT, "Why": "how"},
    }
    assert [section.variable for section in other.sections] == ["problem", "recent_work"]
    assert worded(TEMPLATE, {"closing": "Then."}).closing == "Then."


def test_only_what_differs_is_a_change() -> None:
    said: PromptWords = {
        "instructions": "Do.",
        "sections": {"problem": "", "recent_work": "new"},
        "closing": "Then.",
        "reply": {"Final_answer": ABOUT, "Why": "the cause"},
    }
    assert changed(TEMPLATE, said) == {
        "instructions": "Do.",
        "sections": {"recent_work": "new"},
        "closing": "Then.",
        "reply": {"Why": "the cause"},
    }


def test_what_a_whole_prompt_must_say() -> None:
    assert list(lacking(TEMPLATE, words_of(TEMPLATE))) == []
    variable, field = (
        f"missing: the {each}" for each in ("role needs this variable", "reply needs this field")
    )
    assert list(lacking(TEMPLATE, {"sections": {"problem": ""}, "reply": {"Why": "x"}})) == [
        ("instructions", "missing: the role is told nothing"),
        ("sections.recent_work", variable),
        ("reply.Final_answer", field),
    ]


HEADING = "has a line that reads like the heading of a section"


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ({}, []),
        ({"instructions": " "}, [("instructions", "blank: the role is told nothing")]),
        ({"instructions": "### Problem"}, []),
        ({"instructions": "Do {x_y}, and \\frac{abc}."}, []),
        (
            {"instructions": "Do {problem}."},
            [("instructions", "{problem} is filled in its own section, and nowhere else")],
        ),
        (
            {"closing": "Do {other} and {x_y}."},
            [
                ("closing", "no such variable: {other}; there are problem, recent_work"),
                ("closing", "no such variable: {x_y}; there are problem, recent_work"),
            ],
        ),
        ({"closing": "x\n### Problem\ny"}, [("closing", HEADING)]),
        ({"sections": {"problem": "### Guidance"}}, [("sections.problem", HEADING)]),
        (
            {"sections": {"recent_wrk": "x"}},
            [("sections.recent_wrk", "no such variable; did you mean 'recent_work'?")],
        ),
        (
            {"reply": {"Whi": "x", "Why": " ", "Final_answer": "a\nb"}},
            [
                ("reply.Whi", "no such field; did you mean 'Why'?"),
                ("reply.Why", "blank: nothing says what goes into this field"),
                ("reply.Final_answer", "has several lines; a field is explained on one"),
            ],
        ),
    ],
)
def test_what_is_wrong_with_words(words: PromptWords, wrong: list[tuple[str, str]]) -> None:
    assert list(faults(TEMPLATE, words)) == wrong
