"""One whole file: after the clean end of every command the ``.db`` alone holds all, and nothing lies beside."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from streams.runtime.embedded.files import connect_to_read
from streams.runtime.embedded.log import SqliteLog
from tests.crash.processes import until
from tests.streams.cli.calling import call, command, environment
from tests.streams.cli.every import (
    ELSEWHERE,
    GOES_ON,
    READS,
    REFUSED,
    WRITES,
    given_to,
    takes_a_log,
    used,
    words_of,
)


def left_by_a_kill(path: Path) -> Path:
    """A log as a killed process leaves it: the newest message stands in the write-ahead log alone."""
    source = path.with_name("source.db")
    shutil.copy(used(), source)
    with closing(SqliteLog(source)) as log:
        log.publish([("late", "late", {}, b"{}")])
        for suffix in ("", "-wal"):
            shutil.copy(f"{source}{suffix}", f"{path}{suffix}")
    assert Path(f"{path}-wal").stat().st_size
    return path


def beside(path: Path) -> list[str]:
    """What of SQLite's lies beside a log."""
    return [suffix for suffix in ("-wal", "-shm", "-journal") if Path(f"{path}{suffix}").exists()]


def test_every_command_that_takes_a_log_is_tried_here() -> None:
    assert {*READS, *WRITES, *GOES_ON, *ELSEWHERE} == set(takes_a_log())


@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_the_file_alone_holds_everything_afterwards(folder: Path, name: str) -> None:
    path = left_by_a_kill(folder / "a.db")
    done = call(*words_of(name), "--log", path, given=given_to(name))
    assert done.code in (REFUSED.get(name, 0), 1), done.err
    assert "defect" not in done.err
    if name in ("config show", "log path"):
        return  # they open no log
    assert beside(path) == []
    alone = shutil.copy(path, folder / "copy.db")
    with closing(SqliteLog(alone)) as log:
        assert log.has_message("late", "late")


SIMULATED = ("--backbone", "rehearsal:seed=7")
SLOW = ("--backbone", "rehearsal:seed=7,latency_ms=100", "--max-concurrency", "2")


@pytest.mark.parametrize(
    ("words", "stop", "code"),
    [
        (("worker", *SIMULATED, "--until-idle"), None, 0),
        (("worker", *SIMULATED, "--until-idle", "--total-calls", "9"), None, 4),
        (("worker", *SLOW), signal.SIGTERM, 0),
        (("worker", *SLOW, "--metrics", "127.0.0.1:0"), signal.SIGINT, 0),
        (("consume", "--follow"), signal.SIGINT, 130),
        (("projector",), signal.SIGTERM, 0),
        (("dashboard", "--listen", "127.0.0.1:0"), signal.SIGTERM, 0),
        (("dashboard", "--listen", "127.0.0.1:0"), signal.SIGINT, 0),
    ],
    ids=str,
)
def test_a_process_that_ends_cleanly_leaves_one_file(
    folder: Path, words: tuple[str, ...], stop: signal.Signals | None, code: int
) -> None:
    """With all that runs in it: a projector as its child, pages, a view that reads until the end."""
    path = folder / "a.db"
    assert call("produce", "game24:901-912", "--policy", "mc2", "--log", path).code == 0
    if words[0] != "worker":
        path = left_by_a_kill(folder / "b.db")
    process = subprocess.Popen(
        command(*words, "--log", path),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if stop is not None:
        with closing(SqliteLog(path)) as log:
            _wait_for(process, words[0], log)
        process.send_signal(stop)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code, said.decode()
    alone(path, words[0])


def _wait_for(process: subprocess.Popen[bytes], name: str, log: SqliteLog) -> None:
    """Until the process is at work, with the log open."""
    if name == "worker":
        assert until(lambda: log.end() > 40, process)
    elif name == "consume":
        assert process.stdout is not None
        process.stdout.readline()
    else:
        assert process.stderr is not None
        while b"ready" not in (line := process.stderr.readline()):
            assert line, "it ended without a word"


def alone(path: Path, name: str) -> None:
    """The file holds what was done, with nothing of SQLite's beside it or beside its snapshot."""
    assert [
        each.name for each in path.parent.iterdir() if each.name.endswith(("-wal", "-shm"))
    ] == []
    with closing(SqliteLog(shutil.copy(path, path.with_name("copy.db")))) as log:
        assert log.has_message("late", "late") or (name == "worker" and log.end() > 40)


def test_a_reader_of_the_pipe_that_leaves_early_leaves_one_file_too(folder: Path) -> None:
    path = left_by_a_kill(folder / "a.db")
    ends = os.pipe()
    os.close(ends[0])
    done = subprocess.run(
        command("log", "cat", "--log", path), stdout=ends[1], env=environment(), check=False
    )
    os.close(ends[1])
    assert done.returncode == 0
    assert beside(path) == []


def test_who_ends_while_another_reads_leaves_the_file_whole(folder: Path) -> None:
    """Nothing can be removed under a reader, but the file alone holds everything."""
    path = folder / "a.db"
    assert call("produce", "game24:901-903", "--policy", "cot", "--log", path).code == 0
    with closing(connect_to_read(path)) as reader:
        reader.execute("select count(*) from records").fetchone()
        work = ("worker", *SIMULATED, "--until-idle", "--no-tables", "--log", path)
        assert call(*work).code == 0
        with closing(SqliteLog(shutil.copy(path, folder / "copy.db"))) as log:
            assert len(list(log.messages("answers"))) == 3
    assert beside(path) == []
