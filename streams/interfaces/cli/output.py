"""Output of a command: results go to standard output, messages for people to standard error.

What models, sources and files said is among it. Nothing of that may steer a terminal, and what is piped now is
shown on one later: text leaves with controls made visible, JSON with controls escaped.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

from streams.interfaces.cli.errors import FAILED, CliError
from streams.interfaces.cli.flags import FLAGS


def out(text: str = "") -> None:
    """A line of result."""
    with Leaving():
        sys.stdout.write(safe(text) + "\n")


def out_json(value: Any) -> None:
    """One JSON value a line, flushed."""
    with Leaving():
        sys.stdout.write(as_json(value) + "\n")
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
        # A full disk under a file of results must be an error, or a script would take a part for
        # the whole. A reader who left is none.
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
    # The descriptor itself is turned away, because Python flushes its buffer once more at the end
    # and would complain then.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(text: str) -> None:
    """A message for people that ``-q`` does not silence: an error."""
    sys.stderr.write(safe(text) + "\n")
    # Results and messages often go to one terminal, where they should appear in the order in
    # which they were said.
    sys.stderr.flush()


def complain_of(error: CliError) -> None:
    """An error as people read it, or as one object where scripts asked for JSON."""
    if FLAGS.json:
        import json

        sys.stderr.write(json.dumps(error.record()) + "\n")
        sys.stderr.flush()
    else:
        complain(error.text())


def safe(text: str) -> str:
    """The text with nothing that could steer a terminal."""
    # Nearly every line is. The check costs little, and the module that cleans is not loaded for
    # it.
    if text.isascii() and text.isprintable():
        return text
    from streams.views.words import clean

    return clean(text)


_STEERING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON need not escape, and terminals obey: controls above ASCII's, and turns of the direction."""


def as_json(value: Any) -> str:
    """A value as JSON on one line; nothing in it could steer a terminal, and it says the same."""
    import orjson

    # Escapes inside of texts leave the value the same: whoever parses it gets what was recorded.
    try:
        return escaped(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode())
    except TypeError:
        # Names of files may be any bytes, and those that are not UTF-8 stand in no JSON.
        said = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return escaped(said.encode(errors="replace").decode())


def escaped(json: str) -> str:
    """The same JSON with everything escaped that could steer a terminal."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", json)


def colour(stream: Any = None) -> bool:
    """Whether colours may be used."""
    return not os.environ.get("NO_COLOR") and (stream or sys.stdout).isatty()
