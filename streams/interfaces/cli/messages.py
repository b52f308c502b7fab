"""Log messages of libraries and of our own modules: they go to standard error, as text or as JSON lines."""

from __future__ import annotations

import json
import logging
import sys

from streams.interfaces.cli.flags import FLAGS
from streams.interfaces.cli.output import escaped, safe


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        said = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        return escaped(json.dumps(said, ensure_ascii=False))


class Lines(logging.Formatter):
    """Text for people. What a server wrote is among it: a line of its own would pass for one of ours."""

    def format(self, record: logging.LogRecord) -> str:
        """The record with its further lines indented, and nothing in it that steers a terminal."""
        # What a server wrote may be anything, and what steers a terminal could hide the line
        # before it.
        return safe(super().format(record)).replace("\n", "\n  ")


def log_as_asked() -> None:
    """Follow ``--log-level`` and ``--log-format``."""
    handler = logging.StreamHandler(sys.stderr)
    text = Lines("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if FLAGS.log_format == "json" else text)
    # By force: a library that was imported before may have set up the root in its own way, and
    # its lines would come twice.
    logging.basicConfig(level=FLAGS.log_level.upper(), handlers=[handler], force=True)
