"""What a log says twice is compared both ways: problems, answers, series, grades, claims, texts and places."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from handlers.policies.base import Policy
from schemas.asking import Diverged
from streams.engine.policies import NoPolicy, find
from streams.replay.verify import Verified, Verifier
from streams.runtime.embedded.imported import import_jsonl
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call

LABELS = (
    '{"domain": "game24", "problem_id": "n901", "verdict": true, "by": "ann"}\n'
    '{"domain": "words", "problem_id": "w1", "reference": "42"}\n'
)
WORDS = '{"id": "w1", "problem": "What is 6 * 7?", "domain": "words"}\n{"id": "w1", "problem": 7}\n'


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two policies, one of which learns; a refused line, feedback, and a problem that solve was given."""
    folder = tmp_path_factory.mktemp("both")
    log, words, labels = folder / "a.db", folder / "words.jsonl", folder / "labels.jsonl"
    words.write_text(WORDS)
    labels.write_text(LABELS)
    rehearsal = ("--backbone", "rehearsal:seed=7")
    mc2 = ("--policy", "mc2", "--set", "batch_size=3", "--set", "max_rounds=2")
    assert call("produce", "game24:901-906", *mc2, "--log", log).code == 0
    assert call("produce", words, "--policy", "cot", "--log", log).code == 1
    assert call("worker", *rehearsal, "--until-idle", "--settle", "--log", log).code == 0
    assert call("feedback", labels, "--log", log).code == 0
    assert call("worker", *rehearsal, "--until-idle", "--settle", "--log", log).code == 0
    assert call("solve", "1 + 1", *rehearsal, "--log", log).code == 0
    return log


@pytest.fixture
def log(worked: Path) -> Iterator[SqliteLog]:
    """A copy to spoil."""
    with closing(SqliteLog(":memory:", create=True)) as copy:
        with closing(sqlite3.connect(worked)) as db:
            db.backup(copy.db)
        yield copy


def verified(log: SqliteLog) -> Verified:
    return Verifier(log, find).run()


def found(log: SqliteLog) -> list[tuple[str, str, str]]:
    def said(error: Diverged) -> tuple[str, str, str]:
        return error.episode, error.address, error.part

    return sorted(map(said, verified(log).diverged))


def one(log: SqliteLog, query: str, *values: object) -> tuple[str, ...]:
    row: tuple[str, ...] = log.db.execute(query, values).fetchone()
    return row


ANSWERED = "select key from messages where topic = 'answers' and key like '%/mc2/%' or key like 'p/game24/%'"


def test_nothing_diverges_in_what_was_left_alone(log: SqliteLog) -> None:
    done = verified(log)
    assert (done.diverged, done.unverifiable) == ([], [])
    assert done.episodes == 8 + 2


def test_a_forged_answer_has_no_episode(log: SqliteLog) -> None:
    log.publish([("answers", "p/game24/n999/0123456789ab", {}, b'{"answer":"24"}')])
    assert found(log) == [("p/game24/n999/0123456789ab", "closed", "answer")]


def test_a_deleted_answer_is_missed(log: SqliteLog) -> None:
    (episode,) = one(log, ANSWERED)
    log.db.execute("delete from messages where topic = 'answers' and key = ?", (episode,))
    assert (episode, "closed", "answer") in found(log)


def test_an_answer_is_compared_where_no_policy_can_be_run(log: SqliteLog) -> None:
    (episode,) = one(log, ANSWERED)
    change = "update messages set value = replace(cast(value as text), ?, ?) where topic = 'answers' and key = ?"
    log.db.execute(change, ('"status":"answered"', '"status":"abstained"', episode))

    def gone(name: str) -> Policy[Any]:
        raise NoPolicy(name)

    done = Verifier(log, gone).run()
    assert (episode, "closed", "answer") in [(e.episode, e.address, e.part) for e in done.diverged]


@pytest.mark.parametrize("field", ["problem", "seed", "labelled", "memory", "limits", "settings"])
def test_a_changed_problem_is_found_by_its_admission(log: SqliteLog, field: str) -> None:
    offset, episode = one(
        log,
        "select json_extract(body, '$.offset'), episode from records where kind = 'problem.admitted' "
        "and episode like 'p/game24/n903/%'",
    )
    other = {
        "problem": '"1 2 3 4"',
        "seed": "5",
        "labelled": "true",
        "memory": '"mine"',
        "limits": '{"calls":3}',
        "settings": '{"max_rounds":9}',
    }[field]
    change = "update messages set value = json_set(value, ?, json(?)) where offset = ?"
    log.db.execute(change, (f"$.{field}", other, offset))
    assert (episode, "admitted", "problem") in found(log)


def test_a_problem_that_was_read_was_admitted_or_refused(log: SqliteLog) -> None:
    (key,) = one(log, "select key from messages where topic = 'problems'")
    log.db.execute("delete from records where episode = ?", (key,))
    assert (key, "admitted", "problem") in found(log)


def test_an_admission_needs_its_message(log: SqliteLog) -> None:
    (key,) = one(log, "select key from messages where topic = 'problems'")
    log.db.execute("delete from messages where topic = 'problems' and key = ?", (key,))
    assert (key, "admitted", "problem") in found(log)


FORGED = (
    "insert into records(topic, partition, epoch, episode, address, kind, at_ms, body) "
    "select topic, partition, epoch, ?, ?, kind, at_ms, body from records where kind = ? limit 1"
)


@pytest.mark.parametrize(
    "kind", ["lesson.distilled", "graded", "reflected", "completed", "episode.closed"]
)
@pytest.mark.parametrize(
    ("name", "address"), [("x/evil", "0"), ("p/d/x/0", "named"), ("p/d/x/0", "closed")]
)
def test_a_record_that_stands_where_none_does_is_named(
    log: SqliteLog, kind: str, name: str, address: str
) -> None:
    log.db.execute(FORGED, (name, address, kind))
    assert {where for where, _, _ in found(log)} == {name}


@pytest.mark.parametrize("what", ["outcome", "grader", "source", "detail", "scope"])
@pytest.mark.parametrize("by", ["feedback", "checker"])
def test_a_grade_is_made_again_of_what_was_said(log: SqliteLog, by: str, what: str) -> None:
    offset, episode, address = one(
        log,
        "select offset, episode, address from records where kind = 'graded' "
        "and json_extract(body, '$.by') = ? order by offset desc",
        by,
    )
    change = "update records set body = json_set(body, ?, ?) where offset = ?"
    log.db.execute(change, (f"$.{what}", "unknown" if what == "outcome" else "x@1", offset))
    assert (episode, address) in [(name, at) for name, at, _ in found(log)]


@pytest.mark.parametrize("what", ["outcome", "source"])
def test_the_grade_of_a_solve_is_made_again_of_what_was_said(tmp_path: Path, what: str) -> None:
    path = tmp_path / "a.db"
    assert call("solve", "1 + 1", "--backbone", "rehearsal", "--log", path).code == 0
    with closing(SqliteLog(path)) as log:
        (episode,) = one(log, "select key from messages where topic = 'answers'")
        said = json.dumps({"episode": episode, "verdict": False, "by": "ann"}).encode()
        assert call("feedback", "-", "--log", path, given=said).code == 0
        assert call("worker", "--backbone", "rehearsal", "--until-idle", "--log", path).code == 0
        assert verified(log).diverged == []
        change = "update records set body = json_set(body, ?, 'right') where kind = 'graded'"
        assert log.db.execute(change, (f"$.{what}",)).rowcount == 1
        assert [name for name, _, _ in found(log)] == [episode]


def test_a_verdict_that_nobody_gave_is_found(log: SqliteLog) -> None:
    log.db.execute(
        "delete from messages where topic = 'feedback' and cast(value as text) like '%ann%'"
    )
    assert "graded" in {part for _, _, part in found(log)}


@pytest.mark.parametrize("field", ["size", "walk", "profile", "settings", "policy"])
def test_a_series_is_what_its_members_say(log: SqliteLog, field: str) -> None:
    (episode,) = one(
        log, "select episode from records where kind = 'series.opened' and body like '%mc2%'"
    )
    other = {"size": "7", "walk": "2", "profile": '"paper"', "settings": "{}", "policy": '"cot"'}[
        field
    ]
    change = "update records set body = json_set(body, ?, json(?)) where episode = ? and address = 'series'"
    log.db.execute(change, (f"$.{field}", other, episode))
    assert (episode, "series", f"series.opened.{field}") in found(log)


@pytest.mark.parametrize("column", ["epoch = epoch + 1", "epoch = 0", "partition = 3"])
@pytest.mark.parametrize("kind", ["completed", "graded", "memory.versioned", "problem.admitted"])
def test_a_record_stands_under_the_claim_in_force(log: SqliteLog, kind: str, column: str) -> None:
    offset, episode, address = one(
        log, "select offset, episode, address from records where kind = ?", kind
    )
    log.db.execute(f"update records set {column} where offset = ?", (offset,))
    assert (episode, address) in [(name, at) for name, at, _ in found(log)]


def test_a_claim_that_is_gone_is_missed(log: SqliteLog) -> None:
    log.db.execute("delete from records where kind = 'partition.claimed'")
    assert ("w/0", "-", "claim") in found(log)


def test_records_cut_off_before_the_last_claim_are_missed(log: SqliteLog) -> None:
    (last,) = one(
        log, "select max(offset) from records where kind = 'partition.claimed' and episode = 'w/0'"
    )
    log.db.execute("delete from records where offset >= ?", (last,))
    assert ("w/0", "-", "claim") in found(log)


def test_messages_cut_off_before_what_was_read_are_missed(log: SqliteLog) -> None:
    log.db.execute("delete from messages where topic = 'feedback'")
    log.db.execute("delete from messages where topic = 'answers'")
    assert ("feedback", "learner", "offset") in found(log)


@pytest.mark.parametrize("table", ["records", "messages"])
def test_a_gap_is_named_by_what_follows_it(log: SqliteLog, table: str) -> None:
    (middle,) = one(log, f"select max(offset) / 2 from {table}")
    log.db.execute(f"delete from {table} where offset = ?", (middle,))
    named = "select episode, address" if table == "records" else "select topic, key"
    place = one(log, f"{named} from {table} where offset > ? order by offset", middle)
    assert (*place, "offset") in found(log)


def test_a_text_that_records_refer_to_is_there(log: SqliteLog) -> None:
    for (episode,) in log.db.execute(
        "select episode from records where kind = 'text.kept'"
    ).fetchall():
        log.db.execute("begin")
        log.db.execute("delete from records where episode = ?", (episode,))
        assert (episode, "text", "text") in found(log)
        log.db.execute("rollback")


def test_an_episode_whose_learning_was_never_closed_is_found(log: SqliteLog) -> None:
    episode, address = one(
        log,
        "select episode, address from records where topic = 'learning' and kind = 'episode.closed'",
    )
    log.db.execute("delete from records where episode = ? and address = ?", (episode, address))
    assert (episode, "closed", "episode.closed") in found(log)


def test_a_log_as_lines_is_compared_the_same(worked: Path, tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text(call("log", "cat", "--log", worked).out)
    with closing(import_jsonl(str(lines))) as log:
        assert found(log) == []
        (episode,) = one(log, ANSWERED)
        log.db.execute("delete from messages where topic = 'answers' and key = ?", (episode,))
        assert (episode, "closed", "answer") in found(log)
