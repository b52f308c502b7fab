"""Headers that come back on answers: byte for byte, never those that say what a record is, and only so many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.carried import MOST, MOST_BYTES, TooMuch, as_bytes, as_text, carried, of_text
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
