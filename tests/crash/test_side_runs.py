"""Solves and forks as processes of their own, many on one log, beside a worker, killed and stopped."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import pytest

from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.sides import has_worker
from streams.runtime.embedded.solving import text_id
from tests.crash.processes import PATIENCE_S, kill, until
from tests.endpoint import Answer, Asked, Endpoint, serving, whole
from tests.streams.cli.calling import call, command, environment

pytestmark = pytest.mark.timeout(400)
TEXT = "A train of 5 wagons gets 2 more. How many are there?"


@dataclass
class Side:
    """One log, and an endpoint that counts what is paid for."""

    path: Path
    endpoint: Endpoint
    released: threading.Event
    begun: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    def start(self, *words: object) -> subprocess.Popen[bytes]:
        """A command as a process, asking the endpoint."""
        process = subprocess.Popen(
            command(*words, "--backbone", "openai", "--log", self.path),
            cwd=self.path.parent,
            env=environment(**self.endpoint.env()),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.begun.append(process)
        return process

    def solve(self, text: str = TEXT, *words: object) -> subprocess.Popen[bytes]:
        return self.start("solve", text, "--policy", "cot", "--json", *words)

    def log(self) -> closing[SqliteLog]:
        return closing(SqliteLog(self.path))

    def all_that_was_paid_counts(self) -> None:
        """Each call of the endpoint is one completion on the log, no claim of a side run is left."""
        stats = call("log", "stats", "--json", "--log", self.path).json
        assert stats["completions"] == len(self.endpoint.asked)
        assert (stats["stale_completions"], stats["repeated_completions"]) == (0, 0)
        with self.log() as log:
            assert [number for number in log.claims() if number] == []


def none(asked: Asked) -> bool:
    return False


def all_of_them(asked: Asked) -> bool:
    return True


@contextmanager
def side(
    path: Path, latency_s: float = 0.3, held: Callable[[Asked], bool] = none
) -> Generator[Side]:
    """The calls that are held stay in flight until they are released, however long a process takes to start."""
    released = threading.Event()

    def answer(asked: Asked) -> Answer:
        reply = whole("It is\nANSWER: 7")
        return (
            replace(reply, after=released) if held(asked) else replace(reply, latency_s=latency_s)
        )

    with serving(answer) as endpoint:
        made = Side(path, endpoint, released)
        try:
            yield made
        finally:
            for process in made.begun:
                with process:
                    process.kill()


def ended(process: subprocess.Popen[bytes]) -> tuple[int, Any, str]:
    """Exit code, the object that it printed, and what it said."""
    out, said = process.communicate(timeout=150)
    return process.returncode, json.loads(out) if out else None, said.decode()


def test_solves_and_forks_at_once_beside_a_worker_lose_nothing(tmp_path: Path) -> None:
    with side(tmp_path / "a.db") as on:
        first = ended(on.solve("Parent: 3 + 4?"))
        assert first[0] == 0, first
        parent = first[1]["episode"]
        lines = [{"id": f"q{n}", "problem": f"{n} + 1?", "policy": "cot"} for n in range(6)]
        given = "\n".join(map(json.dumps, lines)).encode()
        assert call("produce", "-", "--log", on.path, given=given).code == 0
        worker = on.start("worker", "--until-idle", "--no-tables")
        solves = [on.solve(f"Number {n}: 3 + 4?") for n in range(3)]
        forks = [
            on.start("fork", parent, "--at", 0, "--set", f"output_cap={500 + n}", "--json")
            for n in range(2)
        ]
        for process in (*solves, *forks):
            code, found, said = ended(process)
            assert (code, found and found["answer"]) == (0, "7"), said
        assert worker.wait(150) == 0
        on.all_that_was_paid_counts()


def test_the_same_problem_at_once_is_paid_for_once(tmp_path: Path) -> None:
    with side(tmp_path / "a.db", held=all_of_them) as on:
        for _ in range(3):
            on.solve()
        assert until(lambda: len(spoken(on)) >= 2), "those that wait say so"
        on.released.set()
        found = [ended(each) for each in on.begun]
        assert [(code, body["answer"]) for code, body, _ in found] == [(0, "7")] * 3, found
        assert sorted(body["known"] for _, body, _ in found) == [False, True, True]
        waited = [said for _, body, said in found if body["known"]]
        assert all("works on the same: waits for what it finds" in said for said in waited), waited
        assert len(on.endpoint.asked) == 1
        on.all_that_was_paid_counts()


def spoken(on: Side) -> list[IO[bytes]]:
    """Where processes have said something."""
    said = [each.stderr for each in on.begun if each.stderr is not None]
    return select.select(said, [], [], 0)[0]


def test_who_waits_for_a_solve_that_is_killed_goes_on_with_what_it_recorded(tmp_path: Path) -> None:
    with side(tmp_path / "a.db", 0.0, held=lambda asked: asked.number == 1) as on:
        words = ("solve", TEXT, "--policy", "self_refine", "--json")
        first = on.start(*words)
        assert until(lambda: len(on.endpoint.asked) == 2, first)
        second = on.start(*words)
        assert second.stderr is not None
        line = second.stderr.readline().decode()
        assert f"solve, process {first.pid} works on the same" in line
        with on.log() as log:
            assert [number for number in log.claims() if number] == [1]
        assert kill(first)
        code, found, said = ended(second)
        assert (code, found["known"]) == (0, False), said
        assert on.endpoint.repeats() == 1, "the one call that was in flight"
        with on.log() as log:
            assert [number for number in log.claims() if number] == []
            assert (log.counter("stale"), log.counter("repeated")) == (0, 0)


def test_the_partition_of_a_killed_solve_is_given_to_the_next(tmp_path: Path) -> None:
    with side(tmp_path / "a.db", 0.0, held=lambda asked: asked.number < 2) as on:
        for number in range(2):
            process = on.solve(f"Killed {number}: 3 + 4?")
            asked = len(on.endpoint.asked)
            assert until(lambda asked=asked: len(on.endpoint.asked) > asked, process)  # type: ignore[misc]
            assert kill(process)
            with on.log() as log:
                assert [each for each in log.claims() if each] == [1]
        assert ended(on.solve())[0] == 0
        with on.log() as log:
            assert log.claims() == {}


def test_a_solve_that_waits_is_drained(tmp_path: Path) -> None:
    with side(tmp_path / "a.db", held=all_of_them) as on:
        first = on.solve()
        assert until(lambda: bool(on.endpoint.asked), first)
        second = on.solve()
        assert second.stderr is not None
        assert b"works on the same" in second.stderr.readline()
        second.send_signal(signal.SIGTERM)
        assert second.wait(PATIENCE_S) == 0
        assert first.poll() is None, "what it waited for is still in flight"
        on.released.set()
        assert ended(first)[:1] == (0,)
        on.all_that_was_paid_counts()


def test_who_solves_what_a_worker_works_on_waits_for_that(tmp_path: Path) -> None:
    with side(tmp_path / "a.db", held=all_of_them) as on:
        said = json.dumps({"id": text_id(TEXT), "problem": TEXT, "policy": "cot"}).encode()
        assert call("produce", "-", "--log", on.path, given=said).code == 0
        worker = on.start("worker", "--until-idle", "--no-tables")
        assert until(lambda: len(on.endpoint.asked) == 1, worker)
        solve = on.solve()
        assert solve.stderr is not None
        assert "a worker has the same: waits for what it finds" in solve.stderr.readline().decode()
        on.released.set()
        code, found, told = ended(solve)
        assert (code, found["known"], found["answer"]) == (0, True, "7"), told
        assert worker.wait(150) == 0
        assert len(on.endpoint.asked) == 1
        on.all_that_was_paid_counts()


def test_what_a_killed_solve_left_is_finished_by_a_worker_that_is_given_the_same(
    tmp_path: Path,
) -> None:
    with side(tmp_path / "a.db", 0.0, held=lambda asked: asked.number == 1) as on:
        solve = on.start("solve", TEXT, "--policy", "self_refine", "--json")
        assert until(lambda: len(on.endpoint.asked) == 2, solve)
        said = json.dumps({"id": text_id(TEXT), "problem": TEXT, "policy": "self_refine"}).encode()
        assert call("produce", "-", "--log", on.path, given=said).code == 0
        worker = on.start("worker", "--until-idle", "--no-tables")
        assert until(lambda: has_worker(on.path), worker)
        assert kill(solve)
        assert worker.wait(150) == 0
        [answer] = call("consume", "--json", "--log", on.path).out.splitlines()
        assert json.loads(answer)["status"] == "answered"
        assert on.endpoint.repeats() == 1, "the one call that was in flight"
        with on.log() as log:
            assert (log.counter("stale"), log.counter("repeated")) == (0, 0)
        assert call("verify", "--log", on.path).code == 0
