"""Whatever of a log is changed afterwards, `verify` names it, or it stands in a list of what is said once only."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

import orjson
import pytest

from handlers.policies.registry import POLICIES
from schemas.problem import Limits
from streams.engine.policies import find
from streams.replay.verify import Verified, Verifier
from streams.runtime.embedded.imported import import_jsonl
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import produced, quick, worked
from tests.people import answer_all
from tests.streams.replay.spoiling import fields_of, other
from tests.streams.replay.test_heads import held, published

GOLDEN = Path(__file__).parents[2] / "golden" / "0.1.0-mc2.jsonl"
Logs: TypeAlias = Mapping[str, SqliteLog]
Place: TypeAlias = tuple[str, str]
"""Kind and field, or topic and column."""

ONCE = {
    ("partition.claimed", "worker"): "what a worker calls itself stands in its claim alone",
    ("partition.claimed", "at_ms"): "no closing is stamped with it",
    ("text.kept", "at_ms"): "no closing is stamped with it: a text belongs to many episodes",
    ("series.opened", "at_ms"): "no closing is stamped with it",
    ("reflected", "at_ms"): "it comes after the closing, whose time is stamped",
    ("graded", "at_ms"): "it comes after the closing",
    ("memory.versioned", "at_ms"): "it comes after the closing",
    ("position.voided", "at_ms"): "no closing is stamped with it",
    ("tick.passed", "at_ms"): "no closing is stamped with it",
    ("problems", "at_ms"): "when a message was put stands there once",
    ("series.opened", "seed"): "the source that it was drawn from is not on the log",
    ("series.opened", "order"): "the source that it was drawn from is not on the log",
    ("series.opened", "policy_version"): "another build may work on it than announced it",
    ("series.opened", "window"): "a window beyond the end of its series makes the same batches",
    ("problems", "key"): "anybody may put a problem, under whatever key",
    ("problems", "headers"): "they carry what links traces, and nothing that is read",
    ("answers", "at_ms"): "when a message was put stands there once",
    ("answers", "headers"): "they carry what links traces, and nothing that is read",
    ("feedback", "at_ms"): "when a message was put stands there once",
    ("feedback", "headers"): "they carry what links traces, and nothing that is read",
}
"""What `verify` cannot compare, and why."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logs]:
    """A log of every policy, by its name."""
    found: dict[str, SqliteLog] = {}
    for name in sorted(POLICIES):
        path = tmp_path_factory.mktemp(name) / "a.db"
        found[name] = _log(path, name)
    yield found
    for log in found.values():
        log.close()


def _log(path: Path, policy: str) -> SqliteLog:
    own = POLICIES[policy].settings.model_fields
    values = {"batch_size": 2} if "batch_size" in own else {}
    produced(path, "game24:901-902", policy=policy, values=values, limits=Limits(calls=8))
    with closing(quick(SqliteLog(path))) as made:
        worked(made)
        while answer_all(made):
            worked(made)
        copied = SqliteLog(":memory:", create=True)
        made.db.backup(copied.db)
    return copied


@contextmanager
def spoilt(log: SqliteLog, query: str, *values: object) -> Generator[SqliteLog]:
    """The log with a change that is taken back."""
    log.db.execute("begin")
    try:
        assert log.db.execute(query, values).rowcount
        yield log
    finally:
        log.db.execute("rollback")


def verified(log: SqliteLog) -> Verified:
    return Verifier(log, find).run()


def named(log: SqliteLog) -> bool:
    """Whether something is said of what was changed: that it diverges, or that no policy here made it."""
    done = verified(log)
    return bool(done.diverged or done.unverifiable)


CLOSED = "exists(select 1 from records c where c.episode = r.episode and c.kind = 'episode.closed')"
KINDS = f"select kind, max({CLOSED}) from records r group by kind"
ONE = f"select offset, episode, body from records r where kind = ? order by {CLOSED} desc, offset"


def kinds_of(logs: Logs) -> dict[str, str]:
    """For each kind of record a policy whose log has one, in a closed episode if there is such; the shortest."""
    found: dict[str, tuple[bool, int, str]] = {}
    for policy, log in logs.items():
        for kind, closed in log.db.execute(KINDS):
            here = (not closed, log.end(), policy)
            found[kind] = min(found.get(kind, here), here)
    return {kind: policy for kind, (_, _, policy) in found.items()}


FIELD = "update records set body = ? where offset = ?"


def test_every_log_verifies_as_it_was_left(logs: Logs) -> None:
    for policy, log in logs.items():
        done = verified(log)
        assert (policy, done.diverged, done.unverifiable) == (policy, [], [])


def test_every_field_of_every_kind_of_record_is_compared(logs: Logs) -> None:
    missed: set[Place] = set()
    for kind, policy in sorted(kinds_of(logs).items()):
        log = logs[policy]
        offset, _, body = log.db.execute(ONE, (kind,)).fetchone()
        said = orjson.loads(body)
        for name in said.keys() - {"kind", "version"}:
            changed = orjson.dumps(said | {name: other(said[name])}).decode()
            with spoilt(log, FIELD, changed, offset):
                if not named(log):
                    missed.add((kind, name))
        with spoilt(log, "update records set at_ms = at_ms + 60000 where offset = ?", offset):
            if not named(log):
                missed.add((kind, "at_ms"))
    assert missed == {place for place in ONCE if place[0] in kinds_of(logs)}


def test_every_column_of_every_message_is_compared(logs: Logs) -> None:
    log, missed = logs["mgv_flavell"], set[Place]()
    topics = [topic for (topic,) in log.db.execute("select distinct topic from messages")]
    assert set(topics) >= {"answers", "problems"}
    for topic in topics:
        query = "select offset, value from messages where topic = ?"
        offset, value = log.db.execute(query, (topic,)).fetchone()
        said = orjson.loads(value)
        changes: list[tuple[str, object]] = [
            ("key", "p/d/other/0"),
            ("headers", '{"more": 1}'),
            ("at_ms", 1),
            *(("value", orjson.dumps(said | {name: other(said[name])})) for name in said),
        ]
        for column, now in changes:
            with spoilt(log, f"update messages set {column} = ? where offset = ?", now, offset):
                if not named(log):
                    missed.add((topic, column))
    assert missed == {place for place in ONCE if place[0] in topics}


def test_against_published_heads_no_field_of_any_kind_of_record_can_be_changed(logs: Logs) -> None:
    for kind, policy in sorted(kinds_of(logs).items()):
        log = logs[policy]
        heads = published(log, records=True)
        offset, episode, _ = log.db.execute(ONE, (kind,)).fetchone()
        for name, change in fields_of(log, "records", offset):
            with spoilt(log, change[0], *change[1]):
                found = {each.episode for each in held(log, heads).diverged}
                assert episode in found, (kind, name)


def test_against_published_heads_no_field_of_any_message_can_be_changed(logs: Logs) -> None:
    log = logs["mgv_flavell"]
    heads = published(log, records=True)
    for topic in ("answers", "problems"):
        (offset,) = log.db.execute(
            "select offset from messages where topic = ?", (topic,)
        ).fetchone()
        for name, change in fields_of(log, "messages", offset):
            with spoilt(log, change[0], *change[1]):
                found = {each.episode for each in held(log, heads).diverged}
                assert topic in found, (topic, name)


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("column", ["model", "text", "finish", "prompt_tokens", "at_ms"])
def test_a_changed_reply_is_named_by_its_episode(logs: Logs, policy: str, column: str) -> None:
    log = logs[policy]
    offset, episode, body = log.db.execute(ONE, ("completed",)).fetchone()
    said = orjson.loads(body)
    if column == "at_ms":
        change: tuple[str, object] = "at_ms = at_ms + ?", 60_000
    else:
        change = "body = ?", orjson.dumps(said | {column: other(said[column])}).decode()
    with spoilt(log, f"update records set {change[0]} where offset = ?", change[1], offset):
        assert episode in {each.episode for each in verified(log).diverged}


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_times_that_are_all_moved_are_found(logs: Logs, policy: str) -> None:
    log = logs[policy]
    ended = "select episode from records where kind = 'episode.closed'"
    episodes = {episode for (episode,) in log.db.execute(ended)}
    with spoilt(log, "update records set at_ms = at_ms - 3600000"):
        found = {each.episode for each in verified(log).diverged if each.part == "stamps"}
    assert found == episodes


def test_every_record_that_is_deleted_doubled_or_out_of_its_order_is_missed(logs: Logs) -> None:
    for kind, policy in sorted(kinds_of(logs).items()):
        log = logs[policy]
        offset, episode, _ = log.db.execute(ONE, (kind,)).fetchone()
        with spoilt(log, "delete from records where offset = ?", offset):
            at_its_end = offset > log.end()
            assert verified(log).diverged or at_its_end, f"{kind} is gone"
        doubled = (
            "insert into records select (select max(offset) + 1 from records), topic, partition, epoch, "
            "episode, address || '.9999', kind, at_ms, body from records where offset = ?"
        )
        with spoilt(log, doubled, offset):
            where = {each.episode for each in verified(log).diverged}
            assert episode in where, f"{kind} stands there twice"


def test_two_records_that_changed_their_places_are_found(logs: Logs) -> None:
    log = logs["mc2"]
    query = "select offset, address from records where kind in ('completed', 'episode.closed') and episode = ?"
    (episode,) = log.db.execute("select episode from records where kind = 'completed'").fetchone()
    rows = log.db.execute(query + " order by offset", (episode,)).fetchall()
    (first, one), (last, two) = rows[0], rows[-1]
    swapped = (
        "update records set body = (select body from records r where r.offset = ? - records.offset) "
        "where offset in (?, ?)"
    )
    with spoilt(log, swapped, first + last, first, last):
        assert episode in {each.episode for each in verified(log).diverged}, (one, two)
    moved = "update records set offset = case offset when ?1 then -?2 else -?1 end where offset in (?1, ?2)"
    with spoilt(log, moved, first, last):
        log.db.execute("update records set offset = -offset where offset < 0")
        assert episode in {each.episode for each in verified(log).diverged}


def test_an_end_that_is_cut_off_is_found_or_told(logs: Logs) -> None:
    log = logs["mc2"]
    for kept in range(1, log.end()):
        with spoilt(log, "delete from records where offset > ?", kept):
            done = verified(log)
            assert done.diverged or "what may be cut off at the end" in {
                each.what for each in done.left_out
            }


def test_closings_of_earlier_builds_are_told_as_not_stamped() -> None:
    with closing(import_jsonl(str(GOLDEN))) as log:
        done = verified(log)
    assert done.diverged == []
    told = {each.what: each.count for each in done.left_out}
    assert told["closings"] == 8 + 2
    # They are by an earlier version of the checker, which alone can say them again.
    assert told["grades"] == 8


def test_a_grade_of_no_version_of_the_checker_is_found() -> None:
    renamed = "update records set body = replace(body, 'game24@1', 'other@1') where kind = 'graded'"
    with closing(import_jsonl(str(GOLDEN))) as log, spoilt(log, renamed):
        assert len(verified(log).diverged) == 8


def test_what_stands_there_once_is_told(logs: Logs) -> None:
    for log in logs.values():
        told = {each.what for each in verified(log).left_out}
        assert "times of records" in told
        assert "messages' times, headers and problems' keys" in told
        assert "series' seed, order and build" in told
