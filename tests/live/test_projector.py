"""The projector follows a log, upserts by key, begins where it ended, and survives spoiled tables."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.memory import Memory
from state.folds.state import Touched
from state.projections.items import LESSONS
from state.tables import lance
from state.tables.lance import COMPACT_EVERY, LanceTable
from state.tables.table import WATERMARK, unmarked
from state.tables.tableset import TableSet
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.projector import Projector, tables_path
from streams.runtime.embedded.rebuild import snapshot_path
from tests.live.test_projector_kill import INSERT, PARTS
from tests.streams.cli.calling import call, process
from tests.streams.cli.learned import PROBLEMS, made

pytestmark = [pytest.mark.live, pytest.mark.slow]
NAMES = {
    *("lessons", "knowledge", "reflections", "cases", "episodes", "arms"),
    *("graph_queries", "graph_paths", "graph_metacognitions", "graph_edges"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(SqliteLog(made())) as log:
        log.db.execute("vacuum into ?", (str(tmp_path / "a.db"),))
    return tmp_path / "a.db"


def table_rows(path: Path, name: str) -> list[dict[str, Any]]:
    from state.tables.lance import connected

    rows = connected(tables_path(path)).open_table(name).to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row["key"])


def without_mark(path: Path, name: str) -> list[dict[str, Any]]:
    """A table's rows; how far it was written hangs on the moment."""
    return [row for row in table_rows(path, name) if row["key"] != WATERMARK]


def projected(path: Path) -> tuple[list[str], dict[str, str]]:
    told: list[str] = []
    with closing(SqliteLog(path)) as log:
        projector = Projector(log, told=told.append)
        projector.open()
        projector.close()
        found = told, projector.tables.hashes()
    # As at the end of a process: what is kept of the snapshot is closed with the state that reads from it, which
    # Python 3.13 holds until it collects.
    del projector
    gc.collect()
    return found


def test_growing_by_parts_equals_writing_at_once(path: Path, tmp_path: Path) -> None:
    with closing(SqliteLog(path)) as log:
        rows = log.db.execute("select * from records order by offset").fetchall()
    grown = tmp_path / "grown.db"
    with closing(SqliteLog(grown, create=True)) as log:
        log.db.execute(INSERT, rows[0])
        projector = Projector(log)
        projector.open()
        for first in range(1, len(rows), len(rows) // PARTS):
            log.db.executemany(INSERT, rows[first : first + len(rows) // PARTS])
            projector.follow(lambda: True)
        projector.keep()
        by_parts = projector.tables.hashes()
    told, checked = projected(grown)  # it did not end in good order: every row is checked
    assert not told, "a table was written anew"
    assert checked == by_parts == projected(path)[1]
    for name in NAMES:
        assert without_mark(grown, name) == without_mark(path, name)


def test_rows_say_what_was_learned(path: Path) -> None:
    projected(path)
    lessons = {row["key"]: row for row in table_rows(path, "lessons")}
    mark = lessons.pop(WATERMARK)
    with closing(SqliteLog(path)) as log:
        said = log.db.execute("select id, text from lessons").fetchall()
        assert mark["off"] == log.end()
    assert {(row["id"], row["text"]) for row in lessons.values()} == set(said)
    first = next(iter(lessons.values()))
    assert first["embedder"] == "hashed-256"
    assert any(first["vector"])
    assert all(row["uses"] >= row["right_uses"] + row["wrong_uses"] for row in lessons.values())
    episodes = table_rows(path, "episodes")
    assert len(episodes) == PROBLEMS + 1
    assert {row["outcome"] for row in episodes if row["key"] != WATERMARK} <= {"right", "wrong"}


def test_starts_again_without_writing(path: Path) -> None:
    first, sums = projected(path)
    assert sum(line.endswith("rows written") for line in first) == len(NAMES)
    assert projected(path) == ([], sums)


@pytest.mark.parametrize("part", ["data/*", "_versions/*"])
def test_a_spoiled_table_is_written_anew(path: Path, part: str) -> None:
    sums = projected(path)[1]
    for file in (tables_path(path) / "lessons.lance").glob(part):
        file.write_bytes(b"junk")
    told, again = projected(path)
    assert any(line.startswith("lessons: ") and line.endswith("rows written") for line in told)
    assert again == sums


def test_a_table_that_is_spoiled_while_it_is_followed_is_written_anew_at_the_end(
    path: Path,
) -> None:
    sums, told = projected(path)[1], list[str]()
    with closing(SqliteLog(path)) as log:
        projector = Projector(log, told=told.append)
        projector.open()
        for file in (tables_path(path) / "lessons.lance").glob("_versions/*"):
            file.write_bytes(b"")
        projector.close()
        assert projector.tables.hashes() == sums
    assert any(line.startswith("lessons: ") and line.endswith("written anew") for line in told)
    assert projected(path) == ([], sums)


def test_tables_that_are_removed_while_the_log_is_followed_come_back_with_the_next_snapshot(
    path: Path,
) -> None:
    with closing(SqliteLog(path)) as log:
        projector = Projector(log)
        projector.open()
        before = {name: without_mark(path, name) for name in NAMES}
        shutil.rmtree(tables_path(path))
        projector.keep()
        assert {name: without_mark(path, name) for name in NAMES} == before
        projector.close()
    assert projected(path)[0] == []


def test_what_tables_keep_in_memory_does_not_grow_with_their_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import lancedb

    connect: Any = lancedb.connect
    sessions: list[Any] = []

    def noted(folder: Path, session: Any = None) -> Any:
        sessions.append(session or lancedb.Session())
        return connect(folder, session=sessions[-1])

    monkeypatch.setattr(lancedb, "connect", noted)
    monkeypatch.setattr(lance, "CACHED", 1 << 16)
    lance.writer.cache_clear()
    table = LanceTable(tmp_path, LESSONS, None)
    table.write_anew(list, 0)
    for offset in range(1, 3 * COMPACT_EVERY):
        table.merge([{"key": f"L{offset % 7}", "off": offset}], offset)
    lance.writer.cache_clear()
    # What is in use is held beyond the bound for a moment.
    assert sum(each.size_bytes for each in {*sessions}) < 4 << 16


def test_tables_whose_writers_are_killed_one_after_another_are_compacted(tmp_path: Path) -> None:
    LanceTable(tmp_path, LESSONS, None).write_anew(list, 0)
    most = 0
    for offset in range(1, 2 * COMPACT_EVERY, 4):
        table = LanceTable(tmp_path, LESSONS, None)
        table.open(check=True)
        for each in range(offset, offset + 4):
            table.merge([{"key": f"L{each}", "off": each}], each)
        parts = table.handle.stats()["fragment_stats"]["num_fragments"]
        most = max(most, parts)
    assert most < COMPACT_EVERY


def lessons(*names: str) -> list[dict[str, Any]]:
    return [{"key": name, "off": 1} for name in names]


def opened_keys(folder: Path) -> set[str]:
    """What a table holds, for its next writer as for anybody who reads."""
    table = LanceTable(folder, LESSONS, None)
    table.open(check=True)
    rows = lance.connected(folder).open_table(LESSONS.name).to_arrow().to_pylist()
    assert {row["key"] for row in rows} == {WATERMARK, *table.hashes}
    return {*table.hashes}


def test_the_first_of_all_writes_warn_nobody(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = LanceTable(tmp_path, LESSONS, None)
    for offset in (1, 2):
        table.write_anew(lambda: lessons("L1"), offset)
    assert capfd.readouterr().err == ""


def test_a_table_that_is_written_anew_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    table = LanceTable(tmp_path, LESSONS, None)
    table.write_anew(lambda: lessons("L1", "L2"), 1)

    def killed() -> Iterator[dict[str, Any]]:
        yield from lessons("L2")
        assert opened_keys(tmp_path) == {"L1", "L2"}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LanceTable(tmp_path, LESSONS, None).write_anew(killed, 2)
    assert opened_keys(tmp_path) == {"L1", "L2"}
    table.write_anew(lambda: lessons("L3"), 2)
    assert opened_keys(tmp_path) == {"L3"}
    held = [file for file in tmp_path.rglob("*") if file.is_file() and b"L1" in file.read_bytes()]
    assert held == [], "no older version may hold what was withdrawn"


def test_an_arm_that_made_room_for_another_leaves_its_table(path: Path) -> None:
    scope, other = "game24/it's/main/0", "game24/it's/main/1"
    held = {scope: ["a1", "a'2"], other: ["a1"]}

    def latest(names: list[str]) -> Any:
        arms = [{"id": name, "pulls": 1} for name in names]
        return SimpleNamespace(latest=Memory(scope, 1, learned={"arms": arms}))

    memories = {name: latest(arms) for name, arms in held.items()}
    state = SimpleNamespace(memories=memories, digests=dict.fromkeys([(scope, 1), (other, 1)]))
    state.offset, state.dimensions = 1, None

    def version_offset(scope: str, number: int) -> int:
        return number

    source: Any = SimpleNamespace(state=state, mark=unmarked, version_offset=version_offset)
    tables = TableSet(tables_path(path), source, ["arms"])
    tables.open({})
    memories[scope] = latest(["a1", "a3"])
    state.offset, touched = 2, Touched()
    touched.versions.add((scope, 2))
    tables.flush(touched)
    told = [(row["scope"], row["name"]) for row in without_mark(path, "arms")]
    assert told == [(scope, "a1"), (scope, "a3"), (other, "a1")]
    grown = tables.hashes()
    tables.write_anew("arms")
    assert tables.hashes() == grown


def test_a_lost_or_foreign_snapshot_is_none(path: Path) -> None:
    sums = projected(path)[1]
    snapshot_path(path).write_bytes(b"junk" * 1000)
    assert projected(path)[1] == sums
    snapshot_path(path).unlink()
    assert projected(path)[1] == sums


def test_tables_of_a_log_that_was_set_back_are_written_anew(path: Path, tmp_path: Path) -> None:
    """They hold rows that the log no longer has; and later others under the same offsets."""
    folders = (path, snapshot_path(path))
    sums = projected(path)[1]
    kept = {each: each.read_bytes() for each in folders}
    more(path)
    assert projected(path)[1] != sums
    set_back(kept)
    assert projected(path)[1] == sums
    more(path)
    longer = projected(path)[1]
    set_back(kept)
    more(path)
    told, again = projected(path)
    assert any("the log that it was written from" in line for line in told)
    assert written_anew(path) == again != longer


def test_a_snapshot_of_a_log_that_was_set_back_is_none(path: Path) -> None:
    """Though the log went on since, and is longer than what the snapshot holds."""
    kept = {path: path.read_bytes()}
    more(path)
    projected(path)
    set_back(kept)
    more(path)
    more(path, "mgv_flavell")
    hashed = call("rebuild", "--snapshot", "--json", "--log", path).json
    assert hashed["from_snapshot"] == 0
    assert hashed["hash"] == call("state", "hash", "--log", path).out.strip()


def set_back(kept: dict[Path, bytes]) -> None:
    """Restore the log and its snapshot; the tables stay as they are."""
    for file, held in kept.items():
        for end in ("-wal", "-shm"):
            file.with_name(file.name + end).unlink(missing_ok=True)
        file.write_bytes(held)


def more(path: Path, policy: str = "cot") -> None:
    assert call("produce", "game24:931-932", "--policy", policy, "--log", path).code == 0
    idle = ("--until-idle", "--settle", "--no-tables", "--display", "none")
    assert call("worker", "--backbone", "rehearsal:seed=7", *idle, "--log", path).code == 0


def written_anew(path: Path) -> dict[str, str]:
    snapshot_path(path).unlink()
    return projected(path)[1]


def test_tables_of_another_log_are_written_anew(path: Path, tmp_path: Path) -> None:
    sums = projected(path)[1]
    other = tmp_path / "other" / "b.db"
    other.parent.mkdir()
    more(other)
    projected(other)
    shutil.rmtree(tables_path(path))
    shutil.copytree(tables_path(other), tables_path(path))
    assert projected(path)[1] == sums


def test_one_writer(path: Path) -> None:
    first = process("projector", "--log", path, cwd=path.parent)
    assert first.stderr is not None
    while not first.stderr.readline().startswith(b"ready"):
        assert first.poll() is None
    second = call("rebuild", "--log", path)
    assert second.code == 6
    assert str(first.pid) in second.err
    first.terminate()
    assert first.wait(90) == 0
    first.stderr.close()
    if first.stdout is not None:
        first.stdout.close()
    done = call("rebuild", "--log", path, "--json")
    assert done.code == 0
    assert set(done.json["tables"]) == NAMES
    assert done.json["hash"] == call("state", "hash", "--log", path).out.strip()


def test_the_worker_brings_a_projector(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    call("produce", "game24:901-910", "--policy", "mc2", "--log", path)
    words = ("worker", "--log", path, "--backbone", "rehearsal:seed=7", "--until-idle", "--settle")
    worker = process(*words, cwd=tmp_path)
    worker.communicate(timeout=100)
    assert worker.returncode == 0
    assert snapshot_path(path).exists()
    assert len(table_rows(path, "lessons")) > 1
    assert tables_path(path).with_name("a.db.tables.clean").exists()


def test_rebuild_to_a_version_leaves_the_tables_alone(path: Path) -> None:
    whole = call("rebuild", "--log", path)
    before = table_rows(path, "lessons")
    first = call("rebuild", "--log", path, "--to", "1", "--tables", "lessons")
    assert first.code == whole.code == 0
    assert first.lines[-1] != whole.lines[-1]
    assert table_rows(path, "lessons") == before
    assert call("rebuild", "--log", path, "--to", "99").code == 2
    assert call("rebuild", "--log", path, "--tables", "nonsense").code == 2
    zero = call("rebuild", "--log", path, "--to", "0", "--tables", "none", "--json")
    assert json.loads(zero.out)["events"] == 0
