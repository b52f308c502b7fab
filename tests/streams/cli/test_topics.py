from __future__ import annotations

from pathlib import Path

import pytest

from streams.core.topology import TOPICS
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.kafka.soundness import config_of
from tests.memory_kafka.fixture import in_memory
from tests.streams.cli.calling import answer, call, log_of

NAMES = [topic.name for topic in TOPICS]


def test_create_makes_a_log_once(folder: Path) -> None:
    for _ in range(2):
        called = call("topics", "create", "--log", "a.db", "--json")
        assert called.json == {"log": "a.db", "topics": NAMES}
    assert (folder / "a.db").exists()


def test_list_counts(folder: Path) -> None:
    log = log_of(folder / "a.db", [answer(1), answer(2)])
    rows = {row["topic"]: row for row in call("topics", "list", "--json", "--log", log).rows}
    assert list(rows) == NAMES
    assert {name: row["records"] for name, row in rows.items() if row["records"]} == {"answers": 2}
    assert rows["feedback"]["read_by"] == ["learner"]
    assert call("topics", "list", "--log", log).lines[3].split()[:2] == ["answers", "2"]


def test_list_says_what_may_expire(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the topics are made on Kafka."""
    monkeypatch.setenv("METALOGUE_HOME", str(folder / "home"))
    with in_memory() as (place, _):
        rows = call("topics", "list", "--json", "--log", place.url).rows
        kept = {row["topic"]: row["kept"] for row in rows}
        made = {name: config_of(place, place.topic(name)) for name in kept if "-" not in name}
        lines = call("topics", "list", "--log", place.url).lines
    assert list(kept) == [*NAMES, "checkpoints"]
    assert [name for name in kept if not kept[name]] == ["answers", "checkpoints"]
    assert {n for n, it in made.items() if it.get("retention.ms") == "-1"} == {
        *("problems", "events", "learning", "feedback")
    }
    assert made["checkpoints"]["cleanup.policy"] == "compact"
    assert config_of(place, place.dead("problems")) == config_of(place, place.topic("problems"))
    assert lines[-1].split()[:4] == ["checkpoints", "unknown", "may", "expire"]


def test_list_makes_no_log(folder: Path) -> None:
    assert call("topics", "list", "--log", "none.db").code == 2
    assert not (folder / "none.db").exists()


def test_check(folder: Path) -> None:
    log = log_of(folder / "a.db", [answer(1)])
    assert call("topics", "check", "--log", log, "--json").json == {"ok": True, "faults": []}
    opened = SqliteLog(log)
    opened.publish([("anserws", "k", {}, b"{}")])
    opened.commit_position("group/g", "answers", 99)
    opened.close()
    called = call("topics", "check", "--log", log)
    assert called.code == 1
    assert called.err.splitlines() == [
        "anserws: not a topic of this build, 1 records [topics.fault]",
        "answers: group/g stands at 99, after its last record at 1 [topics.fault]",
    ]
