"""How soon a command is there: by what it loads, and against bare Python's own start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest

from tests.endpoint import Answer, Asked, serving
from tests.live.thinking import KEY, think
from tests.streams.cli.calling import command, environment

HEAVY = {"pydantic", "numpy", "asyncio", "sqlite3", "faust", "aiokafka", "lancedb", "openai"}
ELSEWHERE = {"faust", "mode", "aiokafka", "lancedb", "pyarrow", "duckdb", "starlette", "sympy"}
RUNS = 7


def seconds(words: list[str], folder: Path, code: int) -> float:
    """Processor time of one run: the wall belongs to whoever else is working."""
    before = os.times()
    done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, check=False)
    after = os.times()
    assert done.returncode == code, done.stderr
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system


def ratio(arguments: tuple[str, ...], folder: Path, code: int) -> float:
    """How many times bare Python's start a command takes: medians of alternating runs."""
    bare, ours = [], []
    for _ in range(RUNS):
        bare.append(seconds([sys.executable, "-c", "pass"], folder, 0))
        ours.append(seconds(command(*arguments), folder, code))
    return median(ours) / median(bare)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("solve", "--help"), ("log", "-h")]
)
def test_help_is_there_within_fifteen_starts(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert ratio(arguments, tmp_path, 0) <= 15


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("solve",), ("produce", "x.jsonl", "--nonsense"), ("verify", "--log", "no.db")],
)
def test_a_usage_error_is_there_within_twenty_five_starts(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    assert ratio(arguments, tmp_path, 2) <= 25


def loaded(arguments: tuple[object, ...], folder: Path, **env: str) -> set[str]:
    """The top-level modules that a command has loaded when it ends."""
    start = (
        "import sys; from streams.cli.main import main; code = main()\n"
        "print('\\n=modules=', *sys.modules, sep='\\n', file=sys.stderr)"
    )
    start = start.replace("main()\n", "main(sys.argv[1:])\n")
    done = subprocess.run(
        [sys.executable, "-c", start, *map(str, arguments)],
        cwd=folder,
        env=environment(**env),
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stderr.partition("=modules=")[2].split()}


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_help_loads_nothing_that_is_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert not loaded(arguments, tmp_path) & HEAVY


def test_working_on_sqlite_loads_no_stream_and_no_tables(tmp_path: Path) -> None:
    log = ("--log", "a.db")
    assert not loaded(("produce", "game24:901-903", "--policy", "mc2", *log), tmp_path) & ELSEWHERE
    work = ("worker", "--backbone", "rehearsal", "--until-idle", "--settle", *log)
    found = loaded((*work, "--no-tables"), tmp_path)
    assert not found & ELSEWHERE
    assert "openai" not in found, "the rehearsal model needs no client"
    solve = ("solve", "1 + 1", "--policy", "cot", "--backbone", "rehearsal", *log)
    assert not loaded(solve, tmp_path) & (ELSEWHERE | {"openai"})
    for reading in (("consume",), ("verify",), ("log", "stats"), ("state", "hash"), ("show",)):
        assert not loaded((*reading, *log), tmp_path) & (ELSEWHERE | {"openai"}), reading


def test_a_worker_on_an_endpoint_loads_the_client_and_no_stream(tmp_path: Path) -> None:
    with serving(think) as endpoint:
        solve = ("solve", "1 + 1", "--policy", "cot", "--backbone", "openai", "--log", "a.db")
        found = loaded(solve, tmp_path, **endpoint.env())
        assert "openai" in found
        assert not found & ELSEWHERE


@pytest.mark.slow
def test_the_first_question_is_asked_within_a_second(tmp_path: Path) -> None:
    """By the endpoint's clock; the best of several, for the machine may be busy."""
    arrivals: list[float] = []

    def script(asked: Asked) -> Answer:
        arrivals.append(time.monotonic())
        return think(asked)

    waits: list[float] = []
    with serving(script) as endpoint:
        env = environment(**(endpoint.env() | {"OPENAI_API_KEY": KEY}))
        for number in range(5):
            log = ("--log", f"{number}.db")
            words = command("solve", "1 + 1", "--policy", "cot", "--backbone", "openai", *log)
            arrivals.clear()
            began = time.monotonic()
            subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, check=True)
            waits.append(arrivals[0] - began)
    assert min(waits) < 1.0, waits
