"""Real workers, really killed."""

from __future__ import annotations

import shutil
import signal
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from streams.runtime.embedded.log import SqliteLog
from tests.crash.conftest import Calm
from tests.crash.processes import PATIENCE_S, finish, grown, kill, killed_often, until, worker
from tests.crash.series import completed, end_of, produced
from tests.endpoint import serving, whole
from tests.streams.cli.calling import call, command, environment

SLOWLY = ("--backbone", "rehearsal:seed=7,latency_ms=60", "--max-concurrency", 4)
AT_ONCE = ("--backbone", "rehearsal:seed=7")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_twenty_kills_change_nothing(calm: Calm, tmp_path: Path) -> None:
    path = Path(shutil.copy(calm.before, tmp_path / "wild.db"))
    assert killed_often(path, 20, 40, *SLOWLY) == 20
    finish(path, *AT_ONCE)
    log = SqliteLog(path)
    assert end_of(log) == calm.end
    assert log.counter("stale") == 0
    log.close()


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_kills_change_nothing(tmp_path: Path) -> None:
    ends: list[object] = []
    for name, kills in (("calm", 0), ("wild", 200)):
        path = tmp_path / f"{name}.db"
        produced(path, "game24:901-1000", values={"batch_size": 10})
        assert killed_often(path, kills, 20, *SLOWLY) == kills
        finish(path, *AT_ONCE)
        log = SqliteLog(path)
        ends.append(end_of(log))
        log.close()
    assert ends[0] == ends[1]


def test_what_was_recorded_before_a_kill_is_on_the_log_afterwards_as_it_was(
    calm: Calm, tmp_path: Path
) -> None:
    path = Path(shutil.copy(calm.before, tmp_path / "log.db"))
    log = SqliteLog(path)
    process = worker(path, *SLOWLY)
    assert until(grown(log, 120), process)
    seen = completed(log)
    query = "select offset, episode, address, body from records order by offset"
    rows = log.db.execute(query).fetchall()
    assert kill(process)
    assert log.db.execute(query).fetchall()[: len(rows)] == rows
    finish(path, *AT_ONCE)
    assert seen <= completed(log)
    assert log.db.execute(query).fetchall()[: len(rows)] == rows
    log.close()


def test_a_second_worker_names_the_first_and_a_kill_frees_the_log(
    calm: Calm, tmp_path: Path
) -> None:
    path = Path(shutil.copy(calm.before, tmp_path / "log.db"))
    log = SqliteLog(path)
    first = worker(path, *SLOWLY)
    assert until(grown(log, 20), first)
    second = worker(path, *AT_ONCE)
    _, said = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 6
    assert f"process {first.pid}" in said.decode()
    assert "[log.busy, exit 6]" in said.decode()
    assert first.poll() is None, "the first goes on"
    assert kill(first)
    finish(path, *AT_ONCE)
    assert end_of(log) == calm.end
    log.close()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_first_signal_drains_and_what_was_in_flight_is_recorded(
    calm: Calm, tmp_path: Path, stop: signal.Signals
) -> None:
    path = Path(shutil.copy(calm.before, tmp_path / "log.db"))
    log = SqliteLog(path)
    process = worker(path, "--backbone", "rehearsal:seed=7,latency_ms=300")
    assert until(grown(log, 60), process)
    process.send_signal(stop)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert said.decode().count("draining") == 1
    assert len(completed(log)) < calm.asked.asked.total()
    finish(path, *AT_ONCE)
    assert end_of(log) == calm.end
    log.close()


def test_a_closed_terminal_is_told_of_twice_and_drains_all_the_same(
    calm: Calm, tmp_path: Path
) -> None:
    """By the shell and by the system: the second was taken for somebody in a hurry, and what was in flight was lost."""
    path = Path(shutil.copy(calm.before, tmp_path / "log.db"))
    log = SqliteLog(path)
    process = worker(path, "--backbone", "rehearsal:seed=7,latency_ms=1500")
    assert until(grown(log, 30), process)
    process.send_signal(signal.SIGHUP)
    assert process.stderr is not None
    while b"draining" not in (line := process.stderr.readline()):
        assert line, "it ended without a word"
    seen = completed(log)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert seen < completed(log)
    log.close()


def test_a_closed_terminal_does_not_end_what_nohup_started(calm: Calm, tmp_path: Path) -> None:
    path = Path(shutil.copy(calm.before, tmp_path / "log.db"))
    log = SqliteLog(path)
    process = subprocess.Popen(
        ["nohup", *command("worker", "--log", path, *SLOWLY)],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert until(grown(log, 20), process)
    process.send_signal(signal.SIGHUP)
    assert until(grown(log, 40), process)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said.decode().count("draining")) == (0, 1)
    log.close()


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_the_second_signal_stops_at_once_and_nothing_is_lost(
    calm: Calm, tmp_path: Path, stop: signal.Signals, code: int
) -> None:
    path = Path(shutil.copy(calm.before, tmp_path / "log.db"))
    log = SqliteLog(path)
    process = worker(path, "--backbone", "rehearsal:seed=7,latency_ms=200000")
    assert until(grown(log, 30), process)
    process.send_signal(stop)
    assert process.stderr is not None
    while b"draining" not in (line := process.stderr.readline()):
        assert line, "it ended without a word"
    process.send_signal(stop)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code
    finish(path, *AT_ONCE)
    assert end_of(log) == calm.end
    log.close()


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_solve_drains_too_and_goes_on_from_there(
    tmp_path: Path, stop: signal.Signals, code: int
) -> None:
    """What the endpoint was asked for is on the log, and is not asked for again."""
    words = ("solve", "1 + 1", "--policy", "self_refine", "--backbone", "openai", "--log", "a.db")
    with serving(lambda asked: replace(whole("it is\nANSWER: 2"), latency_s=0.3)) as endpoint:
        process = subprocess.Popen(
            command(*words),
            cwd=tmp_path,
            env=environment(**endpoint.env()),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert until(lambda: bool(endpoint.asked), process)
        process.send_signal(stop)
        answer, said = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, answer) == (code, b""), said
        assert said.decode().count("draining") == 1
        assert "the same command goes on from there" in said.decode()
        with closing(SqliteLog(tmp_path / "a.db")) as log:
            assert len(completed(log)) == len(endpoint.asked)
        again = subprocess.run(
            command(*words),
            cwd=tmp_path,
            env=environment(**endpoint.env()),
            capture_output=True,
            check=False,
        )
        assert (again.returncode, again.stdout) == (0, b"2\n"), again.stderr
        assert endpoint.repeats() == 0


def test_a_worker_that_lost_its_claim_writes_nothing_more(calm: Calm, tmp_path: Path) -> None:
    """Someone else claims the partition under a worker that holds the lock: it ends, and says so."""
    path = Path(shutil.copy(calm.before, tmp_path / "log.db"))
    log = SqliteLog(path)
    process = worker(path, *SLOWLY)
    assert until(grown(log, 40), process)
    log.claim("usurper")
    taken = log.end()
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 6
    assert b"[log.claimed, exit 6]" in said, said
    assert b"Traceback" not in said
    assert log.end() == taken
    finish(path, *AT_ONCE)
    assert end_of(log).digest == calm.end.digest
    log.close()


def test_solving_and_producing_beside_a_worker_disturb_nobody(calm: Calm, tmp_path: Path) -> None:
    path = Path(shutil.copy(calm.before, tmp_path / "log.db"))
    log = SqliteLog(path)
    process = worker(path, *SLOWLY)
    assert until(grown(log, 20), process)
    where = ("--log", path)
    solve = ("solve", "What is 3 + 4?", "--policy", "cot", "--backbone", "rehearsal", *where)
    done = subprocess.run(
        command(*solve), cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert call("produce", "game24:931-933", "--policy", "cot", *where).code == 0
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    # On a slow machine the worker is done before something is produced beside it.
    finish(path, *AT_ONCE)
    assert len(end_of(log).answers) == 30 + 1 + 3
    assert log.counter("stale") == 0
    log.close()


def test_a_reader_that_leaves_early_is_no_failure(calm: Calm, tmp_path: Path) -> None:
    cat = command("log", "cat", "--log", calm.after)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        cat, cwd=tmp_path, env=environment(), stdout=pipe, stderr=pipe
    ) as reading:
        assert reading.stdout is not None
        assert reading.stderr is not None
        assert reading.stdout.readline()
        reading.stdout.close()
        assert reading.stderr.read() == b""
    assert reading.returncode == 0
