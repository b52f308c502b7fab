"""How soon a command is there: by what it loads, and against bare Python's own start."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.endpoint import serving
from tests.live.thinking import think
from tests.streams.cli.calling import call, command, environment

HEAVY = {"pydantic", "numpy", "asyncio", "sqlite3", "faust", "aiokafka", "lancedb", "openai"}
ELSEWHERE = {"faust", "mode", "aiokafka", "lancedb", "pyarrow", "duckdb", "starlette", "sympy"}
LIBRARIES = "asyncio, sqlite3, numpy, pydantic"
RUNS = 12


def seconds(words: list[str], folder: Path, code: int, **env: str) -> float:
    """Processor time of one run: the wall belongs to whoever else is working."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        words, cwd=folder, env=environment(**env), capture_output=True, check=False
    )
    assert done.returncode == code, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def starts(folder: Path, code: int, *arguments: str) -> float:
    """How many starts of bare Python a command takes.

    Each is run in turn with the other and the least of each counts: whoever else is working makes
    any run dearer, and both alike only while both are measured, but none cheaper than it is.
    """
    seconds(command(*arguments), folder, code)  # from now on what it loads is compiled
    rounds = [
        (seconds([sys.executable, "-c", "pass"], folder, 0), seconds(command(*arguments), folder, code))
        for _ in range(RUNS)
    ]  # fmt: skip
    bare, ours = min(bare for bare, _ in rounds), min(ours for _, ours in rounds)
    return ours / bare


HELP = [("--help",), ("-h",), ("verify", "--help"), ("worker", "-h"), ("log", "stats", "--help")]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [HELP[0], HELP[-1]])
def test_help_is_there_within_fifteen_starts(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert starts(tmp_path, 0, *arguments) <= 15


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("produce", "x.jsonl", "--nonsense"),
        ("show", "--log", "missing.db"),
    ],
)
def test_a_usage_error_is_there_within_twenty_five_starts(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    assert starts(tmp_path, 2, *arguments) <= 25


def loaded(arguments: tuple[object, ...], folder: Path, **env: str) -> set[str]:
    """The top-level modules that a command has loaded when it ends."""
    start = (
        "import sys; from streams.interfaces.cli.main import main; main(sys.argv[1:])\n"
        "print('\\n=modules=', *sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", start, *map(str, arguments)],
        cwd=folder,
        env=environment(**env),
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stderr.partition("=modules=")[2].split()}


@pytest.mark.parametrize("arguments", HELP)
def test_help_loads_nothing_that_is_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    found = loaded(arguments, tmp_path)
    assert "streams" in found
    assert not found & HEAVY


def test_working_on_sqlite_loads_no_stream_and_no_tables(tmp_path: Path) -> None:
    log = ("--log", "a.db")
    assert not loaded(("produce", "game24:901-903", "--policy", "mc2", *log), tmp_path) & ELSEWHERE
    work = ("worker", "--backbone", "rehearsal", "--until-idle", "--settle", *log)
    found = loaded((*work, "--no-tables"), tmp_path)
    assert "asyncio" in found
    assert not found & ELSEWHERE
    assert "openai" not in found, "the rehearsal model needs no client"
    solve = ("solve", "1 + 1", "--policy", "cot", "--backbone", "rehearsal", *log)
    assert not loaded(solve, tmp_path) & (ELSEWHERE | {"openai"})


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of one problem."""
    log = tmp_path_factory.mktemp("solved") / "a.db"
    solve = ("solve", "1 + 1", "--policy", "cot", "--backbone", "rehearsal", "--log", log)
    assert call(*solve).code == 0
    return log


@pytest.mark.parametrize(
    "reading", [("consume",), ("verify",), ("log", "stats"), ("state", "hash"), ("show",)]
)
def test_looking_at_a_log_loads_no_stream_and_no_client(
    solved: Path, tmp_path: Path, reading: tuple[str, ...]
) -> None:
    assert not loaded((*reading, "--log", solved), tmp_path) & (ELSEWHERE | {"openai"})


def test_an_endpoint_s_client_is_loaded_where_one_is_asked(tmp_path: Path) -> None:
    with serving(think) as endpoint:
        solve = ("solve", "1 + 1", "--policy", "cot", "--backbone", "openai", "--log", "a.db")
        found = loaded(solve, tmp_path, **endpoint.env())
    assert "openai" in found
    assert not found & ELSEWHERE


@pytest.mark.slow
def test_a_whole_episode_costs_little_more_than_what_it_loads(tmp_path: Path) -> None:
    """Start, question, answer, record and end, against the libraries that no run can do without.

    On the machine that the bounds were set on this is about three quarters of a second, an
    endpoint's own client, which is no part of ours, left out.
    """

    def runs(round_: int, **there: str) -> list[float]:
        solve = ("solve", "1 + 1", "--policy", "cot", "--log")
        simulated, served = f"simulated-{round_}.db", f"served-{round_}.db"
        return [
            seconds([sys.executable, "-c", f"import {LIBRARIES}"], tmp_path, 0),
            seconds(command(*solve, simulated, "--backbone", "rehearsal"), tmp_path, 0),
            seconds([sys.executable, "-c", "import openai, aiohttp"], tmp_path, 0),
            seconds(command(*solve, served, "--backbone", "openai"), tmp_path, 0, **there),
        ]

    with serving(think) as endpoint:
        rounds = [runs(each, **endpoint.env()) for each in range(3)]
        assert len(endpoint.asked) == 3
    libraries, rehearsed, client, asked = (min(each) for each in zip(*rounds, strict=True))
    assert rehearsed <= 5 * libraries
    assert asked <= 5 * libraries + 1.5 * client
