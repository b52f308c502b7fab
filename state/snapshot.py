"""Snapshots of the state: one SQLite file beside the log, in which only changed keys are written again.

It is a cache. A snapshot of another log, of another format, or a broken one is no snapshot: the folds
then begin at nothing.
"""

# Theory of operation. A state is watched from the moment it is loaded, and ``save`` writes the
# keys that were touched since, with a head that says how far the log was read. Bodies are small
# JSON texts of one key each (``snapshot_parts``), so that a save costs what changed and not what
# is known.
#
# A snapshot may be read by one process while another writes it, and a worker puts one into the
# transaction of its own log. It must never be ahead of that log, or of another log than it says:
# hence the mark, which changes where a log was set back.
#
# Items, versions and labels are parsed when they are first asked for. Most of a large memory is
# never looked at between two restarts.

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias
from weakref import finalize

import orjson

from schemas.identity import learning_id
from schemas.memory import Memory, MemoryItem
from state.collecting import uncollected
from state.folds.lives import ItemKey, ItemUsage
from state.folds.state import State, Touched, scope_of
from state.snapshot_parts import (
    SEPARATOR,
    KeptLabels,
    batch_body,
    cost_body,
    item_body,
    labels_body,
    life_body,
    load_batch,
    load_cost,
    load_life,
    load_outcome,
    load_scope,
    load_stated,
    load_uses,
    load_waiting,
    load_window,
    outcome_body,
    scope_body,
    stated_body,
    uses_body,
    version_body,
    version_digest,
    window_body,
)
from state.tables.table import unmarked

# A change of any body needs a new number. An older file is then dropped and folded anew, which
# costs time and loses nothing.
FORMAT = 10
Row: TypeAlias = tuple[str, str, bytes | None]
TABLES = """
create table if not exists parts(part text not null, key text not null, body blob not null,
  primary key(part, key));
"""
PRAGMAS = "pragma journal_mode=wal; pragma synchronous=normal; pragma busy_timeout=30000;"


class Snapshots:
    """The snapshot file of one log. ``log_id`` names the log that it belongs to.

    ``mark`` names it up to an offset: a log that was set back and went on is another one from there.
    """

    def __init__(self, path: Path, log_id: str, mark: Callable[[int], int] = unmarked) -> None:
        self.path, self.log_id, self.mark = path, log_id, mark
        self.touched: Touched | None = None
        self.tables: dict[str, int] = {}
        """Up to which offset each table was written when the snapshot was."""

    def load(self) -> State:
        """The state as it was kept, or an empty one; either is watched from now on."""
        state = State()
        # Whatever is wrong with a cache, the log is still there; an error here would stop a worker
        # for nothing.
        with uncollected(), suppress(sqlite3.DatabaseError, ValueError, KeyError, TypeError):
            if self.path.exists():
                state = self._read()
        # A file that says nothing of this log would keep its old keys beside the new ones.
        if state.offset == 0:
            self.drop()
        self.touched = state.watch()
        return state

    def _read(self) -> State:
        state = State()
        db = _connected(self.path)
        try:
            head = orjson.loads(dict(_rows(db, "meta")).get("head", b"{}"))
            if not self._is_ours(head):
                db.close()
                return state
            _fill_learning(state, db, partial(_item_of, db))
            for episode, body in _rows(db, "uses"):
                load_uses(state, episode, body)
            for column, body in _rows(db, "cost"):
                load_cost(state, column, body)
        except BaseException:
            db.close()
            raise
        state.offset, state.events = head["offset"], head["events"]
        state.dimensions, self.tables = head["dimensions"], head["tables"]
        # The connection lives as long as the state, since its items are read from there when they
        # are needed.
        finalize(state, db.close)
        return state

    def reaches(self) -> int:
        """Up to which offset there is a snapshot of this log; 0 where there is none."""
        with suppress(sqlite3.DatabaseError, ValueError, KeyError, TypeError):
            if self.path.exists():
                with closing(_connected(self.path)) as db:
                    head = orjson.loads(dict(_rows(db, "meta")).get("head", b"{}"))
                    return int(head["offset"]) if self._is_ours(head) else 0
        return 0

    def learning(self, *, graded: bool = True) -> State | None:
        """What whoever learns goes on from, read as a whole: it may be written again meanwhile.

        None where there is no snapshot of this log. ``graded``: with the grades of all answers, which grow with the
        log; not for whoever looks them up there.
        """
        if not self.path.exists():
            return None
        with (
            uncollected(),
            suppress(sqlite3.DatabaseError, ValueError, KeyError, TypeError),
            closing(_connected(self.path)) as db,
        ):
            # One transaction, so that a writer in another process cannot change the file between
            # two parts.
            db.execute("begin")
            head = orjson.loads(dict(_rows(db, "meta")).get("head", b"{}"))
            if self._is_ours(head):
                state, items = State(), dict(_rows(db, "item"))
                _fill_learning(state, db, items.__getitem__, graded=graded)
                state.offset = head["offset"]
                return state
        return None

    def _is_ours(self, head: dict[str, Any]) -> bool:
        # The format is looked at first: of another one not even the head can be understood.
        if head.get("format") != FORMAT or head.get("log") != self.log_id:
            return False
        return head.get("mark") == self.mark(head["offset"])

    def save(self, state: State) -> int:
        """Write what changed since the last time, in one commit. How many keys that were."""
        written: int | None = None
        if self.touched is None:
            self.touched = state.watch()
        else:
            with suppress(sqlite3.DatabaseError):
                written = self._put(state, self.touched, anew=False)
        # A file that nobody followed, or that was broken since, is written as a whole: what was
        # touched alone would leave holes.
        if written is None:
            self.drop()
            written = self._put(state, everything(state), anew=True)
        self.touched.clear()
        return written

    def follow(self, state: State) -> None:
        """Begin to note what changes in a state that is to be put into a file which holds nothing of it."""
        self.touched = state.watch()

    def put(self, state: State, db: sqlite3.Connection) -> None:
        """Write what changed since it was loaded, followed or put, in a transaction whose owner commits it."""
        assert self.touched is not None
        # The caller commits, so that the snapshot and the records that it speaks of become durable
        # together.
        _insert(db, self._rows_of(state, self.touched, anew=False))
        self._written(state, self.touched)
        self.touched.clear()

    def _put(self, state: State, touched: Touched, *, anew: bool) -> int:
        # One commit, so that a crash leaves the snapshot before or this one, and no mixture.
        db = _connected(self.path)
        try:
            db.executescript(TABLES)
            db.execute("begin immediate")
            written = _insert(db, self._rows_of(state, touched, anew=anew))
            db.execute("commit")
        finally:
            db.close()
        self._written(state, touched)
        return written - 1

    def _written(self, state: State, touched: Touched) -> None:
        """The file holds the items of these by now."""
        for key in touched.lives:
            state.lives.known[key].kept = True

    def _rows_of(self, state: State, touched: Touched, *, anew: bool) -> Iterator[Row]:
        """What changed, and the head: one at a time, for together they take more memory than the state."""
        yield from _changed(state, touched, anew=anew)
        # A handful of small rows, which nobody notes changes of.
        if state.forgotten:
            yield "forgotten", "all", orjson.dumps(state.forgotten)
        for column, spent in state.costs.columns.items():
            yield "cost", column, cost_body(spent)
        head = {
            "format": FORMAT,
            "log": self.log_id,
            "mark": self.mark(state.offset),
            "offset": state.offset,
            "events": state.events,
            "dimensions": state.dimensions,
            "tables": self.tables,
        }
        yield "meta", "head", orjson.dumps(head)

    def drop(self) -> None:
        """Remove the file and what SQLite keeps beside it."""
        for end in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)


def everything(state: State) -> Touched:
    """Every key of the state."""
    return Touched(
        set(state.lives.known),
        set(state.digests),
        state.outcomes.known.keys() | state.lives.uses.keys(),
        {
            episode
            for scope, fold in state.memories.items()
            for episode in (
                *fold.learning,
                *(learning_id(scope, n, c.revision) for n, c in fold.batches.items()),
            )
        },
        {
            (scope, name)
            for scope, fold in state.memories.items()
            for name in (*fold.reflected, *fold.labelling.stated)
        },
        {*state.memories, *state.windows.open},
    )


def _insert(db: sqlite3.Connection, rows: Iterable[Row]) -> int:
    """Put rows in, and take out those without a body. How many there were."""
    gone: list[tuple[str, str]] = []
    count = 0

    # Rows are made while they are written. What is gone is collected beside, because a generator
    # inside ``executemany`` must not touch the same table.
    def put() -> Iterator[Row]:
        nonlocal count
        for row in rows:
            count += 1
            if row[2] is None:
                gone.append(row[:2])
            else:
                yield row

    db.executemany("insert or replace into parts values (?, ?, ?)", put())
    db.executemany("delete from parts where part = ? and key = ?", gone)
    return count


def _connected(path: Path) -> sqlite3.Connection:
    # A state may be collected in any thread, and its connection is closed there.
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.executescript(PRAGMAS)
    except BaseException:
        db.close()
        raise
    return db


def _rows(db: sqlite3.Connection, part: str) -> Iterator[tuple[str, bytes]]:
    yield from db.execute("select key, body from parts where part = ?", (part,))


# -- writing -----------------------------------------------------------------------------------


def _changed(state: State, touched: Touched, *, anew: bool) -> Iterator[Row]:
    """The rows of what was touched; items that the file holds are left out, unless it is made anew."""
    for scope, name in sorted(touched.lives):
        life = state.lives.known[scope, name]
        yield "life", scope + SEPARATOR + name, life_body(life)
        # The item itself, its text and vector, is most of a row and seldom changes.
        if anew or not life.kept:
            yield "item", scope + SEPARATOR + name, item_body(life)
    for scope, number in sorted(touched.versions):
        yield from _versions(state, scope, number)
    for episode in sorted(touched.episodes):
        yield from _outcome_and_uses(state, episode)
    for episode in sorted(touched.batches):
        yield "batch", episode, batch_body(state.memory(scope_of(episode)), episode)
    for scope, episode in sorted(touched.waiting):
        reflected = state.memory(scope).reflected.get(episode)
        yield "waiting", episode, None if reflected is None else reflected.to_json()
        yield "stated", scope + SEPARATOR + episode, stated_body(state.memory(scope), episode)
    for scope in sorted(touched.scopes & state.memories.keys()):
        yield "scope", scope, scope_body(state.memory(scope))
    for scope in sorted(touched.scopes & state.windows.open.keys()):
        yield "window", scope, window_body(state.windows, scope)


def _outcome_and_uses(state: State, episode: str) -> Iterator[Row]:
    """How an episode turned out and which items it was shown; blank what was forgotten."""
    outcome = outcome_body(state.outcomes, episode)
    if outcome is not None or state.forgotten:
        yield "outcome", episode, outcome
    if episode in state.lives.uses:
        yield "uses", episode, uses_body(state, episode)
    elif state.forgotten:
        yield "uses", episode, None


def _versions(state: State, scope: str, number: int) -> Iterator[Row]:
    """Every revision of a version, with the labels that it added."""
    for memory in state.memories[scope].versions.revisions(number):
        name = f"{scope}{SEPARATOR}{number:012d}.{memory.revision:06d}"
        yield "version", name, version_body(memory, state.digests[scope, number])
        labels = memory.labels
        if labels is not None and labels.number == number:
            key = f"{scope}{SEPARATOR}{number:012d}.{labels.digest}"
            yield "labels", key, labels_body(labels)


# -- reading -----------------------------------------------------------------------------------


def _item_of(db: sqlite3.Connection, key: str) -> bytes:
    query = "select body from parts where part = 'item' and key = ?"
    body: bytes = db.execute(query, (key,)).fetchone()[0]
    return body


def _fill_learning(
    state: State, db: sqlite3.Connection, item: Callable[[str], bytes], *, graded: bool = True
) -> None:
    """What whoever learns goes on from; not who was shown what, nor what it cost."""
    # Lives come first, for versions name items by them; labels are handed to versions, which are
    # put together later still.
    state.lives.known.update(load_life(key, body, item) for key, body in _rows(db, "life"))
    labels = KeptLabels(_rows(db, "labels"))
    # Revisions of a version follow each other by key. The last of them is the one that counts.
    for (key, body), (later, _) in pairwise([*_rows(db, "version"), ("", b"")]):
        newest = key.rpartition(".")[0] != later.rpartition(".")[0]
        _version(state, key, body, labels, newest=newest)
    if graded:
        for episode, body in _rows(db, "outcome"):
            load_outcome(state.outcomes, episode, body)
    for scope, body in _rows(db, "scope"):
        load_scope(state.memory(scope), body)
    load_stated(state, _rows(db, "stated"))
    for _, body in _rows(db, "forgotten"):
        state.forgotten.update(orjson.loads(body))
    for episode, body in _rows(db, "batch"):
        load_batch(state, episode, body)
    for episode, body in _rows(db, "waiting"):
        load_waiting(state, episode, body)
    for scope, body in _rows(db, "window"):
        load_window(state.windows, scope, body)


def _version(state: State, key: str, body: bytes, labels: KeptLabels, *, newest: bool) -> None:
    scope, _, name = key.partition(SEPARATOR)
    number, revision = map(int, name.split("."))
    versions = state.memory(scope).versions
    # Most versions are never looked at between two restarts: a body is parsed with the version that is made of it.
    made = partial(_made, state.lives.known, labels, scope, number, revision, body)
    if newest:
        versions.later(number, revision, made)
        state.digests[scope, number] = version_digest(body)
    else:
        versions.former_later(number, revision, made)


def _made(
    known: Mapping[ItemKey, ItemUsage],
    labels: KeptLabels,
    scope: str,
    number: int,
    revision: int,
    body: bytes,
) -> Memory:
    _, names, learned, aside, standing, labelled, embedder = orjson.loads(body)

    def item(name: str, batch: int) -> MemoryItem:
        return _written(known[scope, name].item, batch)

    return Memory(
        *(scope, number, tuple(item(*each) for each in names), learned, revision),
        *(tuple((place, item(*each)) for place, each in aside), standing),
        *(labels.get(labelled), embedder),
    )


def _written(item: MemoryItem, batch: int) -> MemoryItem:
    """The item as it stood after a batch: a rule may have been written again, word for word, since."""
    # The life holds the item as it was last written; an earlier version had it in another batch.
    return item if item.batch == batch else item._replace(batch=batch)
