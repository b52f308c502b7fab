"""Headers that come back on answers: byte for byte, never those that say what a record is, and only so many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.carried import (
    MOST,
    MOST_BYTES,
    TooMuch,
    as_bytes,
    as_text,
    carried,
    comes_back,
    of_text,
)
from schemas.events.codec import decode
from schemas.events.episode import ProblemAdmitted
from schemas.problem import Problem

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).map(lambda text: f"x{text}")
HEADERS = st.lists(st.tuples(NAMES, st.binary(max_size=100)), max_size=10)


@given(HEADERS)
def test_what_was_recorded_comes_back_byte_for_byte(headers: list[tuple[str, bytes]]) -> None:
    problem = Problem(id="a", problem="1", domain="d")
    event = ProblemAdmitted(problem=problem, scope="s", offset=0, headers=carried(headers))
    again = decode(event.kind, event.to_json())
    assert isinstance(again, ProblemAdmitted)
    assert as_bytes(again.headers) == headers


@pytest.mark.parametrize(
    "name",
    [
        "ce_id",
        "ce_type",
        "CE_Time",
        "ce_correlationid",
        "content-type",
        "contentType",
        "__TypeId__",
        "__x.topic",
        "scope",
    ],
)
def test_what_says_what_a_record_is_stays_behind(name: str) -> None:
    assert carried([(name, b"x")]) is None
    assert of_text({name: "x"}) == []


@pytest.mark.parametrize(
    "name",
    [
        "traceparent",
        "ce_traceparent",
        "correlation-id",
        "kafka_correlationId",
        "kafka_replyTopic",
        "tenant",
    ],
)
def test_what_is_the_application_s_comes_back(name: str) -> None:
    assert carried([(name, b"\x00\xff")]) == ((name, "\x00\xff"),)


def test_a_name_without_a_value_says_nothing_and_names_may_stand_twice() -> None:
    found = carried([("a", None), ("b", b"1"), ("b", b"2")])
    assert as_bytes(found) == [("b", b"1"), ("b", b"2")]
    assert as_text(found) == {"b": "2"}
    assert as_text(carried([("a", "é".encode()), ("b", b"\xff")])) == {"a": "é", "b": "\\xff"}


def test_only_so_much_comes_back() -> None:
    assert carried([("a", b"x" * (MOST_BYTES - 1))]) is not None
    with pytest.raises(TooMuch, match="at most 64 of 8,192 bytes"):
        carried([("a", b"x" * MOST_BYTES)])
    with pytest.raises(TooMuch):
        carried([("a", b"")] * (MOST + 1))


def test_exactly_so_many_headers_and_so_much_of_them_come_back() -> None:
    assert len(carried([("a", b"")] * 64) or ()) == 64
    fits = [("é", b"x" * 4_094), ("b", b"y" * 4_095)]
    assert as_bytes(carried(fits)) == fits, "a name counts as it will be sent"
    with pytest.raises(TooMuch, match="2 of 8,193 bytes are to come back"):
        carried([*fits[:1], ("b", b"y" * 4_096)])
    with pytest.raises(TooMuch, match="65 of 65 bytes"):
        carried([("a", b"")] * 65)
    assert carried([]) is None
    assert (as_bytes(None), as_text(None)) == ([], {})


def test_names_are_told_apart_in_any_case_and_texts_are_written_in_utf8() -> None:
    given_ = {
        "Trace": "é",
        "CE_TraceParent": "t",
        "ce_id": "x",
        "Scope": "s",
        "": "e",
        "n": 3,
        "__k": "k",
    }
    assert of_text(given_) == [("Trace", "é".encode()), ("CE_TraceParent", b"t")]
    assert of_text({"\ud800": "\ud800"}) == [("\ud800", "\ud800".encode("utf-8", "surrogatepass"))]
    assert [comes_back(name) for name in ("scopes", "CONTENT-length", "ce_tracestate", "my__x")] == [
        True, False, True, True,
    ]  # fmt: skip
