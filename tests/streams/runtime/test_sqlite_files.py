"""Which files are logs, and who may make one."""

from __future__ import annotations

import gc
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from streams.runtime.embedded.log import NoLog, NotALog, SqliteLog
from streams.runtime.embedded.reading import ReadOnlyLog
from streams.runtime.embedded.tables import SCHEMA_VERSION


def foreign(path: Path, version: int) -> bytes:
    """A file of another application."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table notes(text)")
        db.execute("insert into notes values ('mine')")
        db.execute(f"pragma user_version={version}")
        db.commit()
    return path.read_bytes()


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION, SCHEMA_VERSION + 1])
def test_the_file_of_another_application_is_refused_and_not_touched(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "notes.db"
    before = foreign(path, version)
    for create in (False, True):
        with pytest.raises(NotALog):
            SqliteLog(path, create=create)
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["notes.db"]


def test_a_log_of_a_later_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    SqliteLog(path, create=True).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"pragma user_version={SCHEMA_VERSION + 1}")
    with pytest.raises(NotALog, match="format"):
        SqliteLog(path)


def test_a_text_file_and_a_folder_are_no_logs(tmp_path: Path) -> None:
    text = tmp_path / "m.txt"
    text.write_text("no log\n" * 200)
    for path in (text, tmp_path):
        with pytest.raises(NotALog):
            SqliteLog(path, create=True)
    assert text.read_text() == "no log\n" * 200


ENDLESS = """
  with recursive n(i) as (select 1 union all select i + 1 from n)
  select i offset, 'events' topic, 0 partition, 0 epoch, 'e' episode, 'a' address, 'k' kind, 0 at_ms, '{}' body from n
"""
UNTRUE = """
  create trigger untrue after insert on records begin
    update records set body = replace(body, 'right', 'wrong') where offset = new.offset; end
"""
CHECKED = """
  pragma writable_schema=on;
  update sqlite_master set sql = replace(sql, 'at_ms integer', 'at_ms check(at_ms < 0)') where name = 'messages'
"""


@pytest.mark.parametrize("opened", [SqliteLog, ReadOnlyLog])
@pytest.mark.parametrize(
    ("done", "name"),
    [
        (
            f"alter table records rename to kept; create view records as {ENDLESS}",
            "records_identity",
        ),
        (f"drop table counters; create view COUNTERS as {ENDLESS}", "COUNTERS"),
        (f"create view keyed as {ENDLESS}", "keyed"),
        (f"create view lain as {ENDLESS}", "lain"),
        ("drop view answers; create table answers(x)", "answers"),
        (UNTRUE, "untrue"),
        ("create virtual table found using fts5(text)", "found"),
        ("create unique index one on records(kind)", "one"),
        (
            "drop index records_identity; create unique index records_identity on records(kind)",
            "records_identity",
        ),
        (CHECKED, "messages"),
    ],
)
def test_a_file_that_would_run_or_answer_in_place_of_a_log_is_refused_and_not_touched(
    tmp_path: Path, done: str, name: str, opened: type[SqliteLog]
) -> None:
    """It may come from anybody: our own writes would set it off, or reading it never end."""
    path = tmp_path / "m.db"
    SqliteLog(path, create=True).close()
    with closing(sqlite3.connect(path)) as db:
        db.executescript(done)
        db.execute("pragma wal_checkpoint(truncate)")
    before = path.read_bytes()
    with pytest.raises((NotALog, sqlite3.DatabaseError), match=f"'{name}' in it is"):
        opened(path)
    assert path.read_bytes() == before


def test_people_may_keep_tables_and_views_of_their_own_in_a_log(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    SqliteLog(path, create=True).close()
    with closing(sqlite3.connect(path)) as db:
        db.executescript("""
          create table "my notes"(text); create table if not exists notes (x unique, y);
          create index notes_y on notes(y); create index by_kind on records(kind);
          create view newest as select max(offset) from records; drop view outcomes;
          analyze; vacuum""")
    SqliteLog(path).close()
    ReadOnlyLog(path).close()


def test_only_who_may_makes_a_log(tmp_path: Path) -> None:
    with pytest.raises(NoLog):
        SqliteLog(tmp_path / "m.db")
    assert not list(tmp_path.iterdir())
    SqliteLog(tmp_path / "m.db", create=True).close()
    SqliteLog(tmp_path / "m.db").close()


def test_two_connections_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with closing(SqliteLog(path, create=True)) as one, closing(SqliteLog(path)) as other:
        before = other.data_version()
        one.publish([("t", "k", {"h": [1]}, b"\xff\x00")])
        assert other.data_version() != before
        assert list(other.messages("t")) == [(1, "k", {"h": [1]}, b"\xff\x00")]


@pytest.mark.parametrize("opened", [SqliteLog, ReadOnlyLog])
def test_a_log_that_nobody_closed_is_closed_in_whatever_thread_it_is_collected(
    tmp_path: Path, opened: type[SqliteLog]
) -> None:
    path = tmp_path / "m.db"
    SqliteLog(path, create=True).close()
    log = opened(path)
    db = log.db
    ring: list[object] = [log]
    ring.append(ring)  # so that only the collector lets go of it
    gc.disable()
    try:
        del log, ring
        collector = threading.Thread(target=gc.collect)
        collector.start()
        collector.join()
    finally:
        gc.enable()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        db.execute("select 1")


def test_who_opens_a_log_that_somebody_else_begins_just_now_waits_for_it(tmp_path: Path) -> None:
    """As a worker and whoever puts the first problem do: the second was told that the file was locked."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("begin immediate")
        begun = threading.Timer(0.3, lambda: other.execute("commit"))
        begun.start()
        SqliteLog(path, create=True).close()
        assert begun.finished.is_set()
        begun.join()
