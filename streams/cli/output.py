"""What a command says: results on standard output, messages for people on standard error."""

from __future__ import annotations

import os
import sys
from typing import Any

from streams.cli.flags import FLAGS


def out(text: str = "") -> None:
    """A line of result."""
    sys.stdout.write(text + "\n")


def out_json(value: Any) -> None:
    """One JSON value a line, flushed."""
    import orjson

    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode() + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """A message for people, on standard error; silent with ``-q``."""
    if not FLAGS.quiet:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def colour(stream: Any = None) -> bool:
    """Whether colours may be used."""
    return not os.environ.get("NO_COLOR") and (stream or sys.stdout).isatty()
