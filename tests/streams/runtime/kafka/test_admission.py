"""What a record on `problems` asks for, by whomever it was sent."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.answer_type import AnswerType
from schemas.problem import Problem
from streams.engine.policies import find
from streams.runtime.embedded.intake import episode_of
from streams.runtime.kafka.admission import Refused, asked
from streams.runtime.kafka.append import message_headers
from streams.runtime.kafka.place import BadPlace, KafkaAddress, partition_of


def record(**fields: Any) -> bytes:
    return json.dumps({"id": "k1", "problem": "1 2 3 4", **fields}).encode()


def test_a_foreign_line_becomes_a_problem_with_its_label_apart() -> None:
    found = asked([], record(answer="24", domain="math", policy="mc2"), find, "cot")
    assert found.problem.labelled
    assert "24" not in found.problem.model_dump_json().replace("1 2 3 4", "")
    assert found.label is not None
    assert (found.label.reference, found.label.domain) == ("24", "math")
    assert found.scope.startswith("math/mc2/")


@pytest.mark.parametrize(
    ("said", "memory"),
    [
        ({}, "main"),
        ({"memory": "trial"}, "trial"),
        ({"tenant": "ann"}, "ann"),
        ({"tenant": "ann", "memory": "shared"}, "shared"),
    ],
)
def test_a_foreign_line_may_name_the_memory_that_it_reads_and_teaches(
    said: dict[str, str], memory: str
) -> None:
    found = asked([], record(domain="math", policy="mc2", **said), find, "cot")
    assert found.scope.split("/")[:3] == ["math", "mc2", memory]
    with pytest.raises(Refused, match="memory"):
        asked([], record(memory="a/b"), find, "cot")


def test_our_own_envelope_is_read_as_it_was_made() -> None:
    problem = Problem(id="7", problem="x", domain="d", policy="cot", series="s", position=3)
    body = problem.model_dump_json(exclude_defaults=True).encode()
    headers = message_headers("problem", "p/d/7/r")
    found = asked(headers, body, find, "cot")
    assert found.problem == problem
    assert found.label is None
    assert found.episode == episode_of(problem, "cot")


def test_options_that_a_problem_lists_are_read_off_it_whoever_put_it() -> None:
    """An envelope of another program of ours may leave them to the text too."""
    text = "Which?\nA) red\nB) green"
    ours = Problem(
        id="k1", problem=text, domain="d", policy="cot", answer_type=AnswerType(type="choice")
    )
    body = ours.model_dump_json(exclude_defaults=True).encode()
    first = asked(message_headers("problem", "x"), body, find, "cot")
    second = asked([], record(problem=text, policy="cot", answer_type="choice"), find, "cot")
    for found in (first, second):
        assert found.problem.answer_type is not None
        assert found.problem.answer_type.options == ("red", "green")


def test_a_foreign_line_and_ours_give_the_same_episode() -> None:
    ours = Problem(id="k1", problem="1 2 3 4", domain="math", policy="mc2")
    body = ours.model_dump_json(exclude_defaults=True).encode()
    first = asked(message_headers("problem", "x"), body, find, "cot")
    second = asked([], record(domain="math", policy="mc2"), find, "cot")
    assert first.episode == second.episode


def test_a_structured_event_may_carry_a_plain_line() -> None:
    whole = {"specversion": "1.0", "id": "1", "type": "x", "source": "y"}
    value = json.dumps(whole | {"data": json.loads(record(answer=3))}).encode()
    found = asked([("content-type", b"application/cloudevents+json")], value, find, "cot")
    assert found.label is not None
    assert found.problem.id == "k1"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"{broken 1", "input.json"),
        (b"\xff\xfe", "input.encoding"),
        (b"[]", "input.type"),
        (b"", "input.json"),
        (record(colour="red"), "input.field"),
        (record(policy="nobody"), "input.policy"),
        (record(policy="mc2", settings={"nothing": 1}), "input.value"),
        (record(policy="self_consistency", settings={"samples": "9" * 25}), "input.value"),
        (b'{"id": "x"}', "input.field"),
        (record(answer_type="numbr"), "input.field"),
        (record(answer_type="choice"), "input.answer_type"),
        (record(answer_type={"type": "number", "unit": "frobs"}), "input.answer_type"),
        (record(answer_type="yes_no", answer="perhaps"), "input.answer_type"),
    ],
)
def test_what_cannot_be_admitted_is_refused_by_a_stable_code(value: bytes, code: str) -> None:
    with pytest.raises(Refused) as refused:
        asked([], value, find, "cot")
    assert refused.value.code == code
    assert str(refused.value)


SAID = st.sampled_from(
    ["ce_type", "ce_id", "ce_scope", "ce_source", "ce_specversion", "content-type", "traceparent"]
)
NUMBERED = st.dictionaries(
    st.sampled_from(["walk", "position", "seed", "priority", "settings", "limits", "series"]),
    st.integers() | st.sampled_from([1 << 53, 1 << 63, 1 << 64]) | st.floats() | st.text(),
    max_size=3,
)


@given(
    st.lists(st.tuples(SAID, st.none() | st.binary(max_size=20)), max_size=4),
    st.binary(max_size=200) | NUMBERED.map(lambda more: record(**more)),
)
def test_any_headers_and_bytes_are_admitted_or_refused(
    headers: list[tuple[str, bytes | None]], value: bytes
) -> None:
    with suppress(Refused):
        found = asked(headers, value, find, "cot")
        assert found.problem.id
        assert found.episode


def test_a_header_that_says_nothing_is_none() -> None:
    assert (
        asked([("ce_scope", None)], record(), find, "cot").scope
        == asked([], record(), find, "cot").scope
    )


@pytest.mark.parametrize(
    ("url", "servers", "prefix"),
    [
        ("kafka://127.0.0.1:9092", "127.0.0.1:9092", ""),
        ("kafka://a:1,b:2/team.x", "a:1,b:2", "team.x"),
        ("kafka://[::1]:9092/p", "[::1]:9092", "p"),
    ],
)
def test_a_url_names_brokers_and_a_prefix(url: str, servers: str, prefix: str) -> None:
    place = KafkaAddress.of(url)
    assert (place.servers, place.prefix, place.url) == (servers, prefix, url)
    assert place.topic("problems").endswith("metalogue.problems.v1")
    assert place.dead("problems").startswith(f"{prefix}.dlq." if prefix else "dlq.")


@pytest.mark.parametrize("url", ["kafka://", "kafka://host", "kafka://h:1/a b", "kafka://h:x"])
def test_a_url_that_names_nothing_is_refused(url: str) -> None:
    with pytest.raises(BadPlace):
        KafkaAddress.of(url)


def test_keys_lie_where_every_kafka_client_puts_them() -> None:
    """Murmur2 as in Kafka's own tests: the hash of `21` is -973932308."""
    assert partition_of(b"21", 2**31 - 1) == (-973932308 & 0x7FFFFFFF) % (2**31 - 1)


def test_headers_of_an_application_are_kept_and_too_many_are_refused() -> None:
    ours = message_headers("problem", "p/d/7/r")
    found = asked([*ours, ("correlation-id", b"\x00\xff")], record(), find, "cot")
    assert found.headers == (("correlation-id", "\x00\xff"),)
    assert asked(ours, record(), find, "cot").headers is None
    with pytest.raises(Refused, match="headers: 65") as caught:
        asked([("a", b"")] * 65, record(), find, "cot")
    assert caught.value.code == "input.headers"
