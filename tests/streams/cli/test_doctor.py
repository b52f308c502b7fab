from __future__ import annotations

import fcntl
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import EpisodeOpened, ProblemAdmitted
from schemas.problem import Limits
from state.folds.state import State
from streams.interfaces.dashboard import listing
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call, log_of


def checks(*arguments: object) -> dict[str, dict[str, Any]]:
    called = call("doctor", "--json", *arguments)
    return {each["name"]: each for each in called.json["checks"]}


def test_a_healthy_place(folder: Path) -> None:
    called = call("doctor")
    assert called.code == 0, called.out
    assert all(line.startswith(("ok  ", "warn")) for line in called.lines if line[0] != " ")
    assert checks()["log"]["detail"].startswith("none yet")


def test_a_healthy_log(folder: Path) -> None:
    log = log_of(folder / "a.db")
    found = checks("--log", log)
    assert {found[name]["state"] for name in ("log", "integrity", "worker", "parked")} == {"ok"}
    assert found["counters"]["detail"] == "no completion repeated"


@pytest.mark.parametrize(
    ("url", "code", "detail"),
    [
        ("none.db", 2, "no log at none.db"),
        ("sqlite:///x.db", 2, "sqlite:///x.db is not spelled right"),
        ("junk.db", 2, "junk.db: file is not a database"),
        ("other.db", 2, "other.db: a SQLite file, but not a log"),
        ("kafka://127.0.0.1:1", 6, "no broker answered: Unable to bootstrap from [127.0.0.1:1]"),
    ],
)
def test_logs_that_cannot_be_read(folder: Path, url: str, code: int, detail: str) -> None:
    import sqlite3

    (folder / "junk.db").write_bytes(b"junk" * 1000)
    other = sqlite3.connect("other.db")
    other.execute("create table t(x)")
    other.close()
    assert call("doctor", "--log", url).code == code
    assert checks("--log", url)["log"]["detail"].startswith(detail)


def test_bad_configuration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALOGUE_POLCY", "1")
    called = call("doctor", "--log", log_of(folder / "a.db"))
    assert called.code == 5
    assert "fail  config        METALOGUE_POLCY: no setting is called METALOGUE_POLCY" in called.out
    assert "ok    integrity" in called.out


def test_shadows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "state.py").write_text("")
    (folder / "handlers").mkdir()
    (folder / "handlers" / "__init__.py").write_text("")
    other = folder / "other"
    (other / "streams").mkdir(parents=True)
    (other / "streams" / "__init__.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, str(other)])
    told = [line for line in call("doctor").lines if "shadowing" in line]
    assert told == [
        f"warn  shadowing     {folder}/handlers/__init__.py is hidden",
        f"warn  shadowing     {folder}/state.py is hidden",
        f"warn  shadowing     {other}/streams/__init__.py is hidden",
    ]


def test_the_lock_s_holder_is_named(folder: Path) -> None:
    log = log_of(folder / "a.db")
    with open(f"{log}.lock", "w") as lock:
        lock.write(str(os.getpid()))
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert checks("--log", log)["worker"]["detail"].startswith(f"process {os.getpid()} works")
    assert checks("--log", log)["worker"]["detail"] == "none running"


def test_counters(folder: Path) -> None:
    log = log_of(folder / "a.db")
    opened = SqliteLog(log)
    opened.db.execute("insert into counters values ('stale', 3)")
    assert "3 came from owners" in checks("--log", log)["counters"]["detail"]
    opened.db.execute("insert into counters values ('repeated', 1)")
    opened.close()
    assert call("doctor", "--log", log).code == 1


# -- parked episodes -------------------------------------------------------------------------------

WORK = ("worker", "--backbone", "rehearsal", "--until-idle", "-q")


def open_as_other_version(path: Path) -> str:
    """State that the first episode was opened by cot@0, as an older build would have."""
    from streams.engine.policies import find
    from streams.runtime.embedded.intake import Intake

    log = SqliteLog(path)
    writer = log.claim("older build")
    admitted = list(Intake(log, writer, find, "cot").take())
    episode, event = admitted[0]
    assert isinstance(event, ProblemAdmitted)
    opened = EpisodeOpened(
        policy="cot",
        policy_version="0",
        settings="-",
        limits=Limits(),
        seed=0,
        memory_version=0,
        backbones="-",
    )
    writer.state("events", episode, "opened", opened)
    writer.flush()
    log.close()
    return episode


@pytest.fixture
def episode(folder: Path) -> str:
    rows = [f'{{"id":"q{n}","problem":"4 5 6 {n}","domain":"game24"}}' for n in (8, 9)]
    (folder / "in.jsonl").write_text("\n".join(rows))
    assert call("produce", "in.jsonl", "--policy", "cot", "--log", "a.db").code == 0
    found = open_as_other_version(folder / "a.db")
    assert call(*WORK, "--log", "a.db").code == 1
    return found


def test_a_parked_episode_is_shown_with_its_reason(episode: str) -> None:
    found = checks("--log", "a.db")["parked"]
    assert found["state"] == "warn"
    assert found["detail"] == (f"{episode}: PolicyChanged: opened with cot@0; installed is cot@2")
    assert found["todo"].startswith(f"metalogue doctor --adopt {episode} --log a.db; or")


def test_lists_of_the_dashboard_tell_it_from_what_runs(episode: str) -> None:
    """It stood there as running, for good, while its own page said that it is parked."""

    def listed(state: str) -> list[tuple[str, str]]:
        with closing(SqliteLog("a.db")) as log:
            leaf = listing.episodes(log, State(), {"state": state}, listing.NEWEST)
            return [(line.name, line.state) for line in leaf.lines]

    assert listed("")[1:] == [("q8", "parked")]
    assert (listed("parked"), listed("running")) == ([("q8", "parked")], [])
    assert call("doctor", "--adopt", "q8", "--log", "a.db").code == 0
    assert (listed("parked"), listed("running")) == ([], [("q8", "running")])
    assert call(*WORK, "--log", "a.db").code == 1
    assert call("doctor", "--void", episode, "--log", "a.db").code == 0
    assert (listed("parked"), listed("cancelled")) == ([], [("q8", "cancelled")])


def test_adopted_it_is_tried_again(episode: str) -> None:
    called = call("doctor", "--adopt", "q8", "--log", "a.db")
    assert called.code == 0
    assert called.err.startswith(f"{episode}: adopted;")
    assert checks("--log", "a.db")["parked"]["state"] == "ok"
    assert call(*WORK, "--log", "a.db").code == 1
    assert checks("--log", "a.db")["parked"]["state"] == "warn"
    assert call("doctor", "--adopt", episode, "--log", "a.db").code == 0
    journal = SqliteLog("a.db").journal(episode)
    assert {"parked.0", "adopted.0", "parked.1", "adopted.1"} <= journal.keys()


def test_voided_its_batch_moves_on(episode: str) -> None:
    log = SqliteLog("a.db")
    assert log.find("b/" + scope_of(log), "batch") is None
    assert call("doctor", "--void", episode, "--log", "a.db").code == 0
    assert call(*WORK, "--log", "a.db").code == 0
    batch = log.find("b/" + scope_of(log), "batch")
    assert batch is not None
    assert [member.split("/")[2] for member in getattr(batch, "members", ())] == ["q9"]
    assert checks("--log", "a.db")["parked"]["state"] == "ok"
    log.close()


def scope_of(log: SqliteLog) -> str:
    """The only scope's first batch."""
    event = next(log.records("learning", kinds=["series.opened"])).event
    return f"{getattr(event, 'scope', '')}/1"


def test_what_is_not_parked_cannot_be_adopted(episode: str) -> None:
    called = call("doctor", "--adopt", "q9", "--log", "a.db")
    assert called.code == 1
    assert called.err == (f"q9 is not parked [episode.not_parked, exit 1]\n  Parked: {episode}\n")
    assert call("doctor", "--adopt", "q8", "--void", "q8", "--log", "a.db").code == 2
