"""Faults of a log's file, told to people: it is full, read-only, damaged or held by another process."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sqlite3
from pathlib import Path

from schemas.events.codec import BadEvent
from state.folds.memory import MemoryMismatch
from state.journal import Fenced
from streams.core.drive import first_of, is_group
from streams.interfaces.cli.errors import SETUP, UNREACHABLE, CliError
from streams.interfaces.cli.flags import FLAGS
from streams.interfaces.cli.kafka_refused import not_taken
from streams.interfaces.cli.places import NO_ROOM
from streams.runtime.embedded.files import (
    ClosedAgain,
    code_of,
    has_more,
    is_busy,
    is_fixed,
    is_full,
)
from streams.runtime.embedded.keys import NoKeys
from streams.runtime.kafka.refusals import RefusedByBroker

NO_WRITING = (errno.EROFS, errno.EACCES, errno.EPERM)
OF_RUST = re.compile(r"\(os error (\d+)\)")
"""How the tables' library, which is written in Rust, ends what the system told it."""
CANNOT_BE_READ = (
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
)
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
STOP = "Stop what works on it and take back a whole copy."
SPOILT = re.compile("decode to UTF-8|malformed JSON")
"""Values that are not what was written, for which SQLite has no code."""


def fault_of(error: BaseException) -> CliError | None:
    """The error for people, if a log's file is what went wrong; ``FLAGS.log`` says which it is."""
    # Tasks of one loop fail together; the first of them says why, the others that they were
    # ended.
    if is_group(error):
        error = first_of(error)
    if isinstance(error, Fenced):
        return claimed(str(error))
    if isinstance(error, NoKeys):
        return _fault("keys", SETUP, str(error), "What was not written yet stays unwritten.")
    if isinstance(error, ClosedAgain):
        said = f"{error}: a version of this memory is being made anew; nothing more may change it until it stands"
        hint = "Wait for the log's worker, or start one (metalogue worker --until-idle), and give the command again."
        return _fault("relearning", UNREACHABLE, said, hint)
    if isinstance(error, RefusedByBroker):
        return not_taken(error, FLAGS.log)
    if isinstance(error, sqlite3.Error):
        return _of_sqlite(error)
    if isinstance(error, BadEvent | MemoryMismatch):
        named = f" --log {shlex.quote(FLAGS.log)}" if FLAGS.log else ""
        hint = f"{STOP} What else: metalogue verify{named}"
        return _fault("damaged", SETUP, f"the file is damaged: {error}", hint)
    return _of_system(error)


def claimed(detail: str) -> CliError:
    """Somebody else has claimed what this process wrote to."""
    hint = "Nothing of ours was written since. Start again when the other one has ended."
    return _fault("claimed", UNREACHABLE, detail, hint)


def _of_sqlite(error: sqlite3.Error) -> CliError | None:
    exact, code = getattr(error, "sqlite_errorcode", None), code_of(error)
    if is_busy(error):
        hint = (
            "Wait for it, or end it; one that was stopped holds it until it goes on or is killed. "
            "Then run the same command again."
        )
        return _fault("busy", UNREACHABLE, f"another process holds it: {error}", hint)
    if is_full(error):
        return full(str(error))
    if code == sqlite3.SQLITE_CANTOPEN:
        path = Path(FLAGS.log).absolute()
        # SQLite says the same of a file without rights. Where there are rights, it ran out of
        # handles.
        if all(os.access(each, os.W_OK) for each in (path, path.parent)):
            hint = "Are too many files open? See ulimit -n"
            return _fault("unreachable", UNREACHABLE, str(error), hint)
    if is_fixed(error) or code == sqlite3.SQLITE_PERM:
        return read_only(str(error))
    if code in DAMAGED or exact in CANNOT_BE_READ or SPOILT.search(str(error)):
        # The damaged file is left as it is: whatever wrote to it now could destroy what .recover
        # still finds.
        rest = f"sqlite3 {shlex.quote(FLAGS.log or 'PATH')} .recover | sqlite3 saved.db"
        hint = f"{STOP} What can still be read of this one: {rest}"
        return _fault("damaged", SETUP, f"the file is damaged: {error}", hint)
    if code == sqlite3.SQLITE_IOERR:
        hint = "Look whether its disk is there, then run the same command again."
        return _fault("unreachable", UNREACHABLE, str(error), hint)
    return None


def _of_system(error: BaseException) -> CliError | None:
    """What the system would not do with the log's file, with one that lies beside it, or with the tables there."""
    if isinstance(error, OSError) and error.filename is not None and FLAGS.log:
        path = str(error.filename)
        if not path.startswith(FLAGS.log):
            return None
        number, detail = error.errno, f"{path}: {error.strerror}"
    else:
        # The tables' library raises errors of many kinds. What they share is how their text ends.
        said = OF_RUST.search(str(error))
        number = 0 if said is None else int(said[1])
        detail = f"its tables: {os.strerror(number)}"
    if number in NO_ROOM:
        return full(detail)
    return read_only(detail) if number in NO_WRITING else None


def full(detail: str) -> CliError:
    """There is no room to write."""
    hint = (
        "Make room on its disk (or raise the quota, or the limit of a file's size), then run the same "
        "command again: what was recorded is kept."
    )
    return _fault("full", UNREACHABLE, f"no room to write: {detail}", hint)


def read_only(detail: str) -> CliError:
    """The file, or what must lie beside it, cannot be written."""
    path = FLAGS.log
    # A copy of the file alone would silently lack what SQLite has not moved into it yet.
    if path and has_more(Path(path)):
        hint = f"{path}-wal holds the newest records: copy both to a folder that can be written, and name the copy."
    else:
        hint = "Give its owner's rights on the file and its folder, or copy the file to a folder that can be written."
    return _fault("readonly", SETUP, f"cannot be written: {detail}", hint)


def _fault(name: str, code: int, detail: str, hint: str) -> CliError:
    where = f"sqlite:{FLAGS.log}" if FLAGS.log else ""
    return CliError(detail, error=f"log.{name}", exit=code, where=where, hint=hint)
