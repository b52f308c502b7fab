"""Dead letters of what their topic cannot take whole: they say so, and are never sent on as if they were."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from streams.runtime.kafka.place import KafkaAddress
from tests.memory_kafka.broker import Broker
from tests.memory_kafka.fixture import in_memory
from tests.streams.cli.calling import call

TAKES = 70_000
GOOD = b'{"id":"g","problem":"4 5 6 10","domain":"game24","policy":"cot"}'
LARGE = b"\xff\x01" * 34_900
"""The broker takes it, and not with what a dead letter says of it."""
SPOOFED = [("__metalogue.cut.bytes", b"1"), ("__metalogue.plan", b"{}"), ("from", b"client")]


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[tuple[KafkaAddress, Broker]]:
    monkeypatch.setenv("METALOGUE_HOME", str(folder / "home"))
    with in_memory(partitions=1) as (place, broker):
        broker.takes = TAKES
        yield place, broker


def send(here: tuple[KafkaAddress, Broker], *values: bytes) -> None:
    place, broker = here
    for value in values:
        broker.append(place.topic("problems"), 0, [(b"k", value, SPOOFED, 1)])


def work(place: KafkaAddress) -> int:
    words = ("--backbone", "rehearsal", "--until-idle", "-q", "--log", place.url)
    return call("worker", *words).code


@pytest.mark.parametrize("tells", [True, False])
def test_a_problem_too_large_for_a_letter_ends_no_worker(
    here: tuple[KafkaAddress, Broker], tells: bool
) -> None:
    place, broker = here
    broker.tells = tells
    send(here, LARGE, b"x" * 50_000, GOOD)
    assert work(place) == 0
    stats = call("log", "stats", "--json", "--log", place.url).json
    assert (stats["answers"], stats["dead_letters"]) == (1, 2)
    assert work(place) == 0
    again = call("log", "stats", "--json", "--log", place.url).json
    assert again == stats | {"events": again["events"]}, "claims are events"
    cut, whole = call("dlq", "list", "--json", "--log", place.url).rows
    assert (cut["bytes"], whole["bytes"], whole["kept"]) == (len(LARGE), 50_000, 50_000)
    assert 0 < cut["kept"] < len(LARGE)


def test_a_cut_letter_says_what_is_missing(here: tuple[KafkaAddress, Broker]) -> None:
    place, _ = here
    send(here, GOOD, LARGE)
    assert work(place) == 0
    shown = call("dlq", "show", "1", "--log", place.url).out
    kept = call("dlq", "list", "--json", "--log", place.url).rows[0]["kept"]
    assert (
        f"cut: the first {kept:,} of 69,800 bytes; the whole (sha256 {sha256(LARGE).hexdigest()}) "
        "lies on topic problems, partition 0, offset 1\n"
    ) in shown
    assert f"(cut: {kept:,} of 69,800 bytes)" in call("dlq", "list", "--log", place.url).out
    told = call("dlq", "show", "1", "--json", "--log", place.url).json
    assert "lies on topic problems" in told["missing"]
    assert told["headers"]["from"] == "client"
    assert call("dlq", "show", "1", "--raw", "--log", place.url).raw == LARGE


def test_it_is_sent_on_whole_or_not_at_all(here: tuple[KafkaAddress, Broker]) -> None:
    place, broker = here
    long = {"id": "l", "problem": "4 5 6 10", "domain": "game24", "policy": "none", "seed": 3}
    value = json.dumps(long).encode().ljust(len(LARGE))
    send(here, value)
    assert work(place) == 0
    called = call("dlq", "replay", "1", "--log", place.url)
    assert called.out == "replayed 1 known 0 refused 0\n"
    assert work(place) == 0
    listed = call("dlq", "list", "--json", "--log", place.url).rows
    assert [each["replayed"] for each in listed] == [True, False]
    assert listed[1]["reason"].startswith("policy: "), "it was read whole, and says what it said"
    topic = place.topic("problems")
    lost = replace(broker.logs[topic, 0][0], value=value.replace(b'"seed": 3', b'"seed": 4'))
    broker.logs[topic, 0][0] = lost
    refused = call("dlq", "replay", "1", "--log", place.url)
    assert refused.code == 1
    assert "only its first bytes are here, and what lies on topic problems" in refused.err
    assert "[dlq.cut]" in refused.err
    assert call("dlq", "show", "1", "--raw", "--log", place.url).code == 1
    mended = call("dlq", "replay", "1", "--file", "-", "--log", place.url, given=GOOD)
    assert mended.out == "replayed 1 known 0 refused 0\n"
    assert work(place) == 0
    assert call("log", "stats", "--json", "--log", place.url).json["answers"] == 1


def test_a_line_that_the_log_does_not_take_is_cut_and_read_again_from_its_file(
    here: tuple[KafkaAddress, Broker], folder: Path
) -> None:
    place, _ = here
    long = json.dumps({"id": "l", "problem": "1" * 100_000, "domain": "game24"})
    (folder / "in.jsonl").write_text(f"{GOOD.decode()}\n{long}\n")
    called = call("produce", "in.jsonl", "--policy", "cot", "--log", place.url)
    assert called.code == 1
    assert "dead letter 1, the first of its bytes: the log takes no more." in called.err
    assert "problem: comes to 100," in called.err
    assert "this log takes 37,232 [input.size]" in called.err
    shown = call("dlq", "show", "1", "--log", place.url).out
    assert "came from in.jsonl:2" in shown
    assert call("dlq", "show", "1", "--raw", "--log", place.url).raw == long.encode()
    (folder / "in.jsonl").unlink()
    gone = call("dlq", "replay", "1", "--log", place.url)
    assert "the whole is not to be had any more: it came from in.jsonl:2" in gone.err


def test_a_label_that_the_log_does_not_take_is_refused(
    here: tuple[KafkaAddress, Broker], folder: Path
) -> None:
    place, _ = here
    line = {"domain": "game24", "problem_id": "g", "reference": "1" * 50_000}
    (folder / "said.jsonl").write_text(json.dumps(line) + "\n")
    called = call("feedback", "said.jsonl", "--log", place.url)
    assert called.code == 1
    assert "answer: comes to 50," in called.err
    stats = call("log", "stats", "--json", "--log", place.url).json
    assert stats["dead_letters"] == 1


def test_feedback_that_was_there_before_its_worker_gets_one_dead_letter(
    here: tuple[KafkaAddress, Broker],
) -> None:
    place, broker = here
    for value in (b"\xff", b'{"verdict": true}', b"x" * 69_800):
        broker.append(place.topic("feedback"), 0, [(b"k", value, SPOOFED, 1)])
    for _ in range(2):
        assert work(place) == 0
        letters = broker.logs[place.dead("feedback"), 0]
        assert [entry.key for entry in letters] == [b"feedback/0/%d" % n for n in range(3)]
    rows = call("dlq", "list", "--json", "--log", place.url).rows
    assert [(each["topic"], each["bytes"]) for each in rows] == [
        ("feedback", 1),
        ("feedback", 17),
        ("feedback", 69_800),
    ]
