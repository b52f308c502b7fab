"""The file of a log: how it is opened, to be written or only to be read, and left whole in the end.

SQLite keeps the newest commits beside the file, in ``PATH-wal``; the last connection to close folds them in,
and only one that may write can. So readers open the file as writers do, and then give up the right to
write. Where nothing can be written at all, such as on a read-only mount, the file is read as it stands.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from streams.runtime.embedded.queries.conditions import taught
from streams.runtime.embedded.strangers import stranger
from streams.runtime.embedded.tables import PRAGMAS, SCHEMA_VERSION, TABLES, VIEWS

if TYPE_CHECKING:
    from streams.runtime.embedded.sealing import Sealing

MEMORY = ":memory:"
SqliteError = sqlite3.Error
"""What SQLite says where a file cannot be read or written, or holds no log."""
TO_READ = "pragma busy_timeout=30000; pragma temp_store=memory; pragma query_only=on;"
ALONE = "pragma locking_mode=exclusive;"
CANNOT_GROW = (
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMMAP,
)
"""What SQLite calls an input or output error where a quota or a limit, not the disk, is exhausted."""
# Whoever closes waits no longer than this for the last commits to be folded in: they are safe
# beside the file, and the next who closes it tries again.
LOCKED_S = 30.0
"""How long a log that somebody else begins is waited for."""
LAST_WAIT = "pragma busy_timeout=1000"
WHOLE = "pragma wal_checkpoint(truncate)"
IS_KEYED = "select 1 from sqlite_master where name = 'keyed'"
"""A log that was begun with keys of subjects (``sealing``) has this table, and no other has."""


class NoLog(Exception):
    """There is no log at this path, and this command may not make one."""


class ClosedAgain(RuntimeError):
    """A version of a memory is being made anew: what that began with must not change under it."""


class NotALog(Exception):
    """The file is not a log of ours, holds what no log does, or is of a version that this build cannot read."""


def connect(path: Path, *, create: bool, keys: Path | None = None) -> sqlite3.Connection:
    """A connection to the log at ``path``. Raises ``NoLog``, ``NotALog`` or what SQLite says of its file.

    A new log is begun with ``keys`` of subjects where a file for them is named. Raises ``NoKeys`` if it cannot be.
    """
    if not path.exists() and not create:
        raise NoLog(f"no log at {path}")
    if path.is_dir():
        raise NotALog(f"{path}: a folder")
    if create and str(path) != MEMORY and not path.exists():
        # Nobody else may read it. SQLite gives its other files the same mode.
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    # What nobody closed may be collected in any thread, and is closed there.
    db = taught(sqlite3.connect(path, isolation_level=None, check_same_thread=False))
    try:
        new = is_new(db, path)
        if new and not create:
            raise NoLog(f"no log at {path}")
        _prepared(db)
        if new:
            keyed = ""
            if keys is not None:
                # Only here: cryptography takes long to import, and most logs have no keys.
                from streams.runtime.embedded.sealing import begun

                keyed = begun(path, keys)
            db.executescript(
                f"begin immediate;{TABLES}{VIEWS}{keyed}pragma user_version={SCHEMA_VERSION};commit;"
            )
    except BaseException as error:
        db.close()
        if code_of(error) == sqlite3.SQLITE_NOTADB:
            raise NotALog(f"{path}: {error}") from error
        raise
    return db


def _prepared(db: sqlite3.Connection) -> None:
    """Set a connection up. Of two who begin one log at the same moment the second waits for the first."""
    # SQLite waits for locks by itself, but not for the one that a file needs which becomes a journalled one.
    until = time.monotonic() + LOCKED_S
    while True:
        try:
            db.executescript(PRAGMAS)
            return
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def unlocked(db: sqlite3.Connection, keys: Path | None = None) -> Sealing | None:
    """Let a connection read what is sealed on its log, if it was begun with keys. Raises ``NoKeys``."""
    # A log without keys has no views and loads no ciphers: nothing of it may become slower.
    if db.execute(IS_KEYED).fetchone() is None:
        return None
    from streams.runtime.embedded.sealing import unlock

    return unlock(db, keys)


def connect_to_read(path: Path, *, threads: bool = False) -> sqlite3.Connection:
    """A connection through which nothing can be written. Raises what SQLite says of the file, or ``NoKeys``.

    Who shares it between ``threads`` sees to it that one reads at a time, and may hold it for long.
    """
    try:
        db = _reading(path, "mode=rw", TO_READ)
    except sqlite3.OperationalError as error:
        can_make = os.access(path.absolute().parent, os.W_OK)
        if is_full(error) and not threads:
            # On a full disk there is no room for what readers share: so nobody else has it open.
            db = _reading(path, "mode=rw", ALONE + TO_READ)
        elif code_of(error) != sqlite3.SQLITE_CANTOPEN or can_make or has_more(path):
            raise
        else:
            # Nobody can write here, and the newest commits are in the file: it is read as it stands.
            db = _reading(path, "immutable=1", TO_READ)
    try:
        unlocked(db)
    except BaseException:
        db.close()
        raise
    return db


def _reading(path: Path, how: str, first: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?{how}"
    db = taught(sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False))
    try:
        db.executescript(first)
        strange = stranger(db)  # only now is anything opened
        if strange is not None:
            # As SQLite's own error, since a page that follows a file may meet another one there.
            error = sqlite3.DatabaseError(strange)
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error
    except BaseException:
        db.close()
        raise
    return db


def copy_to(db: sqlite3.Connection, path: Path) -> None:
    """Make a file of its own of everything that a connection reads."""
    # SQLite copies page by page what one moment held, while others write on; copying the file
    # itself could miss what stands beside it.
    with closing(sqlite3.connect(path)) as file:
        db.backup(file)
        file.execute("pragma journal_mode=wal")


def disconnect(db: sqlite3.Connection) -> None:
    """Close a connection; what it wrote is in the file itself then, even while others have it open."""
    with suppress(sqlite3.Error):
        # Only who wrote has anything to fold in, and trying would make a reader wait for the
        # others.
        if db.total_changes:
            db.execute(LAST_WAIT)
            db.execute(WHOLE)
    db.close()


def is_new(db: sqlite3.Connection, path: Path) -> bool:
    """Whether the file holds nothing yet. Raises ``NotALog``; what another wrote is left untouched."""
    found = "select user_version, (select group_concat(name, ' ') from sqlite_master) from pragma_user_version"
    version, names = db.execute(found).fetchone()
    if names is None and version == 0:
        return True
    # A table named `records` is nothing special; an index of this name is ours.
    if "records_identity" not in (names or "").split():
        raise NotALog(f"{path}: a SQLite file, but not a log")
    if version != SCHEMA_VERSION:
        raise NotALog(f"{path}: log format {version}, this build reads {SCHEMA_VERSION}")
    strange = stranger(db)
    if strange is not None:
        raise NotALog(f"{path}: {strange}")
    return False


# -- what SQLite says of a file ----------------------------------------------------------------


def code_of(error: BaseException | None) -> int | None:
    """SQLite's own code for an error, without its details; none for errors that are not SQLite's."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_busy(error: BaseException) -> bool:
    """Whether another process has the log just now, and it is enough to try again."""
    return code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL)


def is_full(error: BaseException) -> bool:
    """Whether there is no room to write."""
    exact = getattr(error, "sqlite_errorcode", None)
    return code_of(error) == sqlite3.SQLITE_FULL or exact in CANNOT_GROW


def is_fixed(error: BaseException) -> bool:
    """Whether the file, or what SQLite needs beside it, cannot be written here."""
    return code_of(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def has_more(path: Path) -> bool:
    """Whether the newest records stand beside the file, not in it."""
    beside = Path(f"{path}-wal")
    return beside.exists() and beside.stat().st_size > 0
