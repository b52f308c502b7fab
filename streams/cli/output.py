"""What a command says: results on standard output, messages for people on standard error.

What models, sources and files said is among it: on a terminal nothing of that may steer the terminal.
"""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

from streams.cli.flags import FLAGS


def out(text: str = "") -> None:
    """A line of result; to a pipe or a file as it is."""
    sys.stdout.write(_safe(text, sys.stdout) + "\n")


def out_json(value: Any) -> None:
    """One JSON value a line, flushed."""
    import orjson

    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode() + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """A message for people, on standard error; silent with ``-q``."""
    if not FLAGS.quiet:
        complain(text)


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
