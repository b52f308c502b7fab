"""What a problem may say of its answer, and schemas that no reply can be held against for long."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from schemas.answer_type import SCHEMA_DEPTH, SCHEMA_NODES, AnswerType, AnswerTypeSaid, filled_in

SAID: TypeAdapter[AnswerType] = TypeAdapter(AnswerTypeSaid)


def test_a_word_stands_for_its_type() -> None:
    assert SAID.validate_python("number") == AnswerType(type="number")
    assert SAID.validate_json('"yes_no"') == SAID.validate_python({"type": "yes_no"})


def test_what_was_said_is_read_back_and_hashes_alike() -> None:
    for said in (
        {"type": "number", "unit": "km/h"},
        {"type": "choice", "options": ["red", "green"]},
        {"type": "json", "schema": {"type": "array", "items": {"type": "integer"}}},
    ):
        once = SAID.validate_python(said)
        again = SAID.validate_python(once.said)
        assert again == once
        assert hash(again) == hash(once)
        assert again.said == said
        assert SAID.validate_json(once.text) == once


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("numbr", "Input should be 'number'"),
        ({"type": "text", "unit": "h"}, "unit: is of the type number alone"),
        ({"type": "number", "options": ["a", "b"]}, "options: is of the type choice alone"),
        ({"type": "code", "schema": {}}, "schema: is of the type json alone"),
        ({"type": "json"}, "schema: missing"),
        ({"type": "choice", "options": ["one"]}, "at least 2 items"),
        ({"type": "choice", "options": ["Red", "red "]}, "told apart by more than case and blanks"),
        ({"type": "choice", "options": ["x", "A"]}, "options: B is the letter of another option"),
        ({"type": "number", "units": "h"}, "Extra inputs"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(said: Any, what: str) -> None:
    with pytest.raises(ValidationError, match=what):
        SAID.validate_python(said)


def test_references_are_filled_in() -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}}}
    schema = {"type": "array", "items": {"$ref": "#/$defs/Point"}, "$defs": {"Point": point}}
    assert filled_in(schema) == {"type": "array", "items": point}
    beside = {"$ref": "#/definitions/N", "title": "n", "definitions": {"N": {"type": "number"}}}
    assert filled_in(beside) == {"type": "number", "title": "n"}


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = {"type": "object", "properties": {"pattern": {"type": "string"}, "$id": {"const": 1}}}
    assert filled_in(schema) == schema
    assert filled_in({"enum": [{"$ref": "x", "pattern": 1}]}) == {
        "enum": [{"$ref": "x", "pattern": 1}]
    }


def doubling(levels: int) -> dict[str, Any]:
    """A schema that is twice as large on every level once it is filled in."""
    defs = {f"L{n}": {"anyOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/L0", "$defs": {**defs, f"L{levels}": {"type": "number"}}}


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        (
            {"type": "string", "pattern": "(a+)+$"},
            "pattern is not taken: a pattern may take for ever",
        ),
        ({"items": {"patternProperties": {".*": {}}}}, "patternProperties is not taken"),
        ({"$ref": "https://example.org/s.json"}, "names none of its"),
        ({"$ref": "#/$defs/None", "$defs": {}}, "names none of its"),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}},
            "A holds itself",
        ),
        (doubling(20), f"more than {SCHEMA_NODES:,} nodes or nests too deep"),
        ({"enum": [], "allOf": [{"type": "number"}] * 2_100}, "more than 2,000 nodes"),
    ],
)
def test_a_schema_that_could_take_long_is_refused(schema: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        filled_in(schema)


def test_a_schema_that_fits_is_taken() -> None:
    assert filled_in(doubling(5))["anyOf"][0]["anyOf"]


@pytest.mark.parametrize(
    ("said", "fits"),
    [
        ({"type": "number", "unit": "x" * 60}, True),
        ({"type": "number", "unit": "x" * 61}, False),
        ({"type": "number", "unit": ""}, False),
        ({"type": "choice", "options": ["x" * 400, "y"]}, True),
        ({"type": "choice", "options": ["x" * 401, "y"]}, False),
        ({"type": "choice", "options": ["", "y"]}, False),
        ({"type": "choice", "options": [" ", "y"]}, False),
        ({"type": "choice", "options": [f"o{at}" for at in range(26)]}, True),
        ({"type": "choice", "options": [f"o{at}" for at in range(27)]}, False),
        ({"type": "choice", "options": ["A", "b"]}, True),
        ({"type": "choice", "options": ["b", "x"]}, False),
        ({"type": "choice", "options": ["c", "x"]}, True),
        ({"type": "choice"}, True),
        ({"type": "json", "schema": {"const": float("nan")}}, False),
        ({"type": "json", "schema": {"const": 1 << 70}}, False),
        ({"type": "json", "schema": {}}, True),
    ],
)
def test_bounds_of_what_may_be_said(said: dict[str, Any], fits: bool) -> None:
    if fits:
        assert SAID.validate_python(said).type == said["type"]
    else:
        with pytest.raises(ValidationError):
            SAID.validate_python(said)


def test_a_schema_is_said_by_its_own_name_and_kept_whole() -> None:
    said = SAID.validate_python({"type": "json", "schema": {"$defs": {"N": {"type": "number"}},
                                                            "$ref": "#/$defs/N"}})  # fmt: skip
    assert said.shape == {"type": "number"}
    assert said.said == {"type": "json", "schema": {"type": "number"}}
    assert said.text == '{"schema":{"type":"number"},"type":"json"}'
    assert AnswerType.model_validate({"type": "json", "shape": {"type": "number"}}) == said


def test_keywords_beside_a_reference_hold_as_well() -> None:
    defs = {"N": {"type": "number", "title": "n"}, "T": True}
    for beside, found in (
        ({"minimum": 1}, {"type": "number", "title": "n", "minimum": 1}),
        ({"title": "m"}, {"allOf": [{"type": "number", "title": "n"}, {"title": "m"}]}),
        ({}, {"type": "number", "title": "n"}),
    ):
        assert filled_in({"items": {"$ref": "#/$defs/N", **beside}, "$defs": defs}) == {
            "items": found
        }
    both = filled_in({"items": {"$ref": "#/$defs/T", "minimum": 1}, "$defs": defs})
    assert both == {"items": {"allOf": [True, {"minimum": 1}]}}
    with pytest.raises(ValueError, match="N holds itself"):
        filled_in({"$ref": "#/$defs/N", "$defs": {"N": {"not": {"$ref": "#/$defs/N"}}}})
    for nowhere in ("#/other/N", "$defs/N", "N"):
        with pytest.raises(ValueError, match="names none of its"):
            filled_in({"items": {"$ref": nowhere}, "$defs": defs})


def nested(depth: int, inner: Any) -> dict[str, Any]:
    for _ in range(depth):
        inner = {"not": inner}
    return {"not": inner}


EMPTY: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        (nested(SCHEMA_DEPTH - 1, {}), True),
        (nested(SCHEMA_DEPTH, {}), False),
        (nested(SCHEMA_DEPTH - 2, {"const": [1]}), True),
        (nested(SCHEMA_DEPTH - 2, {"const": [[1]]}), False),
        (nested(SCHEMA_DEPTH - 2, {"const": {"a": 1}}), True),
        (nested(SCHEMA_DEPTH - 2, {"const": {"a": {"b": 1}}}), False),
        ({"allOf": [EMPTY] * (SCHEMA_NODES - 2)}, True),
        ({"allOf": [EMPTY] * (SCHEMA_NODES - 1)}, False),
        ({"enum": [1] * (SCHEMA_NODES - 2)}, True),
        ({"enum": [1] * (SCHEMA_NODES - 1)}, False),
        ({"properties": {str(at): True for at in range(SCHEMA_NODES - 1)}}, True),
        ({"properties": {str(at): True for at in range(SCHEMA_NODES)}}, False),
    ],
)
def test_a_schema_has_so_many_nodes_and_nests_so_deep(schema: dict[str, Any], fits: bool) -> None:
    if fits:
        assert filled_in(schema) == schema
    else:
        with pytest.raises(ValueError, match="more than 2,000 nodes or nests too deep"):
            filled_in(schema)


@pytest.mark.parametrize(("depth", "fits"), [(SCHEMA_DEPTH - 2, True), (SCHEMA_DEPTH - 1, False)])
def test_what_a_reference_names_and_what_stands_beside_it_nest_as_deep(
    depth: int, fits: bool
) -> None:
    deep = nested(depth, {})
    named = {"$ref": "#/$defs/A", "$defs": {"A": deep}}
    beside = {"$ref": "#/$defs/A", **deep, "$defs": {"A": {"title": "a"}}}
    for schema, found in ((named, deep), (beside, {"title": "a", **deep})):
        if fits:
            assert filled_in(schema) == found
        else:
            with pytest.raises(ValueError, match="nests too deep"):
                filled_in(schema)


def test_options_come_as_a_list_also_where_types_are_taken_by_their_word() -> None:
    said = {"type": "choice", "options": ["red", "green"]}
    assert AnswerType.model_validate(said, strict=True).options == ("red", "green")
    with pytest.raises(ValidationError, match="options"):
        AnswerType.model_validate({"type": "choice", "options": "xy"}, strict=True)
