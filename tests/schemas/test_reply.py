"""How a role's reply is asked for: the line of each field, what is said of it, and the schema that servers get."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.answer_type import AnswerType
from schemas.reply import ABOUT, BLOCK, ENDING, LAST_LINE, REASONING, Field, Reply

JSON = AnswerType.model_validate({"type": "json", "schema": {"type": "object"}})
NUMBER = AnswerType(type="number")
ONLY = ("Verdict", ("NO", "PERHAPS"))

FIELDS: list[tuple[Field, str, str, dict[str, Any]]] = [
    (
        Field("Score", "number", "how good", unit=True),
        "Score: 0.xx",
        "- Score: how good",
        {"type": "number", "minimum": 0, "maximum": 1, "description": "how good"},
    ),
    (
        Field("Count", "number", "how many"),
        "Count: N",
        "- Count: how many",
        {"type": "number", "description": "how many"},
    ),
    (
        Field("Verdict", "choice", "which", choices=("YES", "NO")),
        "Verdict: YES | NO",
        "- Verdict: which",
        {"type": "string", "enum": ["YES", "NO"], "description": "which"},
    ),
    (
        Field("Answer", "answer", "it"),
        "Answer: \\boxed{...}",
        "- Answer: it",
        {"type": "string", "description": "it"},
    ),
    (
        Field("Answer", "answer", "it", form=NUMBER),
        "Answer: \\boxed{...}",
        "- Answer: it",
        {"type": "string", "description": "it"},
    ),
    (
        Field("Answer", "answer", "it", form=JSON),
        "Answer: ...",
        "- Answer: it",
        {"type": "object", "description": "it"},
    ),
    (
        Field("Why", "text", "why", when=ONLY),
        "Why: ...",
        "- Why: why; only if Verdict is NO or PERHAPS",
        {
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "description": "why; only if Verdict is NO or PERHAPS, else null",
        },
    ),
    (
        Field("Note", "text", "more", required=False),
        "Note: ...",
        "- Note: more",
        {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "more"},
    ),
    (
        Field("Steps", "list", "rated", ratings=("Sound", "New")),
        "Steps:\n- Step i: Sound=0.xx, New=0.xx",
        "- Steps: rated",
        {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "description": "rated; each item: Step i: Sound=0.xx, New=0.xx",
        },
    ),
    (
        Field("Hints", "list", "hints", most=3),
        "Hints:\n- ...",
        "- Hints: hints; 1 to 3 items",
        {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 3,
            "description": "hints; 1 to 3 items",
        },
    ),
]


@pytest.mark.parametrize(("field", "line", "note", "schema"), FIELDS)
def test_a_field_is_asked_for_in_a_line_a_note_and_a_schema(
    field: Field, line: str, note: str, schema: dict[str, Any]
) -> None:
    assert field.line() == line
    assert field.note() == note
    assert field.schema() == schema
    assert field.optional == ("anyOf" in schema)


@pytest.mark.parametrize(
    ("least", "most", "said"),
    [
        (1, None, "1 or more items"),
        (2, None, "2 or more items"),
        (0, None, "any number of items, or NONE"),
        (1, 1, "exactly 1 item"),
        (2, 2, "exactly 2 items"),
        (0, 1, "up to 1 item, or NONE"),
        (0, 2, "up to 2 items, or NONE"),
        (1, 2, "1 to 2 items"),
    ],
)
def test_how_many_items_a_list_has_is_said_in_words(
    least: int, most: int | None, said: str
) -> None:
    field = Field("Hints", "list", "hints", least=least, most=most)
    assert field.note() == f"- Hints: hints; {said}"
    schema = field.schema()
    assert schema["description"] == f"hints; {said}"
    assert (schema["minItems"], schema.get("maxItems")) == (least, most)


ANSWER = Field("Answer", "answer", "it")
WHY = Field("Why", "text", "why")


@pytest.mark.parametrize(
    ("reply", "block"),
    [
        (Reply((ANSWER,)), f"{BLOCK}\nAnswer: \\boxed{{...}}"),
        (Reply((ANSWER,), reasons=True), f"{LAST_LINE}\nAnswer: \\boxed{{...}}"),
        (
            Reply((WHY, ANSWER)),
            f"{ABOUT}\n- Why: why\n- Answer: it\n\n{BLOCK}\nWhy: ...\nAnswer: \\boxed{{...}}",
        ),
        (Reply((WHY,), reasons=True), f"{ABOUT}\n- Why: why\n\n{ENDING}\nWhy: ..."),
    ],
)
def test_a_prompt_ends_with_the_form_and_notes_stand_before_it(reply: Reply, block: str) -> None:
    assert reply.block() == block


def test_a_reply_to_a_typed_problem_asks_for_its_answer_in_that_form() -> None:
    typed = Reply((WHY, ANSWER), reasons=True).typed(JSON)
    assert [field.form for field in typed.fields] == [None, JSON]
    assert typed.reasons


def test_which_steps_are_rated_is_said_by_the_question() -> None:
    rated = Field("Steps", "list", "rated", ratings=("Sound",), counted="which")
    reply = Reply((rated, WHY))
    asked = reply.asked({"which": "1, 3 and 12"})
    assert [field.steps for field in asked.fields] == [(1, 3, 12), ()]
    assert reply.asked({}).fields[0].steps == ()
    plain = Reply((WHY,))
    assert plain.asked({"which": "1"}) is plain


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        ((ANSWER,), REASONING),
        ((WHY, ANSWER), REASONING),
        ((Field("My reasoning", "text", "r"), ANSWER), "My reasoning"),
        ((Field("Checks", "list", "r"), ANSWER), REASONING),
        ((ANSWER, Field("Thoughts", "text", "r")), REASONING),
        ((), REASONING),
    ],
)
def test_whoever_replies_by_a_schema_has_a_place_to_think_first(
    fields: tuple[Field, ...], first: str
) -> None:
    schema = Reply(fields).json_schema()
    labels = [field.label for field in fields]
    names = labels if first in labels else [REASONING, *labels]
    assert list(schema["properties"]) == names == schema["required"]
    assert names[0] == first
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    if first == REASONING:
        assert schema["properties"][REASONING] == {
            "type": "string",
            "description": "the whole reasoning, before anything else",
        }
    for field in fields:
        assert schema["properties"][field.label] == field.schema()
