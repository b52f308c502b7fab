"""Processes that are stopped for long and wake again: who was replaced meanwhile writes nothing that counts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from streams.runtime.embedded.log import SqliteLog
from tests.crash.processes import kill, until
from tests.crash.test_side_runs import TEXT, Side, ended, side
from tests.streams.cli.calling import call, environment

pytestmark = pytest.mark.timeout(400)
WORKER = ("worker", "--until-idle", "--no-tables", "--max-concurrency", 4)
HOLD = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("begin immediate")
print("held", flush=True)
time.sleep(600)
"""


def queued(on: Side, count: int) -> None:
    """Problems for a worker."""
    lines = [{"id": f"q{n}", "problem": f"{n} + 1?", "policy": "cot"} for n in range(count)]
    given = "\n".join(map(json.dumps, lines)).encode()
    assert call("produce", "-", "--log", on.path, given=given).code == 0


def stop(process: subprocess.Popen[bytes], path: Path) -> None:
    """Stop a process, at a moment at which it does not hold the file."""
    while True:
        process.send_signal(signal.SIGSTOP)
        with closing(SqliteLog(path)) as log:
            log.db.execute("pragma busy_timeout=0")
            try:
                log.db.execute("begin immediate")
            except Exception:
                process.send_signal(signal.SIGCONT)
                time.sleep(0.05)
                continue
            log.db.execute("rollback")
            return


def counted(on: Side) -> dict[str, int]:
    return dict(call("log", "stats", "--json", "--log", on.path).json)


def test_a_stopped_worker_keeps_its_log_and_goes_on_where_it_was(tmp_path: Path) -> None:
    with side(tmp_path / "a.db") as on:
        queued(on, 12)
        worker = on.start(*WORKER)
        assert until(lambda: len(on.endpoint.asked) >= 6, worker)
        stop(worker, on.path)
        second = on.start(*WORKER)
        _, said = second.communicate(timeout=150)
        assert second.returncode == 6
        assert f"process {worker.pid}" in said.decode()
        assert ended(on.solve())[0] == 0, "what runs beside it goes on"
        time.sleep(2)
        worker.send_signal(signal.SIGCONT)
        assert worker.wait(150) == 0
        stats = counted(on)
        assert (stats["answers"], stats["stale_completions"]) == (13, 0)
        assert on.endpoint.repeats() <= 4
        assert stats["repeated_completions"] == 0


def test_a_stopped_worker_that_was_replaced_wakes_and_writes_nothing(tmp_path: Path) -> None:
    """Somebody removed its lock and started another: at most what it had in flight is paid for twice."""
    with side(tmp_path / "a.db", latency_s=1.0) as on:
        queued(on, 12)
        first = on.start(*WORKER)
        # As many as it may have in flight have arrived: none is on its way to the endpoint when it stops.
        assert until(lambda: on.endpoint.inside == 4, first)
        stop(first, on.path)
        (tmp_path / "a.db.lock").unlink()
        second = on.start(*WORKER)
        assert second.wait(150) == 0
        done, asked = counted(on), len(on.endpoint.asked)
        with on.log() as log:
            end = log.end()
        first.send_signal(signal.SIGCONT)
        _, said = first.communicate(timeout=150)
        assert first.returncode == 6
        assert b"[log.claimed, exit 6]" in said, said
        with on.log() as log:
            assert log.end() == end
        stats = counted(on)

        assert len(on.endpoint.asked) == asked, "it asked nothing more"
        assert (stats["answers"], stats["completions"]) == (12, 12)
        assert stats["repeated_completions"] == 0
        assert on.endpoint.repeats() <= 4
        assert len(on.endpoint.asked) == 12 + on.endpoint.repeats()
        assert stats["stale_completions"] <= 4
        assert done["completions"] == stats["completions"]
        assert call("verify", "--log", on.path).code == 0


def test_what_waits_for_a_stopped_solve_is_told_and_others_go_on(tmp_path: Path) -> None:
    with side(tmp_path / "a.db", held=lambda asked: asked.number == 0) as on:
        first = on.solve()
        assert until(lambda: bool(on.endpoint.asked), first)
        stop(first, on.path)
        on.released.set()
        same, other = on.solve(), on.solve("Another: 3 + 4?")
        assert ended(other)[0] == 0
        assert same.stderr is not None
        assert f"solve, process {first.pid} works" in same.stderr.readline().decode()
        time.sleep(1)
        assert same.poll() is None
        first.send_signal(signal.SIGCONT)
        assert ended(first)[0] == 0
        code, found, said = ended(same)
        assert (code, found["known"]) == (0, True), said
        assert len(on.endpoint.asked) == 2
        on.all_that_was_paid_counts()


def test_a_stopped_solve_that_was_replaced_wakes_and_writes_nothing(tmp_path: Path) -> None:
    with side(tmp_path / "a.db", 0.0, held=lambda asked: asked.number == 1) as on:
        words = ("solve", TEXT, "--policy", "self_refine", "--json")
        first = on.start(*words)
        assert until(lambda: len(on.endpoint.asked) == 2, first)
        stop(first, on.path)
        on.released.set()
        (tmp_path / "a.db.side.lock").unlink()
        code, found, said = ended(on.start(*words))
        assert (code, found["answer"]) == (0, "7"), said
        with on.log() as log:
            end, journal = log.end(), log.journal(found["episode"])
        asked = len(on.endpoint.asked)
        first.send_signal(signal.SIGCONT)
        _, told = first.communicate(timeout=150)
        assert first.returncode == 6
        assert json.loads(told)["error"] == "log.claimed"
        with on.log() as log:
            assert (log.end(), log.journal(found["episode"])) == (end, journal)
            assert (log.counter("stale"), log.counter("repeated")) == (1, 0)
        assert len(on.endpoint.asked) == asked
        assert on.endpoint.repeats() == 1, "the one call that was in flight"
        assert call("verify", "--log", on.path).code == 0


def test_replies_wait_while_a_stopped_process_holds_the_file(tmp_path: Path) -> None:
    """It was stopped in the middle of a commit: nothing can be written until it goes on or is killed."""
    with side(tmp_path / "a.db") as on:
        queued(on, 8)
        worker = on.start(*WORKER)
        assert until(lambda: len(on.endpoint.asked) >= 4, worker)
        words = [sys.executable, "-c", HOLD, str(on.path)]
        holder = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment())
        on.begun.append(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.send_signal(signal.SIGSTOP)
        time.sleep(3)
        asked = len(on.endpoint.asked)
        assert worker.poll() is None
        assert kill(holder)
        _, said = worker.communicate(timeout=150)
        assert worker.returncode == 0, said
        assert b"another process holds the log" in said
        assert asked <= 8
        assert counted(on)["answers"] == 8
        on.all_that_was_paid_counts()
