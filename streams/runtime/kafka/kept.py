"""What a worker keeps of the topics that it reads whole: rows in a file of its own, or in memory.

What was put since the last commit is seen at once, and gone after a crash: a file says of a log what was true
where it was committed, and nothing else.
"""

from __future__ import annotations

import fcntl
import logging
import sqlite3
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import orjson

from schemas.identity import canonical
from schemas.problem import Feedback
from streams.engine.judgements import Judgements, Said, Subject, feedback_name, subject_of
from streams.runtime.kafka.localfile import drop

_log = logging.getLogger(__name__)
SAID = "said"
"""The part that judgements from outside are kept in."""
MOST = 256
"""So many workers of one log may have a file each on one machine; more keep it in memory."""
LAST = "\U0010ffff"
TABLE = """
create table if not exists kept(
  part text not null, key text not null, body blob not null, primary key (part, key)) without rowid;
"""
GET = "select body from kept where part = ? and key = ?"
UNDER = "select key, body from kept where part = ? and key >= ? and key < ? order by key"
SOME = "select 1 from kept where part = ? limit 1"
ADD = "insert into kept values (?, ?, ?) on conflict do nothing returning 1"
PUT = "insert or replace into kept values (?, ?, ?)"
GONE = "delete from kept where part = ? and key = ?"


class KeptRows:
    """Rows by part and key. ``path`` is that of a file which nobody else has; without it they live in memory."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.lock: IO[str] | None = None
        self.damaged = False
        """Whether the file turned out to be no database, or one that cannot be read or written."""
        self.db = self._opened()

    @classmethod
    def of(cls, stem: Path | None) -> KeptRows:
        """The rows of the first file ``STEM.N.db`` that no other process has open. It is ours until we end."""
        if stem is None:
            return cls()
        try:
            stem.parent.mkdir(parents=True, exist_ok=True)
            for number in range(MOST):
                path = stem.with_name(f"{stem.name}.{number}.db")
                # The lock lies beside the file, which is deleted and made anew under it where it is damaged.
                # The system lets go of it with the process, however that ends.
                lock = open(f"{path}.lock", "a")  # noqa: SIM115 - open for as long as the file is ours
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    lock.close()
            else:
                return cls()
        except OSError as error:
            _log.warning("%s: %s; what was learned is kept in memory", stem, error.strerror)
            return cls()
        try:
            rows = cls(path)
        except sqlite3.DatabaseError:
            drop(path)
            rows = cls(path)
            rows.damaged = True  # so that the worker says why it reads from the beginning
        rows.lock = lock
        return rows

    def _opened(self) -> sqlite3.Connection:
        # What is forgotten may be collected in any thread, and is closed there.
        db = sqlite3.connect(
            ":memory:" if self.path is None else self.path,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            db.executescript("pragma journal_mode=wal; pragma synchronous=normal;" + TABLE)
        except BaseException:
            db.close()
            raise
        weakref.finalize(self, db.close)  # a worker that never ran lets go of it too
        return db

    def get(self, part: str, key: str) -> bytes | None:
        """The body of a row, if it is there."""
        found = self._run(GET, part, key)
        return bytes(found[0][0]) if found else None

    def has_any(self, part: str) -> bool:
        """Whether a part has any row."""
        return bool(self._run(SOME, part))

    def under(self, part: str, prefix: str) -> list[tuple[str, bytes]]:
        """Key and body of the rows of a part whose keys begin with this, in the order of keys."""
        return self._run(UNDER, part, prefix, prefix + LAST)

    def add(self, part: str, key: str, body: bytes = b"") -> bool:
        """Put a row, unless there is one; whether there was none."""
        self._begin()
        return bool(self._run(ADD, part, key, body))

    def put(self, part: str, key: str, body: bytes | None) -> None:
        """Put a row in the place of what was there; nothing takes it away."""
        self._begin()
        if body is None:
            self._run(GONE, part, key)
        else:
            self._run(PUT, part, key, body)

    def _run(self, statement: str, *values: str | bytes) -> list[Any]:
        """The rows that a statement finds. Raises ``sqlite3.DatabaseError``."""
        try:
            return self.db.execute(statement, values).fetchall()
        except sqlite3.DatabaseError:
            self.damaged = True
            raise

    def _begin(self) -> None:
        # Between records SQLite would commit each row by itself, and a crash could leave half of what was told.
        if not self.db.in_transaction:
            self._run("begin immediate")

    def commit(self) -> None:
        """Let what was put outlast us."""
        if self.db.in_transaction:
            self._run("commit")

    def clear(self) -> None:
        """Begin anew with no rows at all."""
        self.db.close()
        if self.path is not None:
            drop(self.path)
        self.db, self.damaged = self._opened(), False

    def close(self) -> None:
        """Let go of the file; what was not committed is gone, and so is a file that is damaged."""
        self.db.close()
        if self.damaged and self.path is not None:
            drop(self.path)
        if self.lock is not None:
            self.lock.close()


class KeptJudgements(Judgements):
    """Feedback by what it speaks of, in rows: when, as the how manyth of its subject, and what."""

    def __init__(self, rows: KeptRows) -> None:
        super().__init__()
        self.rows = rows
        self._any: bool | None = None

    def __bool__(self) -> bool:
        """Whether anything was said at all."""
        # Every worker asks this of each answer of all of them, and nobody but us puts any.
        if self._any is None:
            self._any = self.rows.has_any(SAID)
        return self._any

    def add(self, at: int, feedback: Feedback) -> bool:
        """Keep a judgement. Returns whether it is new: saying it twice is saying it once."""
        under = _under(subject_of(feedback))
        known, key = self.rows.under(SAID, under), under + feedback_name(feedback)
        if any(each == key for each, _ in known):
            return False
        body = canonical(feedback.model_dump(mode="json", exclude_unset=True))
        # Its number too, since keys are in no order of time, and two judgements may come in one millisecond.
        self.rows.put(SAID, key, b"%d %d " % (at, len(known)) + body)
        self._any = True
        return True

    def about(self, subject: Subject) -> Sequence[Said]:
        """What was said of a problem or an episode, in the order in which it came."""
        if not self:
            return ()
        found = (body.split(b" ", 2) for _, body in self.rows.under(SAID, _under(subject)))
        ordered = sorted((int(number), int(at), body) for at, number, body in found)
        return [(at, Feedback.model_validate(orjson.loads(body))) for _, at, body in ordered]


def _under(subject: Subject) -> str:
    """What the keys of a subject begin with, and those of no other."""
    return canonical(subject).decode()
