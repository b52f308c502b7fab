"""Every command that works on a log, with words that make it do its work there and come to its end."""

from __future__ import annotations

import atexit
import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import typer

from schemas.identity import is_numbered
from streams.interfaces.cli.app import app
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call
from tests.streams.cli.learned import copy_of, made

REHEARSAL = ("--backbone", "rehearsal:seed=7")
READS: dict[str, tuple[str, ...]] = {
    "show": ("{problem}",),
    "verify": (),
    "diff": ("{episode}", "{other}"),
    "analyse": ("--out", "analysis"),
    "export": ("exported",),
    "consume": (),
    "doctor": (),
    "lessons list": (),
    "lessons show": ("{lesson}",),
    "lessons diff": ("0", "1"),
    "knowledge show": (),
    "graph show": (),
    "log stats": (),
    "log digest": (),
    "log cat": (),
    "log unread": (),
    "log path": (),
    "log pack": ("segments",),
    "log heads": ("--records",),
    "state hash": (),
    "topics list": (),
    "topics check": (),
    "dlq list": (),
    "dlq show": ("{letter}",),
    "budgets": (),
    "review list": (),
    "review show": ("{problem}",),
    "config show": (),
}
"""What only reads."""
WRITES: dict[str, tuple[str, ...]] = {
    "produce": ("game24:941-942", "--policy", "cot"),
    "import traces": ("-", "--policy", "mc2", "--domain", "sums"),
    "worker": (*REHEARSAL, "--until-idle"),
    "solve": ("1 + 1", "--policy", "cot", *REHEARSAL),
    "fork": ("{episode}", "--at", "{at}", *REHEARSAL),
    "rebuild": (),
    "forget": ("--problem", "{problem}", "--yes", *REHEARSAL),
    "feedback": ("-",),
    "lessons retire": ("{lesson}",),
    "lessons restore": ("{lesson}",),
    "lessons embed": ("minilm", "--yes"),
    "effect lesson": ("{lesson}", "--limit", "1", *REHEARSAL),
    "topics create": (),
    "dlq replay": ("{letter}",),
    "review answer": ("{problem}", "--pass"),
    "cancel": ("{problem}",),
    "regrade": (),
    "compare": ("game24:941-941", "--policies", "cot,greedy", *REHEARSAL, "--out", "report"),
    "bench run": ("mc2-tab-08", "--reduced", "--limit", "1", *REHEARSAL, "--out", "report"),
}
"""What writes as well, if only tables beside the log."""
GOES_ON = ("dashboard", "mcp", "projector", "serve")
"""What goes on until it is told to end."""
REFUSED = {"lessons restore": 2}
"""What has nothing to do on this log, and says so; what else ends with 0 or 1."""
ELSEWHERE = ("bench kafka", "bench search", "bench strategies", "log unpack", "topics acls")
"""What makes a log, wants a broker, or runs for long on a log of its own by the same means as ``bench run``."""


def takes_a_log() -> Iterator[str]:
    """The names of all commands with an option ``--log``."""

    def within(command: Any, path: tuple[str, ...]) -> Iterator[str]:
        if hasattr(command, "commands"):
            for name, each in command.commands.items():
                yield from within(each, (*path, name))
        elif any("--log" in each.opts for each in command.params):
            yield " ".join(path)

    yield from within(typer.main.get_command(app), ())


@lru_cache(maxsize=1)
def used() -> Path:
    """A log with lessons, answers and a dead letter; tests work on copies of it."""
    folder = mkdtemp(prefix="metalogue-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = copy_of(made(), Path(folder) / "used.db")
    assert call("produce", "-", "--log", path, given=b"no problem\n").code == 1
    return path


@lru_cache(maxsize=1)
def names() -> dict[str, str]:
    """What stands in the log, for the words of the commands."""
    with closing(SqliteLog(used())) as log:
        closed = [r.episode for r in log.records("events", kinds=["episode.closed"])]
        numbered = [at for at in log.journal(closed[0]) if is_numbered(at)]
    letter = call("dlq", "list", "--json", "--log", used()).rows[0]
    answered = call("consume", "--json", "--log", used()).rows
    problem = next(each["problem_id"] for each in answered if each["episode"] == closed[0])
    lessons = call("lessons", "list", "--json", "--log", used()).rows
    # Of one that was used in no episode no effect could be looked for.
    lesson = next(each["id"] for each in lessons if each["used"])
    number = str(letter.get("number", letter.get("offset")))
    found = {"episode": closed[0], "other": closed[1], "at": numbered[-1]}
    return found | {"problem": problem, "lesson": lesson, "letter": number}


def words_of(command: str) -> tuple[str, ...]:
    """The command line, but for its log."""
    words = (READS | WRITES)[command]
    return (*command.split(), *(word.format(**names()) for word in words))


def given_to(command: str) -> bytes:
    """What the command reads from its standard input."""
    if command == "import traces":
        told = [{"role": "user", "content": "1 + 1"}, {"role": "assistant", "content": "2"}]
        return json.dumps({"id": "told", "messages": told, "verdict": True}).encode()
    if command != "feedback":
        return b""
    line = {"domain": "game24", "problem_id": names()["problem"], "verdict": True, "by": "me"}
    return json.dumps(line).encode()
