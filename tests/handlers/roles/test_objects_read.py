"""JSON as models write it: what is mended in it, which objects of a text count, and how they are told to people."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.roles.objects import as_text, loads, objects_in, told


@pytest.mark.parametrize(
    ("said", "value"),
    [
        (r'{"a": "\boxed{7}"}', {"a": "\\boxed{7}"}),
        (r'{"a": "\frac12, \nabla and \text{y}"}', {"a": "\\frac12, \\nabla and \\text{y}"}),
        (r'{"a": "one \n two\tb \r"}', {"a": "one \n two\tb \r"}),
        (r'{"a": "\top \to \ta \rb \rho"}', {"a": "\\top \\to \ta \rb \\rho"}),
        (r'{"a": "\\ \" \/ \u0041"}', {"a": '\\ " / A'}),
        (r'{"a": "\u00 \u12g4"}', {"a": "\\u00 \\u12g4"}),
        ('{"a": "x\ny\tz\r"}', {"a": "x\ny\tz"}),
        ('{"a": 1, /* one */ "b": [2, 3,], // two\n}', {"a": 1, "b": [2, 3]}),
        ('{"a": "// no note, }"}', {"a": "// no note, }"}),
        ("{'a': 'b', 'c': [True, None], }", {"a": "b", "c": [True, None]}),
        (
            """{'a': "it's", 'b': 'say "so"', 'c': 'it\\'s'}""",
            {"a": "it's", "b": 'say "so"', "c": "it's"},
        ),
        (r"{'a': '\boxed{7}'}", {"a": "\\boxed{7}"}),
        ("{'a': {1, 2}}", None),
        ("[1]", None),
        ('{"a": 1 "b"}', None),
    ],
)
def test_what_models_forget_or_add_is_mended(said: str, value: Any) -> None:
    assert loads(said) == value


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ('{"a": 1} and {"b": 2}', [{"b": 2}, {"a": 1}]),
        ('{"a":1}{"a":2}{"a":3}{"a":4}{"a":5}', [{"a": 5}, {"a": 4}, {"a": 3}, {"a": 2}]),
        ("so {'a': 'x'}.", [{"a": "x"}]),
        ("{'a': 1} {\"b\": 2}", [{"b": 2}]),
        ('one " more {"a": "y"}', [{"a": "y"}]),
        ('{ "a": 1 } {bad} {"c": }', [{"a": 1}]),
        ('{// first\n"a": 1}', [{"a": 1}]),
        ('{"a": "}"} }', [{"a": "}"}]),
        ('{"a": {"b": "1', []),
        ("none", []),
    ],
)
def test_the_last_complete_objects_of_a_text_the_last_first(text: str, objects: Any) -> None:
    assert objects_in(text) == objects


def test_no_object_is_longer_than_twenty_thousand_signs() -> None:
    def of(size: int) -> str:
        return '{"a": "' + "x" * (size - len('{"a": ""}')) + '"}'

    assert [len(objects_in(of(size))) for size in (20_000, 20_001)] == [1, 0]


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ('{"a": 1}', "a: 1"),
        (' ```json\n{"a": "x"}\n``` ', "a: x"),
        ('``` {"a": 1} ```', "a: 1"),
        ('{"a": 1, "reasoning": " I think. ", "b": null}', "I think.\n\na: 1"),
        ('{"reasoning": "", "a": true}', "a: True"),
        ('{"a": [1, {"b": 2, "c": 3}]}', "a: \n- 1\n- b=2, c=3"),
        ('{"a": {"b": {"c": {"d": {"e": 1}}}}}', "a: b=c=d=e=..."),
        ('so {"a": 1}', 'so {"a": 1}'),
        ('{"a": 1', '{"a": 1'),
        ("{}", "{}"),
    ],
)
def test_a_reply_that_is_one_object_is_told_in_lines(reply: str, text: str) -> None:
    assert as_text(reply) == text


def test_objects_in_prose_are_told_where_they_stand() -> None:
    said = 'So {"a": 1, "b": ["x", "y"]} it is {"c": "z"}, done'
    assert told(said) == "So a: 1\nb: \n- x\n- y it is c: z, done"
    assert told("no object") == "no object"
    assert told('It is {"a": {"b": 1}, "c": 2}.') == "It is a: b=1\nc: 2."
