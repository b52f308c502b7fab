"""Calling the command line in this process, and as a process of its own."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from streams.engine.policies import SHELF
from streams.interfaces.cli.flags import FLAGS
from streams.interfaces.cli.main import main
from streams.runtime.embedded.log import SqliteLog

Message: TypeAlias = tuple[str, str, dict[str, Any], bytes]
"""Topic, key, headers, value."""
ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Called:
    """What a command left: its exit code and both of its streams."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def call(*arguments: object, given: bytes = b"", terminal: bool = False) -> Called:
    """Run a command here; flags and policies' files of an earlier call are forgotten."""
    for each in fields(FLAGS):
        setattr(FLAGS, each.name, each.default)
    SHELF.clear()
    raw, err = io.BytesIO(), io.StringIO()
    kind = Terminal if terminal else io.TextIOWrapper
    out = kind(raw, encoding="utf-8", write_through=True)
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(given))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main([str(each) for each in arguments])
    finally:
        sys.stdin = before
    return Called(code, raw.getvalue(), err.getvalue())


def command(*arguments: object) -> list[str]:
    """The command line as a process: the installed command's own start, from this checkout."""
    start = "import sys; from streams.interfaces.cli.main import main; sys.exit(main())"
    return [sys.executable, "-c", start, *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    """What a process needs to run this checkout from anywhere."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("METALOGUE_", "OPENAI_"))}
    return kept | {"PYTHONPATH": str(ROOT)} | more


def process(*arguments: object, cwd: Path, **more: str) -> subprocess.Popen[bytes]:
    """A running command with pipes."""
    return subprocess.Popen(
        command(*arguments),
        cwd=cwd,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def work(path: Path) -> None:
    """Run a worker to its end in a process of its own: a browser's driver has the loop of this one."""
    words = (
        "worker",
        "--backbone",
        "rehearsal:seed=7",
        "--until-idle",
        "--no-tables",
        "--log",
        path,
    )
    with process(*words, cwd=path.parent) as worker:
        assert worker.wait(60) == 0


def copied(log: Path, to: Path) -> Path:
    """A log as it is now, what still stands in its write-ahead log included."""
    with closing(sqlite3.connect(log)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
    return to


def answer(number: int, **more: Any) -> Message:
    """An answer's message."""
    episode = f"p/default/q{number}/run"
    value: dict[str, Any] = {
        "problem_id": f"q{number}",
        "episode": episode,
        "domain": "default",
        "policy": "cot",
        "status": "answered",
        "ended_by": "answered",
        "answer": str(number),
        "confidence": None,
        "usage": {"calls": 1},
    }
    return "answers", episode, {}, json.dumps(value | more).encode()


def log_of(path: Path, messages: Iterable[Message] = ()) -> Path:
    """A log with these messages; its path."""
    log = SqliteLog(path, create=True)
    log.publish(messages)
    log.close()
    return path
