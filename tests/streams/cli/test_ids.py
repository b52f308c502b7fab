"""Ids are taken alike by every command, and what finds nothing is no success: exit 2, with what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.interfaces.cli.finding import one_of
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import Called, call, log_of
from tests.streams.cli.learned import made, rows

READERS = ("log cat", "verify", "export", "show")
"""Commands that read one episode, or without an id the whole log."""


def words(command: str, name: str | None) -> tuple[str, ...]:
    """The command line of a reader."""
    match command:
        case "log cat":
            return ("log", "cat", *(("--episode", name) if name else ()))
        case "export":
            return ("export", "out", *(("--episode", name) if name else ()))
        case _:
            return (command, *((name,) if name else ()))


def read(command: str, name: str | None, log: Path) -> Called:
    return call(*words(command, name), "--log", log)


@pytest.fixture
def answered(folder: Path) -> Path:
    """Two domains that share the id 7, each problem answered once."""
    lines = [
        {"id": name, "problem": f"What is {at} + 1?", "domain": domain}
        for at, (domain, name) in enumerate([("sums", "7"), ("games", "7"), ("sums", "n901")])
    ]
    given = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    assert call("produce", "-", "--policy", "cot", "--log", "a.db", given=given).code == 0
    work = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--no-tables")
    assert call(*work, "--log", "a.db").code == 0
    return folder / "a.db"


def episode_of(log: Path, domain: str, problem: str) -> str:
    query = "select key from messages where topic = 'answers' and key like ?"
    ((key,),) = rows(log, query, f"p/{domain}/{problem}/%")
    return str(key)


@pytest.mark.parametrize("command", [*READERS, "export grpo"])
def test_an_empty_log_is_an_error(folder: Path, command: str) -> None:
    log = log_of(folder / "empty.db")
    asked = ("export", "grpo", "-") if command == "export grpo" else words(command, None)
    called = call(*asked, "--log", log)
    assert (called.code, called.out) == (2, "")
    assert "metalogue" in called.err.splitlines()[1], "what to do"


@pytest.mark.parametrize("command", ["verify", "export", "show"])
def test_a_log_that_nobody_worked_on_is_an_error(folder: Path, command: str) -> None:
    assert call("produce", "game24:901-902", "--log", "a.db").code == 0
    called = read(command, None, folder / "a.db")
    assert (called.code, "metalogue worker" in called.err) == (2, True)
    queued = read(command, "n901", folder / "a.db")
    assert (queued.code, "n901 is queued" in queued.err or "on record" in queued.err) == (2, True)


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("wanted", ["n902", "p/sums/n902", "zzz", "\udcff", "w/9"])
def test_an_unknown_id_is_an_error(answered: Path, command: str, wanted: str) -> None:
    called = read(command, wanted, answered)
    assert (called.code, called.out) == (2, "")
    assert "[episode.unknown, exit 2]" in called.err
    if wanted == "n902":
        assert "Did you mean 'n901'?" in called.err


@pytest.mark.parametrize("command", READERS)
def test_a_problem_an_episode_and_their_beginnings_mean_the_same(
    answered: Path, command: str
) -> None:
    episode = episode_of(answered, "sums", "n901")
    names = ("n901", "sums/n901", episode, episode[:-3], "n9", "p/sums/n")
    said = [read(command, name, answered) for name in names]
    assert [called.code for called in said] == [0] * len(names), [called.err for called in said]
    assert len({called.out for called in said}) == 1
    if command == "log cat":
        assert {
            name
            for row in said[0].rows
            if not (name := row.get("episode", row.get("key"))).startswith(
                "t/"
            )  # what it refers to
        } == {episode}


@pytest.mark.parametrize("command", READERS)
def test_an_id_of_two_problems_lists_them(answered: Path, command: str) -> None:
    called = read(command, "7", answered)
    assert called.code == 2
    assert "episode.ambiguous" in called.err
    assert "games/7, sums/7" in called.err
    one = read(command, "games/7", answered)
    assert one.code == 0, one.err


@pytest.mark.parametrize("command", READERS)
def test_a_beginning_of_several_lists_them(answered: Path, command: str) -> None:
    called = read(command, "p/sums/", answered)
    assert called.code == 2
    assert "begins 2 episodes" in called.err
    assert episode_of(answered, "sums", "7") in called.err


@pytest.mark.parametrize("command", ["fork", "diff"])
def test_commands_on_episodes_resolve_them_too(answered: Path, command: str) -> None:
    asked = ("fork", "n902", "--at", "0") if command == "fork" else ("diff", "n901", "n902")
    called = call(*asked, "--log", answered)
    assert called.code == 2
    assert "Did you mean 'n901'?" in called.err
    assert call("diff", "n901", "sums/n901", "--log", answered).code == 0


def test_what_bears_the_very_name_is_shown_by_log_cat(answered: Path) -> None:
    claims = call("log", "cat", "--episode", "w/0", "--log", answered).rows
    assert {row["kind"] for row in claims} == {"partition.claimed"}
    none = call("log", "cat", "--topic", "dead-letters", "--log", answered)
    assert (none.code, none.out) == (0, "")


def test_an_episode_that_waits_cannot_be_verified(folder: Path, answered: Path) -> None:
    episode = "p/sums/later/0123"
    log = SqliteLog(answered)
    statement = """insert into records(topic, partition, epoch, episode, address, kind, at_ms, body)
        select topic, partition, epoch, ?, address, kind, at_ms, body from records
        where address = 'admitted' limit 1"""
    log.db.execute(statement, (episode,))
    log.close()
    called = call("verify", episode, "--log", answered)
    assert (called.code, called.out) == (2, "")
    assert "was not worked on yet" in called.err


def test_lessons_are_found_by_their_beginning_and_missed_by_the_nearest() -> None:
    assert one_of("L1", ["L1", "L11", "L12"]) == "L1"
    assert one_of("L2", ["L11", "L21"]) == "L21"
    assert one_of("L3", ["L11", "L21"]) is None
    missed = call("lessons", "show", "L1.R77", "--log", made())
    assert (missed.code, "Did you mean 'L" in missed.err) == (2, True)
    several = call("lessons", "show", "L1.", "--log", made())
    assert (several.code, "'L1.' begins" in several.err) == (2, True)


def test_what_is_to_be_forgotten_is_named_in_full(answered: Path) -> None:
    called = call("forget", "--problem", "n9", "--yes", "--log", answered)
    assert (called.code, "Name it in full: n901" in called.err) == (2, True)
    called = call("forget", "--problem", "m901", "--log", answered)
    assert (called.code, "Did you mean 'n901'?" in called.err) == (2, True)
    episode = episode_of(answered, "games", "7")
    told = call("forget", "--problem", episode, "--json", "--log", answered).json
    assert [scope["episodes"] for scope in told["scopes"]] == [[episode]]


def test_a_problem_that_a_worker_has_refused_is_not_said_to_wait_for_one(folder: Path) -> None:
    said = {"id": "n1", "problem": "1 1 1 8", "domain": "game24", "policy": "mc2"}
    (folder / "p.jsonl").write_text(json.dumps(said | {"settings": {"warm_start": "nope"}}) + "\n")
    assert call("produce", "p.jsonl", "--log", "a.db").code == 0
    assert "n1 is queued" in call("show", "n1", "--log", "a.db").err
    call("worker", "--backbone", "rehearsal", "--until-idle", "--log", "a.db")
    shown = call("show", "n1", "--log", "a.db")
    assert shown.code == 2
    assert "n1 was refused: settings.warm_start" in shown.err
    assert "metalogue dlq show 1" in shown.err
