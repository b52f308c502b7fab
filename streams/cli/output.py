"""What a command says: results on standard output, messages for people on standard error.

What models, sources and files said is among it: on a terminal nothing of that may steer the terminal.
"""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

from streams.cli.errors import FAILED, CliError
from streams.cli.flags import FLAGS


def out(text: str = "") -> None:
    """A line of result; to a pipe or a file as it is."""
    with Leaving():
        sys.stdout.write(_safe(text, sys.stdout) + "\n")


def out_json(value: Any) -> None:
    """One JSON value a line, flushed."""
    import orjson

    with Leaving():
        sys.stdout.write(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode() + "\n")
        sys.stdout.flush()


def out_bytes(value: bytes) -> None:
    """A result byte by byte, flushed."""
    with Leaving():
        sys.stdout.buffer.write(value)
        sys.stdout.buffer.flush()


def flush() -> None:
    """Let go of what was said so far."""
    with Leaving():
        sys.stdout.flush()


class Leaving:
    """While results leave: raises a ``CliError`` where they cannot, and drops the rest. A closed pipe stays one."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            drop()
            said = error.strerror or str(error)
            raise CliError(said, error="output", exit=FAILED, where="standard output") from error


def say(text: str) -> None:
    """A message for people, on standard error; silent with ``-q``."""
    if not FLAGS.quiet:
        complain(text)


def drop() -> None:
    """Let standard output go nowhere from now on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(text: str) -> None:
    """A message for people that ``-q`` does not silence: an error."""
    sys.stderr.write(_safe(text, sys.stderr) + "\n")
    sys.stderr.flush()


def _safe(text: str, stream: TextIO) -> str:
    if (text.isascii() and text.isprintable()) or not stream.isatty():
        return text
    from streams.cli.show.words import clean

    return clean(text)


def colour(stream: Any = None) -> bool:
    """Whether colours may be used."""
    return not os.environ.get("NO_COLOR") and (stream or sys.stdout).isatty()
