"""An export can be analysed elsewhere: the examples run, every column is documented, one episode is whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import Completed
from streams.research.export.parquet import QUERIES
from streams.research.export.tables import EXPORTED
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call, copied
from tests.streams.cli.learned import PROBLEMS, made, rows

pytestmark = pytest.mark.slow
MODEL = ("--backbone", "rehearsal:seed=7")


def read(file: Path) -> Any:
    return import_module("pyarrow.parquet").read_table(file)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("export") / "all"
    done = call("export", to, "--log", made())
    assert done.code == 0, done.err
    return to


@pytest.fixture(scope="module")
def db(folder: Path) -> Generator[sqlite3.Connection]:
    """The files in SQLite, which reads the same SQL as DuckDB here."""
    with closing(sqlite3.connect(":memory:")) as made_here:
        load(made_here, folder)
        yield made_here


def load(made_here: sqlite3.Connection, folder: Path) -> None:
    for file in folder.glob("*.parquet"):
        table = read(file)
        plain = [
            name
            for name in table.column_names
            if not str(table.schema.field(name).type).endswith("]")
        ]
        plain = [n for n in plain if "list" not in str(table.schema.field(n).type)]
        names = ", ".join(f'"{name}"' for name in plain)
        made_here.execute(f"create table {file.stem}({names})")
        marks = ", ".join("?" * len(plain))
        rows = [tuple(row[name] for name in plain) for row in table.to_pylist()]
        made_here.executemany(f"insert into {file.stem} values ({marks})", rows)


def answers(db: sqlite3.Connection, folder: Path, name: str) -> list[tuple[Any, ...]]:
    return db.execute((folder / "queries" / f"{name}.sql").read_text()).fetchall()


def test_every_query_says_something(db: sqlite3.Connection, folder: Path) -> None:
    assert {file.stem for file in (folder / "queries").iterdir()} == QUERIES.keys()
    assert all(answers(db, folder, name) for name in QUERIES)


def test_accuracy_by_batch(db: sqlite3.Connection, folder: Path) -> None:
    batches = answers(db, folder, "accuracy_by_batch")
    assert sum(members for _, _, members, *_ in batches) == PROBLEMS
    assert [
        unknown for *_, undecided, ungraded, _ in batches for unknown in (undecided, ungraded)
    ] == [0] * (2 * len(batches))
    right = db.execute("select count(*) from episodes where graded = 'right'").fetchone()[0]
    assert (
        right == db.execute("select count(*) from episodes where outcome = 'right'").fetchone()[0]
    )
    assert sum(members * accuracy for _, _, members, *_, accuracy in batches) == pytest.approx(
        right
    )


def test_what_nobody_graded_is_no_wrong_answer() -> None:
    """Withheld counts as not right; without any label there is no accuracy."""
    graded = {1: ("right", "wrong", "withheld", "undecided"), 2: ("not graded", "undecided")}
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("create table batches(scope, batch, graded, episode)")
        members = [("s", batch, each, "p/d/q/1") for batch, all_ in graded.items() for each in all_]
        # Cases that other tools worked on count in nobody's accuracy here.
        members += [("s", batch, "right", f"p/d/q/taken-{batch}") for batch in (1, 2, 3)]
        db.executemany("insert into batches values (?, ?, ?, ?)", members)
        found = db.execute(QUERIES["accuracy_by_batch"]).fetchall()
    assert found == [("s", 1, 4, 1, 0, pytest.approx(1 / 3)), ("s", 2, 2, 1, 1, None)]


def test_a_call_without_usage_makes_the_sum_unknown_and_one_that_was_taken_over_is_in_none() -> (
    None
):
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(
            "create table completions(topic, role, prompt_tokens, completion_tokens, reused)"
        )
        rows = [("a", 3, 1, False), ("a", 4, None, False), ("b", 5, 2, False), ("b", 5, 2, True)]
        db.executemany("insert into completions values ('events', ?, ?, ?, ?)", rows)
        found = db.execute(QUERIES["tokens_by_role"]).fetchall()
    assert found == [("events", "a", 2, 1, 7, None), ("events", "b", 1, 0, 5, 2)]


def test_restart_ratio(db: sqlite3.Connection, folder: Path) -> None:
    ((decisions, ratio),) = answers(db, folder, "restart_ratio")
    with closing(SqliteLog(made())) as log:
        counts = log.db.execute(
            "select count(*), sum(body like '%\"restart\"%') from records where kind = 'controller.acted'"
        ).fetchone()
    assert (decisions, ratio) == (counts[0], pytest.approx(counts[1] / counts[0]))


def test_tokens_by_role(db: sqlite3.Connection, folder: Path) -> None:
    roles = answers(db, folder, "tokens_by_role")
    spent: dict[tuple[str, str], list[Completed]] = {}
    with closing(SqliteLog(made())) as log:
        for record in log.records(kinds=["completed"]):
            assert isinstance(record.event, Completed)
            role = record.event.asked.split(" ")[1]
            spent.setdefault((record.topic, role), []).append(record.event)
    assert {
        (topic, role): (calls, prompt, completion)
        for topic, role, calls, _, prompt, completion in roles
    } == {
        of: (
            len(each),
            sum(one.prompt_tokens or 0 for one in each),
            sum(one.completion_tokens or 0 for one in each),
        )
        for of, each in spent.items()
    }
    assert len(spent) > 3, "several roles, at work and when learning"


def test_lesson_usage(db: sqlite3.Connection, folder: Path) -> None:
    lessons = answers(db, folder, "lesson_usage")
    assert lessons[0][4] > 0
    assert all(share is None or 0 <= share <= 1 for *_, share in lessons)


def test_every_column_is_documented(folder: Path) -> None:
    said = (folder / "README.md").read_text()
    for table in EXPORTED:
        file = read(folder / f"{table.name}.parquet")
        assert set(file.column_names) == {column.name for column in table.columns}
        assert f"## {table.name} ({file.num_rows} rows)" in said
        assert all(f"| {name} |" in said for name in file.column_names)
        assert f"'{table.name}.parquet'" in (folder / "views.sql").read_text()


def test_one_episode_with_all_that_it_refers_to(tmp_path: Path) -> None:
    with closing(SqliteLog(made())) as log:
        query = "select episode from records where kind = 'recalled' limit 1"
        episode = log.db.execute(query).fetchone()[0]
        own = log.db.execute(
            "select count(*) from records where episode = ?", (episode,)
        ).fetchone()[0]
        items = set(read_items(log, episode))
    done = call("export", tmp_path / "one", "--log", made(), "--episode", episode, "--json")
    assert done.code == 0, done.err
    events = read(tmp_path / "one" / "events.parquet").to_pylist()
    assert sum(row["episode"] == episode for row in events) == own
    assert {row["kind"] for row in events if row["episode"] != episode} == {"text.kept"}
    held = read(tmp_path / "one" / "lessons.parquet").to_pylist()
    held += read(tmp_path / "one" / "knowledge.parquet").to_pylist()
    assert items
    assert {row["id"] for row in held} >= items
    assert done.json["rows"]["episodes"] == 1
    assert [row["episode"] for row in read(tmp_path / "one" / "batches.parquet").to_pylist()] == [
        episode
    ]


def test_one_episode_comes_with_the_rules_that_it_saw_and_no_others(tmp_path: Path) -> None:
    """Ids of rules return: each version may have other words under the same one."""
    with closing(SqliteLog(made())) as log:
        query = "select episode from records where kind = 'recalled'"
        episodes = [row[0] for row in log.db.execute(query)]
        (episode, version), *_ = pinned(log, episodes)
    assert call("export", tmp_path, "--log", made(), "--episode", episode).code == 0
    rules = read(tmp_path / "knowledge.parquet").to_pylist()
    assert rules
    for rule in rules:
        assert rule["since"] <= version < (rule["until"] or version + 1)


def pinned(log: SqliteLog, episodes: list[str]) -> list[tuple[str, int]]:
    """Episodes that pinned a version before the last, with their versions."""
    from schemas.events.episode import EpisodeOpened

    found = ((name, log.find(name, "opened")) for name in episodes)
    versions = [(n, e.memory_version) for n, e in found if isinstance(e, EpisodeOpened)]
    return [(name, number) for name, number in versions if number == 1]


def test_a_batch_that_was_closed_again_counts_once(tmp_path: Path) -> None:
    log = copied(made(), tmp_path / "a.db")
    subject = str(rows(log, "select subject from lessons order by offset limit 1")[0][0])
    problem = subject.rpartition("/")[2]
    forgotten = call("forget", "--problem", problem, "--yes", *MODEL, "--log", log)
    assert forgotten.code == 0, forgotten.err
    assert call("export", tmp_path / "ex", "--log", log).code == 0
    members = [row["episode"] for row in read(tmp_path / "ex" / "batches.parquet").to_pylist()]
    assert len(members) == len(set(members)) == PROBLEMS - 1
    assert not [name for name in members if f"/{problem}/" in name]
    with closing(sqlite3.connect(":memory:")) as db:
        load(db, tmp_path / "ex")
        assert db.execute("select count(*) from lessons where withdrawn").fetchone() != (0,)
        left = db.execute("select count(*) from lessons where not withdrawn").fetchone()[0]
        assert len(answers(db, tmp_path / "ex", "lesson_usage")) == left


def test_it_is_written_over_an_earlier_one_and_over_nothing_else(tmp_path: Path) -> None:
    own = tmp_path / "README.md"
    own.write_text("# Mine\n")
    refused = call("export", tmp_path, "--log", made())
    assert refused.code == 2
    assert str(tmp_path) in refused.err
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    own.unlink()
    for _ in "ab":
        assert call("export", tmp_path, "--log", made()).code == 0


def read_items(log: SqliteLog, episode: str) -> list[str]:
    from schemas.events.episode import Recalled

    events = log.journal(episode).values()
    return [name for event in events if isinstance(event, Recalled) for name, _, _ in event.items]
