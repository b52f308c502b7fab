"""Keys of subjects on the command line: which file a log is opened with, and what is said where it does not fit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import usage
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

    place = None
    if FLAGS.keys:
        place = Path(FLAGS.keys).expanduser().absolute()
    # A log that is there says itself where its keys lie: the settings may name those of another
    # one.
    elif create and begins and not os.path.exists(path):
        place = _set()
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
        try:
            return opens(place)
        except NoKeys:
            # The settings may say where the file was moved to, but never overrule one that was
            # named for this command.
            moved = None if place is not None else _set()
            if moved is None:
                raise
            return opens(moved)
    except NoKeys as error:
        raise usage(f"{path}: {error}", field="--keys", error="log.keys", hint=MOVED) from error


def are_named() -> bool:
    """Whether a log that is begun now would be begun with keys."""
    return bool(FLAGS.keys) or _set() is not None


def _set() -> Path | None:
    from streams.interfaces.cli.config import load

    named = load().keys
    return None if named is None else Path(named).expanduser().absolute()
