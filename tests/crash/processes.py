"""Workers as processes of their own, ended at moments that the log itself tells."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import command, environment

PATIENCE_S = 60.0


def worker(log: Path, *arguments: object, **env: str) -> subprocess.Popen[bytes]:
    """A worker that runs until it is idle."""
    words = ("worker", "--log", log, "--until-idle", "--settle", "--no-tables", *arguments)
    return subprocess.Popen(
        command(*words),
        cwd=log.parent,
        env=environment(**env),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def until(reached: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> bool:
    """Wait for something, or for a process's end; whether it was reached."""
    end = time.monotonic() + PATIENCE_S
    while not reached():
        if process is not None and process.poll() is not None:
            return reached()
        assert time.monotonic() < end, "this should have happened long ago"
        time.sleep(0.002)
    return True


def grown(log: SqliteLog, records: int) -> Callable[[], bool]:
    """Whether a log has that many more records than now, in answers and facts."""
    query = "select count(*) from records where kind != 'partition.claimed'"
    target = int(log.db.execute(query).fetchone()[0]) + records
    return lambda: int(log.db.execute(query).fetchone()[0]) >= target


def kill(process: subprocess.Popen[bytes]) -> bool:
    """SIGKILL; whether it hit a live process."""
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def killed_often(path: Path, kills: int, grow: int, *arguments: object, **env: str) -> int:
    """Kill a worker so often, each time after the log has grown a little; how many kills hit."""
    rng, hits = random.Random(7), 0
    log = SqliteLog(path)
    for _ in range(kills):
        reached = grown(log, rng.randint(1, grow))
        process = worker(path, *arguments, **env)
        until(reached, process)
        hits += kill(process)
    log.close()
    return hits


def finish(path: Path, *arguments: object, **env: str) -> str:
    """A worker's undisturbed run; what it said."""
    process = worker(path, *arguments, **env)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said.decode()
    return said.decode()
