"""Verify, fork, diff and parked episodes, over logs that real runs left."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams.engine.policies import find
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import end_of, produced
from tests.live.thinking import IDLE, QUICK, reading
from tests.streams.cli.calling import call
from tests.surroundings import Serve

VALUES = {"max_rounds": 2, "batch_size": 6}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with two batches of learning."""
    path = tmp_path_factory.mktemp("finished") / "a.db"
    assert produced(path, "game24:901-912", values=VALUES).produced == 12
    assert call("worker", "--log", path, "--backbone", "rehearsal:seed=7", *IDLE).code == 0
    return path


def test_a_finished_log_verifies_with_no_model(finished: Path, folder: Path) -> None:
    before = finished.read_bytes()
    done = call("verify", "--log", finished)
    assert (done.code, done.err) == (0, "")
    figures = call("verify", "--log", finished, "--json").json
    assert done.lines[0].startswith("left out: ")
    assert done.lines[1:] == [
        f"verified {figures['episodes']} episodes, {figures['facts']} facts, 0 model calls"
    ]
    assert figures["episodes"] == 12 + 2
    assert figures["facts"] == call("log", "stats", "--json", "--log", finished).json["facts"] > 60
    assert figures["diverged"] == figures["unverifiable"] == []
    assert finished.read_bytes() == before, "looking changes nothing"


Edit = Callable[[dict[str, Any]], None]


def setting(name: str, value: Any) -> Edit:
    def edit(body: dict[str, Any]) -> None:
        assert body.get(name) != value
        body[name] = value

    return edit


def swapped(name: str) -> Edit:
    """The first two of a list change places."""

    def edit(body: dict[str, Any]) -> None:
        body[name][:2] = body[name][1::-1]

    return edit


def letter(body: dict[str, Any]) -> None:
    """One character of a text."""
    body["text"] = body["text"].replace("e", "3", 1)


def memory(body: dict[str, Any]) -> None:
    """One character of the digest of a memory version."""
    body["state"] = body["state"][:-1] + ("1" if body["state"][-1] == "0" else "0")


def digest(body: dict[str, Any]) -> None:
    """The question that an answer was given to."""
    kind, role, *rest = body["asked"].split(" ")
    body["asked"] = " ".join((kind, role, "0" * 12, *rest[1:]))


TAMPERED: dict[str, tuple[str, str, Edit]] = {
    "a monitor's flag": (
        "monitor.reported",
        "json_extract(body,'$.flag')='NO'",
        setting("flag", "YES"),
    ),
    "a controller's action": ("controller.acted", "1", setting("action", 7)),
    "a reasoner's fact": ("generated", "1", setting("answer", "24")),
    "what a fact points to": ("generated", "1", setting("source", "99")),
    "an answer's text": ("completed", "address = '0' and body like '%e%'", letter),
    "a question": ("completed", "topic = 'events'", digest),
    "which role was asked": (
        "completed",
        "topic = 'events'",
        lambda b: b.update(asked="Complete x"),
    ),
    "the closing's answer": ("episode.closed", "topic = 'events'", setting("answer", "25 - 1")),
    "the closing's status": ("episode.closed", "topic = 'events'", setting("status", "abstained")),
    "the closing's confidence": (
        "episode.closed",
        "topic = 'events'",
        setting("confidence", 0.123),
    ),
    "the closing's usage": (
        "episode.closed",
        "topic = 'events'",
        lambda body: body["usage"].update(calls=1000),
    ),
    "a learning episode's closing": (
        "episode.closed",
        "topic = 'learning'",
        setting("ended_by", "x"),
    ),
    "a reflection's problem": ("reflected", "1", setting("problem", "1 2 3 4")),
    "a reflection's summary": ("reflected", "1", setting("summary", {})),
    "a checker's grade": (
        "graded",
        "json_extract(body,'$.outcome')='right'",
        setting("outcome", "wrong"),
    ),
    "a batch's members": ("batch.closed", "1", swapped("members")),
    "a batch's outcomes": ("batch.closed", "1", setting("outcomes", ["right"] * 6)),
    "a batch's seed": ("batch.closed", "1", setting("seed", 5)),
    "a lesson": ("lesson.distilled", "body like '%e%'", letter),
    "a lesson's polarity": ("lesson.distilled", "1", setting("polarity", "none")),
    "a text that is kept once": ("text.kept", "body like '%e%'", letter),
    "a memory version": ("memory.versioned", "1", memory),
    "an opening's seed": ("episode.opened", "1", setting("seed", 1)),
    "an opening's limits": ("episode.opened", "1", setting("limits", {"calls": 1})),
    "an opening's memory": (
        "episode.opened",
        "json_extract(body, '$.memory_version') = 1",
        setting("memory_version", 0),
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_whatever_was_tampered_with_is_found_and_named(
    finished: Path, folder: Path, name: str
) -> None:
    kind, where, edit = TAMPERED[name]
    path = Path(shutil.copy(finished, folder / "a.db"))
    db = sqlite3.connect(path)
    query = f"select offset, episode, address, body from records where kind = ? and {where} order by offset"
    offset, episode, address, body = db.execute(query, (kind,)).fetchone()
    value = json.loads(body)
    edit(value)
    with db:
        db.execute("update records set body = ? where offset = ?", (json.dumps(value), offset))
    db.close()
    done = call("verify", "--log", path)
    assert done.code == 3, done.out
    assert "[replay.diverged, exit 3]" in done.err
    assert "diverge, 0 model calls" in done.out
    places = {
        (each["episode"], each["address"])
        for each in call("verify", "--log", path, "--json").json["diverged"]
    }
    assert any(where == episode for where, _ in places), f"{episode} at {address}: {places}"


def test_an_answer_on_its_topic_is_what_the_record_says(finished: Path, folder: Path) -> None:
    path = Path(shutil.copy(finished, folder / "a.db"))
    log = SqliteLog(path)
    offset, _, _, value = next(log.messages("answers"))
    value = value.replace(b'"status":"', b'"status":"un')
    log.db.execute("update messages set value = ? where offset = ?", (value, offset))
    log.close()
    assert call("verify", "--log", path).code == 3


GONE = ["episode.opened", "monitor.reported", "completed", "reflected", "memory.versioned"]


@pytest.mark.parametrize("kind", GONE)
def test_a_record_that_is_gone_is_missed(finished: Path, folder: Path, kind: str) -> None:
    path = Path(shutil.copy(finished, folder / "a.db"))
    db = sqlite3.connect(path)
    with db:
        db.execute(
            "delete from records where offset = (select min(offset) from records where kind = ?)",
            (kind,),
        )
    db.close()
    done = call("verify", "--log", path)
    assert done.code == 3, done.out


# ── Forks ────────────────────────────────────────────────────────────────────────────────────

SOLVE = ("solve", "4 4 10 10", "--domain", "game24", "--policy", "mc2", "--backbone", QUICK)


def test_a_fork_of_what_a_limit_ended_pays_only_for_what_follows(
    serve: Serve, folder: Path
) -> None:
    endpoint, log = serve(), folder / "a.db"
    short = call(*SOLVE, "--call-limit", 2, "--json", "--log", log)
    assert short.code == 4
    parent = short.json["episode"]
    opened = SqliteLog(log)
    (refused,) = list(opened.records(kinds=["limit.reached"]))
    answers = end_of(opened).answers
    opened.close()
    begun = len(endpoint.asked)
    fork = ("fork", parent, "--at", refused.address, "--call-limit", 9, "--backbone", QUICK)
    done = call(*fork, "--json", "--log", log)
    assert done.code in (0, 4)
    made = len(endpoint.asked) - begun
    assert done.json["kept_calls"] == 2
    assert 1 <= made == done.json["usage"]["calls"] - done.json["reused_calls"] <= 7
    assert endpoint.repeats() == 0, "the prefix was not asked again"

    opened = SqliteLog(log)
    assert end_of(opened).answers == answers, "no relay sees a fork"
    first = opened.find(done.json["episode"], "opened")
    assert (getattr(first, "parent", None), getattr(first, "at", None)) == (parent, refused.address)
    assert not list(opened.records("learning", episode=done.json["episode"]))
    opened.close()
    assert len(call("consume", "--log", log).lines) == 1
    assert call("verify", "--log", log).code == 0

    again = call(*fork, "--json", "--log", log)
    assert again.json["episode"] == done.json["episode"]
    assert len(endpoint.asked) - begun == made, "the same fork is on record"


def test_a_fork_with_nothing_changed_reuses_every_answer(serve: Serve, folder: Path) -> None:
    endpoint, log = serve(), folder / "a.db"
    whole = call(*SOLVE, "--json", "--log", log)
    begun = len(endpoint.asked)
    done = call(
        "fork", whole.json["episode"], "--at", "2", "--backbone", QUICK, "--json", "--log", log
    )
    assert done.json["answer"] == whole.json["answer"]
    assert len(endpoint.asked) == begun
    assert call("diff", whole.json["episode"], done.json["episode"], "--log", log).lines == [
        "no difference"
    ]


def test_diff_finds_the_first_difference_of_another_model(serve: Serve, folder: Path) -> None:
    endpoint, log = serve(), folder / "a.db"
    whole = call(*SOLVE, "--json", "--log", log).json["episode"]
    other = ("--backbone", "rehearsal:seed=11", "--json", "--log", log)
    done = call("fork", whole, "--at", "0", *other)
    begun = len(endpoint.asked)
    fork = done.json["episode"]
    said = call("diff", whole, fork, "--log", log, "--json")
    assert said.code == 1
    assert said.json["difference"]["address"] == "0"
    assert said.json["difference"]["left_calls"] >= 1
    assert len(endpoint.asked) == begun
    assert call("diff", whole, whole, "--log", log).code == 0


@pytest.mark.parametrize(
    ("episode", "at"), [("nobody", "0"), (None, "999"), (None, "x.y"), (None, "")]
)
def test_what_cannot_be_forked_is_a_wrong_command_line(
    finished: Path, folder: Path, episode: str | None, at: str
) -> None:
    path = Path(shutil.copy(finished, folder / "a.db"))
    named = episode or call("consume", "--json", "--log", path).rows[0]["episode"]
    done = call("fork", named, "--at", at, "--backbone", "rehearsal", "--log", path)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert "defect" not in done.err


# ── Parked ───────────────────────────────────────────────────────────────────────────────────


def parked(folder: Path) -> tuple[Path, str]:
    """A series in whose first batch one episode was begun by a policy that is not installed."""
    path = folder / "a.db"
    produced(path, "game24:901-906", values={"max_rounds": 1, "batch_size": 3})
    log = SqliteLog(path)
    worked = call("worker", "--log", path, "--backbone", "rehearsal", "--total-calls", 4, *IDLE)
    assert worked.code == 4
    row = log.db.execute(
        "select offset, episode, body from records o where kind = 'episode.opened' and not exists "
        "(select 1 from records c where c.episode = o.episode and c.address = 'closed') limit 1"
    ).fetchone()
    body = json.loads(row[2]) | {"policy_version": "0"}
    log.db.execute(
        "update records set body = ? where offset = ?",
        (json.dumps(body, separators=(",", ":")), row[0]),
    )
    log.close()
    return path, row[1]


def test_an_episode_of_another_version_waits_and_holds_only_its_batch(folder: Path) -> None:
    path, episode = parked(folder)
    for _ in range(2):  # a second worker finds it parked, and does not park it twice
        done = call("worker", "--log", path, "--backbone", "rehearsal", *IDLE)
        assert done.code == 1
        assert f"{episode}: parked; see metalogue doctor" in done.err
        stats = call("log", "stats", "--json", "--log", path).json
        assert (stats["parked"], stats["closed"], stats["learning_episodes"]) == (1, 2, 0)
    doctor = call("doctor", "--log", path)
    assert episode in doctor.out + doctor.err
    assert "opened with mc2@0" in doctor.out + doctor.err


def test_a_parked_episode_that_is_voided_lets_its_batch_go_on(folder: Path) -> None:
    path, episode = parked(folder)
    assert call("worker", "--log", path, "--backbone", "rehearsal", *IDLE).code == 1
    assert call("doctor", "--void", episode, "--log", path).code == 0
    done = call("worker", "--log", path, "--backbone", "rehearsal", *IDLE)
    assert done.code == 0, done.err
    assert len(reading(path, end_of).answers) == 5
    assert call("log", "stats", "--json", "--log", path).json["learning_episodes"] == 2


def test_a_parked_episode_that_is_adopted_goes_on(folder: Path) -> None:
    """With the version back in place it ends as if nothing had been."""
    path, episode = parked(folder)
    assert call("worker", "--log", path, "--backbone", "rehearsal", *IDLE).code == 1
    log = SqliteLog(path)
    log.db.execute(
        "update records set body = json_set(body, '$.policy_version', ?) where kind = 'episode.opened'",
        (find("mc2").version,),
    )
    log.close()
    assert call("doctor", "--adopt", episode, "--log", path).code == 0
    done = call("worker", "--log", path, "--backbone", "rehearsal", *IDLE)
    assert done.code == 0, done.err
    calm = folder / "calm.db"
    produced(calm, "game24:901-906", values={"max_rounds": 1, "batch_size": 3})
    assert call("worker", "--log", calm, "--backbone", "rehearsal", *IDLE).code == 0
    assert reading(path, end_of) == reading(calm, end_of)
    assert call("verify", "--log", path).code == 0
