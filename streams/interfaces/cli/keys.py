"""Keys of subjects on the command line: which file a log is opened with, and what is said where it does not fit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import CliError, usage
from streams.interfaces.cli.flags import FLAGS

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

MOVED = "Name the file where it is now: METALOGUE_KEYS=FILE"
BEGIN = "Only a log that is begun with keys can be erased from: begin another, and produce into it"


def given(name: str | None) -> str | None:
    """The file of keys that the command line names, for whatever the command opens."""
    FLAGS.keys = name or ""
    return name


def opened(path: str, *, create: bool, writes: bool, begins: bool = True) -> SqliteLog:
    """The log in a file, with its keys if it was begun with some.

    A new one is begun with keys where the command line or the settings name a file for them. Raises ``CliError``.
    """
    from streams.interfaces.cli.observing import need_extra
    from streams.runtime.embedded.log import SqliteLog

    place = _place(path, begins=create and begins)
    if place is not None:
        need_extra("cryptography", "erasure")
    log = found(
        path, lambda at: SqliteLog(path, create=create, writes=writes, keys=at), place=place
    )
    if log.sealing is not None:
        need_extra("cryptography", "erasure")
    elif FLAGS.keys:
        log.close()
        raise usage(f"{path} was begun without keys", field="--keys", error="log.keys", hint=BEGIN)
    return log


def found(
    path: str, opens: Callable[[Path | None], SqliteLog], *, place: Path | None = None
) -> SqliteLog:
    """The log with its keys: at ``place``, else where it says, else where the settings say.

    Raises a ``CliError`` where they are not there, or are another log's.
    """
    from streams.runtime.embedded.keys import NoKeys

    try:
        return opens(place)
    except NoKeys as error:
        moved = None if place is not None else _set()
        if moved is None:
            raise _wrong(path, error) from error
    try:
        return opens(moved)
    except NoKeys as error:
        raise _wrong(path, error) from error


def are_named() -> bool:
    """Whether a log that is begun now would be begun with keys."""
    return bool(FLAGS.keys) or _set() is not None


def _place(path: str, *, begins: bool) -> Path | None:
    """The file that is named: on the command line, or for a log that is begun now in the settings."""
    if FLAGS.keys:
        return Path(FLAGS.keys).expanduser().absolute()
    return _set() if begins and not os.path.exists(path) else None


def _set() -> Path | None:
    from streams.interfaces.cli.config import load

    named = load().keys
    return None if named is None else Path(named).expanduser().absolute()


def _wrong(path: str, error: Exception) -> CliError:
    return usage(f"{path}: {error}", field="--keys", error="log.keys", hint=MOVED)
