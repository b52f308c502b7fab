"""The log that ``--log`` names: its URL, its path, and how it is opened."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import CliError, usage
from streams.interfaces.cli.flags import FLAGS

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

DEFAULT_LOG = "sqlite:metalogue.db"
OTHER_LOG = "Name another file. A log of another build is read by what that build's log cat writes: jsonl:PATH"

LINES = (
    "jsonl:PATH reads what log cat writes, also packed by xz or gzip; a log of SQLite is read by sqlite:PATH, "
    "and a folder of segments by log unpack"
)


def log_path(url: str) -> str:
    """The path of an embedded log. Raises a usage error that says how to spell it right."""
    # Other tools spell it with slashes that are no part of the path.
    if url.startswith("sqlite:///"):
        right = "sqlite:/" + url.removeprefix("sqlite:").lstrip("/")
        hint = f"Write {shlex.quote(right)}"
        raise usage(f"{url} is not spelled right", field="--log", hint=hint)
    if url.startswith("jsonl:"):
        hint = "Give a log that can be written"
        raise usage(f"{url} can only be read", field="--log", hint=hint)
    if url.startswith("sqlite:") and len(url) > len("sqlite:"):
        return url.removeprefix("sqlite:")
    if url.endswith(".db") and ":" not in url:
        return url
    raise usage(
        f"{url!r} names no log",
        field="--log",
        hint="Write sqlite:PATH, a path that ends in .db, kafka://HOST:PORT or jsonl:PATH",
    )


def log_url(given: str | None) -> str:
    """The log's URL: as given, else from the configuration."""
    if given is not None:
        return given
    from streams.interfaces.cli.config import keep_password, load

    url = load().log
    if url.startswith("kafka://"):
        # A password that was set for one cluster must not be sent to another that a file here
        # names.
        keep_password("log")
    return url


def existing(given: str | None) -> str | None:
    """A log's URL as given, before anything is loaded to work with. Raises if it has no file."""
    if given is not None and is_missing(given):
        raise missing(log_path(given), given)
    return given


def is_missing(given: str | None) -> bool:
    """Whether a log has no file yet. Raises a usage error for a URL that names none."""
    url = log_url(given)
    return not url.startswith(("kafka://", "jsonl:")) and not os.path.exists(log_path(url))


def missing(path: str, url: str) -> CliError:
    """There is no log, and this command may not make one."""
    hint = f"Make one: metalogue produce SOURCE --log {shlex.quote(url)}"
    return usage(f"no log at {path}", field="--log", error="log.missing", hint=hint)


def open_log(
    given: str | None, *, create: bool = False, writes: bool = False, begins: bool = True
) -> SqliteLog:
    """The log that a command works on. Raises a ``CliError`` that names what is wrong with it.

    A command that ``writes``, or may ``create`` one, is refused a log that can only be read. One that is created is
    begun with keys where some are named, unless nothing ``begins`` with it: it was begun elsewhere.
    """
    url = log_url(given)
    if url.startswith("kafka://"):
        from streams.interfaces.cli.kafka_log import open_kafka

        imported = open_kafka(url)
        FLAGS.log = str(imported.path)
        return imported
    if url.startswith("jsonl:") and not (create or writes):
        lines = url.removeprefix("jsonl:")
        from streams.interfaces.cli.keys import found
        from streams.runtime.embedded.imported import BadLine, import_jsonl

        try:
            return found(lines, lambda place: import_jsonl(lines, place))
        except FileNotFoundError as error:
            raise usage(f"no log at {lines}", field="--log", error="log.missing") from error
        except BadLine as error:
            raise usage(str(error), field="--log", error="log.format", hint=LINES) from error
    # Noted for the errors to come: SQLite says what is wrong with a file, but never with which.
    path = FLAGS.log = log_path(url)
    if create:
        need_folder(path)
    from streams.interfaces.cli.keys import opened
    from streams.runtime.embedded.log import NoLog, NotALog

    try:
        return opened(path, create=create, writes=writes, begins=begins)
    except NoLog as error:
        raise missing(path, url) from error
    except NotALog as error:
        raise usage(str(error), field="--log", error="log.format", hint=OTHER_LOG) from error


def open_own(url: str | None) -> SqliteLog:
    """The log, made if need be, to work on it.

    Raises a usage error for a copy of a log on Kafka: what is done on it, its own workers would never hear of.
    """
    from streams.runtime.embedded.queries import claims

    log = open_log(url, create=True)
    if claims.is_of_kafka(log):
        log.close()
        hint = (
            "Read it, verify it and export it here; start workers on the log that it is a copy of"
        )
        what = f"{log.path} is a copy of a log on Kafka, and is not worked on"
        raise usage(what, field="--log", error="log.copy", hint=hint)
    return log


def need_folder(path: str) -> None:
    """Raises a usage error where a log's file would lie in no folder."""
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        hint = f"Make it: mkdir -p {shlex.quote(folder)}"
        raise usage(f"no folder {folder}", field="--log", error="log.missing", hint=hint)
