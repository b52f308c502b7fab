"""Records on Kafka are CloudEvents: binary mode is written, both modes are read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.kafka.envelope import NotOurs, data_of, headers_of, read

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="@"), min_size=1, max_size=30)
REQUIRED = """ce_id ce_source ce_type ce_subject ce_time ce_dataschema ce_sequence ce_correlationid
ce_causationid ce_partitionkey ce_specversion content-type"""


@given(NAMES, NAMES, st.one_of(st.none(), st.integers(min_value=0, max_value=2**60)))
def test_what_is_written_is_read(episode: str, address: str, epoch: int | None) -> None:
    claim = None if epoch is None else str(epoch).encode()
    headers = headers_of("completed", episode, address, 1_700_000_000_123, claim)
    said = read(headers, b"{}")
    assert (said.episode, said.address, said.kind, said.epoch) == (
        episode,
        address,
        "completed",
        epoch,
    )


def test_every_attribute_of_the_conventions_is_there() -> None:
    found = dict(headers_of("episode.closed", "p/d/1/r", "closed", 1_700_000_000_123, b"7"))
    assert found.keys() >= set(REQUIRED.split())
    assert found["content-type"] == b"application/json"
    assert found["ce_type"] == b"io.metalogue.episode.closed.v1"
    assert found["ce_time"] == b"2023-11-14T22:13:20.123Z"
    assert len(found["ce_sequence"]) == 20
    assert found["ce_causationid"] == b"p/d/1/r@admitted"


def test_structured_mode_is_read() -> None:
    whole = {
        "specversion": "1.0",
        "id": "p/d/1/r@3",
        "source": "elsewhere",
        "type": "io.metalogue.completed.v1",
        "epoch": 4,
        "data": {"text": "x"},
    }
    headers = [("content-type", b"application/cloudevents+json; charset=utf-8")]
    said = read(headers, json.dumps(whole).encode())
    assert (said.episode, said.address, said.kind, said.epoch) == ("p/d/1/r", "3", "completed", 4)
    assert json.loads(said.body) == {"text": "x"}
    assert data_of(headers, json.dumps(whole).encode()) == (b'{"text":"x"}', True)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("ce_id", b"a@b")],
        [("ce_id", b"a@b"), ("ce_type", b"com.example.thing.v1")],
        [("ce_id", b"a@b"), ("ce_type", b"io.metalogue.completed.v1"), ("ce_epoch", b"x")],
        [("content-type", b"application/cloudevents+json")],
    ],
)
def test_what_is_no_envelope_is_said_to_be_none(headers: list[tuple[str, bytes]]) -> None:
    with pytest.raises(NotOurs):
        read(headers, b"[1")


@pytest.mark.parametrize("name", ["ce_id", "ce_type", "content-type"])
def test_a_name_without_a_value_says_nothing(name: str) -> None:
    headers = [(name, None), ("other", b"x")]
    assert data_of(headers, b"{}") == (b"{}", False)
    with pytest.raises(NotOurs):
        read(headers, b"{}")
