"""From nothing, from any snapshot, in another process: the same state."""

from __future__ import annotations

import gc
import random
import re
import weakref
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from state.collecting import MANY, uncollected
from state.folds.state import State
from state.snapshot import Snapshots
from state.snapshot_parts import life_body
from streams.runtime.embedded.files import copy_to
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold, offset_of_version
from tests.streams.cli.calling import call, process
from tests.streams.cli.learned import made


@pytest.fixture
def log() -> Iterator[SqliteLog]:
    with closing(SqliteLog(made())) as opened:
        yield opened


def same(left: State, right: State) -> bool:
    """Equal in everything that later records and rows hang on."""
    lives = all(
        a.item == b.item and life_body(a) == life_body(b)
        for a, b in ((life, right.lives.known[key]) for key, life in left.lives.known.items())
    )
    waiting = all(
        fold.reflected == right.memories[scope].reflected
        and fold.batches == right.memories[scope].batches
        and fold.versions == right.memories[scope].versions
        and fold.labelling.stated == right.memories[scope].labelling.stated
        and fold.labelling.graded == right.memories[scope].labelling.graded
        and fold.words == right.memories[scope].words
        and fold.forgetting == right.memories[scope].forgetting
        and fold.learning == right.memories[scope].learning
        for scope, fold in left.memories.items()
    )
    return (
        left.hash() == right.hash()
        and (left.offset, left.events) == (right.offset, right.events)
        and left.outcomes == right.outcomes
        and left.costs == right.costs
        and left.dimensions == right.dimensions
        and left.forgotten == right.forgotten
        and lives
        and waiting
    )


def test_from_any_snapshot(log: SqliteLog, tmp_path: Path) -> None:
    draw, end = random.Random(3), log.end()
    for number in range(12):
        kept = Snapshots(tmp_path / f"{number}.db", "log")
        state = kept.load()
        for upto in sorted(draw.sample(range(1, end), 4)):
            kept.save(fold(log, state, upto))
            state = Snapshots(kept.path, "log").load()
            assert same(state, fold(log, State(), upto))
            kept = Snapshots(kept.path, "log")
            state = kept.load()
        assert same(fold(log, state), fold(log, State()))


def test_whole_numbers_count_however_they_are_spelled(log: SqliteLog, tmp_path: Path) -> None:
    copy_to(log.db, tmp_path / "a.db")
    with closing(SqliteLog(tmp_path / "a.db")) as other:
        found = other.db.execute("select offset, body from records").fetchall()
        spelled = [
            (re.sub(r'("(?:number|batch|\w+_tokens)":\d+)(?=[,}])', r"\1.0", body), offset)
            for offset, body in found
        ]
        other.db.executemany("update records set body = ? where offset = ?", spelled)
        assert [body for body, _ in spelled] != [body for _, body in found]
        assert same(fold(other, State()), fold(log, State()))


def test_writes_only_what_changed(log: SqliteLog, tmp_path: Path) -> None:
    kept = Snapshots(tmp_path / "a.db", "log")
    state = kept.load()
    version = offset_of_version(log, 1)
    assert version is not None
    all_keys = kept.save(fold(log, state, version))
    assert kept.save(fold(log, state, version + 20)) < all_keys / 4
    assert kept.save(state) <= 3  # the ledger's three columns


@pytest.mark.parametrize("spoiled", ["log", "content", "format"])
def test_what_is_no_snapshot_is_none(log: SqliteLog, tmp_path: Path, spoiled: str) -> None:
    kept = Snapshots(tmp_path / "a.db", "log")
    kept.save(fold(log, kept.load()))
    if spoiled == "content":
        kept.path.write_bytes(b"junk" * 4096)
    if spoiled == "format":
        import sqlite3

        with closing(sqlite3.connect(kept.path)) as db:
            db.execute("update parts set body = '{}' where part = 'meta'")
            db.commit()
    name = "another" if spoiled == "log" else "log"
    again = Snapshots(kept.path, name)
    state = again.load()
    assert state.offset == 0
    again.save(fold(log, state))
    assert same(Snapshots(kept.path, name).load(), fold(log, State()))


@pytest.mark.parametrize("seed", ["1", "2"])
def test_in_another_process_with_another_hash_seed(log: SqliteLog, seed: str) -> None:
    words = ("state", "hash", "--log", made())
    other = process(*words, cwd=made().parent, PYTHONHASHSEED=seed)
    out, _ = other.communicate(timeout=60)
    assert out.decode().strip() == fold(log, State()).hash() == call(*words).out.strip()


@pytest.mark.parametrize("kept", [False, True])
def test_a_state_that_nobody_holds_is_gone_at_once(
    log: SqliteLog, tmp_path: Path, kept: bool
) -> None:
    snapshots = Snapshots(tmp_path / "a.db", "log")
    snapshots.save(fold(log, State()))
    with uncollected():  # who folds again does not hold two of them
        known = weakref.ref(fold(log, snapshots.load() if kept else State()))
        assert known() is None


def test_much_that_was_made_without_cycles_is_old_at_once() -> None:
    gc.collect()  # whatever stood before it was young
    with uncollected():
        many = [[each] for each in range(2 * MANY)]
    assert gc.isenabled()
    assert len(gc.get_objects(generation=0)) < MANY < len(many)


def test_lessons_count_their_opportunities(log: SqliteLog) -> None:
    state = fold(log, State())
    used = {life.key for lives in map(state.lives.used_in, state.lives.uses) for life in lives}
    assert used
    for episode in state.lives.uses:
        for life in state.lives.used_in(episode):
            assert life.uses >= life.right + life.wrong > 0
    uses = sum(len(state.lives.used_in(episode)) for episode in state.lives.uses)
    assert uses == sum(life.uses for life in state.lives.known.values())
