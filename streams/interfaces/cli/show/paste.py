"""Commands to try next, spelled so that each line can be pasted as it stands."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from streams.interfaces.cli.opening import DEFAULT_LOG
from streams.interfaces.cli.show.page import Page
from streams.views.words import cells, pad


def program() -> str:
    """How this program is called here: by name if that is found, else by the path it came by."""
    started = Path(sys.argv[0])
    if started.name != "metalogue" or shutil.which("metalogue") is not None:
        return "metalogue"
    beside = os.path.relpath(started)
    return shlex.quote(str(started) if beside.startswith("..") else beside)


def command(*words: str, log: str | None = None) -> str:
    """A command line of ours; the log is named unless it is the default."""
    named = () if log in (None, DEFAULT_LOG) else ("--log", log or "")
    return " ".join((program(), *map(shlex.quote, (*words, *named))))


def hint(page: Page, what: str, line: str, about: str, *, column: int = 16) -> None:
    """A command to try, what it is for, and a remark where there is room for one."""
    note = f"   # {about}"
    fits = column + cells(line) + cells(note) <= page.width
    page.line((pad(what, column), "dim"), line, (note if fits else "", "dim"))
