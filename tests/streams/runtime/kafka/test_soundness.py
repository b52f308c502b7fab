"""Whether topics are made so that what is acknowledged stays: made, checked, and what a broker must allow."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.rights import ABOUT, lines
from streams.runtime.kafka.soundness import CannotCopy, Copies, Described, config_of, faults
from tests.memory_kafka.broker import Broker
from tests.memory_kafka.fixture import in_memory
from tests.streams.cli.calling import call

PLACE = KafkaAddress.of("kafka://host:9092/team")


@pytest.fixture(autouse=True)
def home(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALOGUE_HOME", str(tmp_path / "home"))


@pytest.fixture
def three() -> Generator[tuple[KafkaAddress, Broker]]:
    """A cluster of three, with a log under another prefix."""
    with in_memory() as (place, broker):
        broker.brokers = 3
        yield replace(place, prefix="new"), broker


# ── Making ───────────────────────────────────────────────────────────────────────────────────


def test_three_brokers_hold_three_copies_of_which_two_must_be_there(
    three: tuple[KafkaAddress, Broker],
) -> None:
    place, broker = three
    made = call("topics", "create", "--log", place.url, "--json").json
    assert (made["replicas"], made["min_isr"], made["note"]) == (3, 2, None)
    assert {broker.copies[name] for name in place.topics()} == {3}
    assert {broker.settings[name]["min.insync.replicas"] for name in place.topics()} == {"2"}
    assert broker.settings[place.topic("events")]["retention.ms"] == "-1"
    said = call("topics", "check", "--log", place.url)
    assert (said.code, said.lines) == (0, ["8 topics, 3 brokers, 0 faults"])


def test_topics_are_made_once_the_cluster_tells_of_them(three: tuple[KafkaAddress, Broker]) -> None:
    """A broker learns of them a moment later, and whoever began at once found none."""
    place, broker = three
    broker.unaware = 1
    assert call("topics", "create", "--log", place.url).code == 0
    assert broker.unaware == 0


def test_fewer_brokers_than_copies_is_said_aloud() -> None:
    with in_memory() as (place, _):
        made = call("topics", "create", "--log", replace(place, prefix="new").url)
    assert made.code == 0
    assert "each partition 1 replica, 1 in sync to append" in made.out
    assert "not safe: 1 replica (the cluster has 1 broker)" in made.err


@pytest.mark.parametrize(
    ("options", "field", "said"),
    [
        (("--replicas", 4), "--replicas", "4 replicas, but the cluster has 3 brokers"),
        (("--replicas", 2, "--min-isr", 3), "--min-isr", "3 in sync of 2 replicas can never be"),
    ],
)
def test_copies_that_cannot_be_are_refused_before_a_topic_is_made(
    three: tuple[KafkaAddress, Broker], options: tuple[Any, ...], field: str, said: str
) -> None:
    place, broker = three
    made = call("topics", "create", "--log", place.url, *options)
    assert made.code == 2
    assert f"{field}: {said}" in made.err
    assert not set(place.topics()) & set(broker.copies)


def test_a_log_of_this_machine_has_no_copies(tmp_path: Any) -> None:
    refused = call("topics", "create", "--log", tmp_path / "a.db", "--replicas", 2)
    assert (refused.code, "--replicas: only a log on Kafka has copies" in refused.err) == (2, True)


@given(
    brokers=st.integers(1, 9),
    replicas=st.none() | st.integers(1, 9),
    min_isr=st.none() | st.integers(1, 9),
)
def test_no_copies_are_made_that_a_cluster_cannot_hold(
    brokers: int, replicas: int | None, min_isr: int | None
) -> None:
    copies = replicas or min(3, brokers)
    if copies > brokers or (min_isr or 0) > copies:
        with pytest.raises(CannotCopy) as refused:
            Copies.of(brokers, replicas, min_isr)
        assert refused.value.field == ("--replicas" if copies > brokers else "--min-isr")
        return
    made = Copies.of(brokers, replicas, min_isr)
    assert 1 <= made.min_isr <= made.replicas <= brokers
    assert made.replicas == copies
    safe = made.replicas >= 3 and 2 <= made.min_isr < made.replicas
    assert (made.note is None) is (safe or 1 < made.min_isr < made.replicas)


# ── Checking ─────────────────────────────────────────────────────────────────────────────────


def sound(brokers: int = 3) -> dict[str, Described]:
    copies = Copies.of(brokers)
    many = (copies.replicas,) * 4
    return {
        name: Described(many, many, config_of(PLACE, name) | copies.config)
        for name in PLACE.topics()
    }


EVENTS = PLACE.topic("events")
BROKEN: dict[str, tuple[Described, str]] = {
    "one copy of three": (
        Described((1,) * 4, (1,) * 4),
        "1 of 3 replicas that this cluster allows",
    ),
    "behind": (
        Described((3,) * 4, (3, 3, 2, 3)),
        "1 of 4 partitions have replicas that are not in sync",
    ),
    "below": (
        Described((3,) * 4, (3, 1, 1, 3), {"min.insync.replicas": "2"}),
        "2 partitions are below min.insync.replicas 2: nothing is appended to them",
    ),
    "one is enough": (
        Described((3,) * 4, (3,) * 4, {"min.insync.replicas": "1"}),
        "min.insync.replicas is 1 of 3 replicas: an acknowledged append may be on one broker alone",
    ),
    "all must be there": (
        Described((3,) * 4, (3,) * 4, {"min.insync.replicas": "3"}),
        "min.insync.replicas is 3 of 3 replicas: no broker may be away",
    ),
    "expires": (
        Described((3,) * 4, (3,) * 4, {"retention.ms": "604800000"}),
        "retention.ms is 604800000, not -1: records expire, and the log cannot be rebuilt without them",
    ),
    "compacted": (
        Described((3,) * 4, (3,) * 4, {"cleanup.policy": "compact"}),
        "cleanup.policy is compact, not delete",
    ),
    "small": (
        Described((3,) * 4, (3,) * 4, {"max.message.bytes": "65536"}),
        "max.message.bytes is 65536, less than the usual 1048588",
    ),
    "partitions": (Described((3,) * 2, (3,) * 2), "2 partitions; all topics need as many"),
}


@pytest.mark.parametrize(("topic", "said"), BROKEN.values(), ids=BROKEN)
def test_what_would_lose_records_is_a_fault_that_names_its_topic(
    topic: Described, said: str
) -> None:
    """A cluster with two of its three brokers dead had "0 faults"."""
    assert faults(PLACE, sound(), 3) == []
    wrong = faults(PLACE, sound() | {EVENTS: topic}, 3)
    assert any(line.startswith(f"{EVENTS}: {said}") for line in wrong), wrong


@pytest.mark.parametrize("brokers", [1, 2, 3, 5])
def test_as_many_copies_as_a_cluster_allows_are_sound(brokers: int) -> None:
    wrong = faults(PLACE, sound(brokers), brokers)
    assert all("min.insync.replicas is 1 of 2" in line for line in wrong)
    assert bool(wrong) is (brokers == 2), "of two copies one may be the only one that has an append"


def test_what_may_not_be_asked_for_is_unknown_and_no_fault(
    three: tuple[KafkaAddress, Broker],
) -> None:
    place, broker = three
    assert call("topics", "create", "--log", place.url).code == 0
    broker.forbidden = set(place.topics())
    said = call("topics", "check", "--log", place.url)
    assert said.code == 0
    assert f"{place.topic('events')}: its settings may not be asked for" in said.err
    told = call("topics", "check", "--log", place.url, "--json").json
    assert told["unknown"] == place.topics()
    assert {each["retention.ms"] for each in told["topics"]} == {None}, "unknown, and not zero"


def test_a_broker_that_is_away_is_seen(three: tuple[KafkaAddress, Broker]) -> None:
    place, broker = three
    assert call("topics", "create", "--log", place.url).code == 0
    broker.away = 2
    said = call("topics", "check", "--log", place.url, "--json")
    assert (said.code, said.json["ok"], said.json["brokers"]) == (1, False, 3)
    events = next(t for t in said.json["topics"] if t["topic"] == place.topic("events"))
    assert (events["replicas"], events["in_sync"], events["under_replicated"]) == (3, 1, 8)
    assert any("below min.insync.replicas 2" in fault for fault in said.json["faults"])


def test_dead_letters_of_earlier_builds_are_pointed_out(three: tuple[KafkaAddress, Broker]) -> None:
    place, broker = three
    assert call("topics", "create", "--log", place.url).code == 0
    broker.make(place.dead_before("problems"), 8)
    said = call("topics", "check", "--log", place.url)
    assert said.code == 0
    assert "dlq.new.metalogue.problems.v1: dead letters of an earlier build" in said.err


# ── Rights ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("who", ABOUT)
@pytest.mark.parametrize("prefix", ["", "team"])
def test_a_right_on_the_prefix_covers_every_topic_and_no_other_log(who: Any, prefix: str) -> None:
    place = KafkaAddress("host:9092", prefix)
    rules = [line.split() for line in lines(place, who, "User:ann")]
    prefixed = [rule[rule.index("--topic") + 1] for rule in rules if "--topic" in rule]
    assert prefixed
    if who in ("worker", "reader", "admin"):
        assert all(any(name.startswith(each) for each in prefixed) for name in place.topics())
        others = KafkaAddress("host:9092", "other").topics()
        assert not any(name.startswith(each) for each in prefixed for name in others)
    assert all(("prefixed" in rule) is ("--group" in rule or who in ("worker", "reader", "admin"))
               for rule in rules if "--topic" in rule)  # fmt: skip


def test_the_lines_of_all_programs_are_printed(tmp_path: Any) -> None:
    said = call("topics", "acls", "--log", PLACE.url, "--principal", "User:CN=ann,O=a b")
    assert said.code == 0
    assert "# worker: metalogue worker" in said.out
    assert (
        "kafka-acls.sh --bootstrap-server host:9092 --add --allow-principal 'User:CN=ann,O=a b' "
        "--operation Read --operation Write --operation Describe --operation DescribeConfigs "
        "--topic team. --resource-pattern-type prefixed"
    ) in said.lines
    alone = call("topics", "acls", "--log", PLACE.url, "--for", "producer", "--json").json
    assert alone["who"] == "producer"
    assert len(alone["lines"]) == 2
    assert call("topics", "create", "--log", tmp_path / "a.db").code == 0
    refused = call("topics", "acls", "--log", tmp_path / "a.db")
    assert (refused.code, "only a log on Kafka has rights to give" in refused.err) == (2, True)
