"""What people write says each thing once, and one name has one spelling: at every way in, on both runtimes."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.problem import Feedback, Problem
from schemas.written import Twice, feedback_of, is_composed, loads, problem_of
from streams.engine.policies import find
from streams.producing.sources import BadLine, parse, parse_as
from streams.runtime.kafka.admission import Refused, asked
from streams.runtime.kafka.envelope import data_of

SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.text(min_size=1, max_size=4)
STRUCTURED = [("content-type", b"application/cloudevents+json")]


def written(value: Any) -> str:
    return json.dumps(value)


def escaped(name: str) -> str:
    """The same name in another spelling of JSON."""
    return '"' + "".join(f"\\u{unit:04x}" for unit in _units(name)) + '"'


def _units(name: str) -> list[int]:
    raw = name.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(raw[at : at + 2], "big") for at in range(0, len(raw), 2)]


@given(VALUES)
def test_what_says_each_thing_once_is_read_as_ever(value: Any) -> None:
    assert loads(written(value)) == value
    assert loads(written(value).encode()) == value


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4), VALUES, VALUES, st.data())
def test_what_says_a_thing_twice_is_refused_by_its_name(
    value: dict[str, Any], again: Any, around: Any, data: st.DataObject
) -> None:
    """Wherever it stands, in whatever spelling, with the same value or another."""
    name = data.draw(st.sampled_from(sorted(value)))
    spelled = data.draw(st.sampled_from([json.dumps(name), escaped(name)]))
    twice = f"{written(value)[:-1]}, {spelled}: {written(again)}}}"
    inside = data.draw(
        st.sampled_from([twice, f"[{written(around)}, {twice}]", f'{{"a": [{twice}]}}'])
    )
    with pytest.raises(Twice) as caught:
        loads(inside)
    assert caught.value.name == name


PROBLEM = '{"id": "q1", "problem": "1 + 1", "domain": "d", "settings": {"samples": 3}'
TWICE = {
    "id": f'{PROBLEM}, "id": "q2"}}',
    "problem": f'{PROBLEM}, "problem": "2 + 2"}}',
    "settings": f'{PROBLEM}, "settings": {{}}}}',
    "samples": PROBLEM[:-1] + ', "samples": 4}}',
    "domain": f'{PROBLEM}, "dom\\u0061in": "e"}}',
}


@pytest.mark.parametrize("field", TWICE)
def test_every_way_in_refuses_it(field: str) -> None:
    raw = TWICE[field].encode()
    with pytest.raises(BadLine, match=f"^{field}: stands twice") as line:
        parse(raw)
    assert line.value.column > 1 or field == "domain"
    with pytest.raises(ValidationError) as message:
        problem_of(raw)
    assert message.value.errors()[0]["loc"] == (field,)
    event = b'{"specversion": "1.0", "id": "1", "type": "x", "source": "y", "data": %b}' % raw
    for headers, value in (([], raw), ([("ce_type", b"x")], raw), (STRUCTURED, event)):
        with pytest.raises(Refused, match=f"^{field}: stands twice") as record:
            asked(headers, value, find, "cot")
        assert record.value.code == "input.field"


FEEDBACK = {"domain": "d", "problem_id": "q1", "verdict": True}


def test_a_judgement_that_says_two_things_says_nothing() -> None:
    raw = written(FEEDBACK)[:-1].encode() + b', "verdict": false}'
    with pytest.raises(BadLine, match=r"^verdict: stands twice"):
        parse_as(Feedback, raw)
    with pytest.raises(ValidationError, match="stands twice"):
        feedback_of(raw)
    with pytest.raises(Twice, match=r"^verdict: stands twice"):
        data_of(STRUCTURED, b'{"data": %b}' % raw)


# -- one name, one spelling

LOOKALIKES = st.text(
    st.sampled_from("aeoué\u0301\u0308\u0323\u1e0d\u212b\u00c5 1가ᄀ\u1161ﬁ"),
    min_size=1,
    max_size=6,
)


def taken(id: str) -> set[str]:
    """The ids under which the ways in take a problem of this name."""
    line: Mapping[str, Any] = {"id": id, "problem": "1 + 1"}
    raw = json.dumps(line, ensure_ascii=False).encode()
    ours = Problem.model_construct(id=id, problem="1 + 1", domain="d").model_dump_json().encode()
    ways: list[Callable[[], str]] = [
        lambda: parse(raw).id,
        lambda: problem_of(ours).id,
        lambda: asked([], raw, find, "cot").problem.id,
        lambda: asked([("ce_type", b"x")], ours, find, "cot").problem.id,
    ]
    found = set[str]()
    for way in ways:
        try:
            found.add(way())
        except (BadLine, ValidationError, Refused):
            found.add("")
    return found


@given(LOOKALIKES, st.sampled_from(["NFC", "NFD"]))
def test_what_looks_the_same_is_never_two_problems(id: str, form: Any) -> None:
    assume(id == id.strip())
    other = unicodedata.normalize(form, id)
    for name in (id, other):
        assert taken(name) == ({name} if is_composed(name) else {""})
    assert id == other or not (is_composed(id) and is_composed(other))


def test_a_decomposed_name_is_refused_with_what_to_do() -> None:
    id = "re\u0301sume\u0301"
    with pytest.raises(BadLine, match=r"^id: has accents .* composed \(Unicode NFC\)$"):
        parse(json.dumps({"id": id, "problem": "x"}).encode())
    said = {**FEEDBACK, "problem_id": id}
    with pytest.raises(BadLine, match=r"^problem_id: has accents"):
        parse_as(Feedback, json.dumps(said).encode())
    with pytest.raises(ValidationError, match="composed"):
        feedback_of(json.dumps(said).encode())
