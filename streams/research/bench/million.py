"""``bench million``: what each command costs on a log of ten thousand problems, a hundred thousand, a million.

A fifth of the problems is worked on by the rehearsal backbone, without latency; the rest stays queued. Each command is
a process of its own, as a person would start it, and costs the CPU seconds and the peak of memory that the system
counts for it: seconds by the clock say more of a shared machine than of the command. A growth exponent is p, if cost
grows as the size to the power of p. What must read everything is measured between the two largest sizes and beyond what
it costs on a log of ten problems, so that its start does not flatter it; what need not is measured as a whole, from the
smallest size to the largest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from math import log
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.error import URLError
from urllib.request import urlopen

import orjson

from streams.research.analysis.plots import Plot
from streams.research.analysis.report import number, table
from streams.support.child import cpu_s, python, variables

SIZES: Final = (10_000, 100_000, 1_000_000)
LEAST: Final = 10
"""The log whose costs are those of a start."""
SHARE: Final = 5
"""One problem in so many is worked on."""
PUZZLES: Final = ("1 1 4 6", "4 4 10 10", "1 4 8 8", "4 9 10 13", "5 5 5 9", "2 3 5 12", "1 3 4 6")
Reads: TypeAlias = Literal["all", "little"]
AIMS: Final[Mapping[Reads, float]] = {"all": 1.05, "little": 0.1}
"""The largest exponent of what must read everything, and of what need not."""
LEAST_S, LEAST_MB = 0.01, 1.0
"""Costs below these are not told apart."""
BACKBONE: Final = "rehearsal:latency_ms=0"
START: Final = """
import sys
from streams.interfaces.cli.main import main
try:
    code = main()
finally:
    with open("/proc/self/status", "rb") as status, open({told!r}, "wb") as told:
        told.write(status.read())
sys.exit(code)
"""
"""A command that leaves in a file what the system knows of its memory: what a parent is told of a child that has ended
counts the parent's own memory too.
"""
SPENT: Final = 4
"""The exit code of a worker that has made its calls."""
ANSWERS_S: Final = 600.0
READY: Final = "ready: "
HEAD: Final = ("command", "reads", "growth of time", "growth of memory")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process cost: CPU seconds, seconds by the clock, and its peak of memory in MB."""

    cpu_s: float
    wall_s: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Row:
    """A command: the cost of its start, its costs by size, and how they grow; unknown with a single size."""

    name: str
    reads: Reads
    start: Cost
    costs: Mapping[int, Cost]

    def growth(self, of: Callable[[Cost], float], least: float) -> float | None:
        """The exponent of one of its costs."""
        sizes = sorted(self.costs)
        if len(sizes) < 2:
            return None
        first, last = sizes[-2 if self.reads == "all" else 0], sizes[-1]
        # A start of half a second hides how a short command grows. What reads little is nearly all
        # start, and without that nothing would be left but noise.
        base = of(self.start) if self.reads == "all" else 0.0
        before, after = (max(of(self.costs[size]) - base, least) for size in (first, last))
        return log(after / before) / log(last / first)

    @property
    def time_growth(self) -> float | None:
        """The exponent of CPU seconds."""
        return self.growth(lambda cost: cost.cpu_s, LEAST_S)

    @property
    def memory_growth(self) -> float | None:
        """The exponent of the peak of memory."""
        return self.growth(lambda cost: cost.peak_mb, LEAST_MB)


class Failed(Exception):
    """A command that was measured ended otherwise than it should; the message holds what it said."""


# ── What is measured ─────────────────────────────────────────────────────────────────────────


def measured(folder: Path, size: int) -> Iterator[tuple[str, Reads, Cost]]:
    """Make a log of so many problems, work on a fifth, and then measure what people do with it."""
    lines, url = folder / "problems.jsonl", f"sqlite:{folder / 'million.db'}"
    write_problems(lines, size)
    worker = ("worker", "--backbone", BACKBONE, "--no-tables", "--total-calls")

    def cost(*arguments: str, ends: int = 0) -> Cost:
        return command([*arguments, "--log", url], ends)

    yield "produce", "all", cost("produce", str(lines))
    yield "worker", "all", cost(*worker, str(max(size // SHARE, 1)), ends=SPENT)
    yield "worker, started again", "little", cost(*worker, "1", ends=SPENT)
    yield "log stats", "little", cost("log", "stats")
    yield "show", "little", cost("show")
    yield "show ID", "little", cost("show", identity(0))
    yield from dashboard(url)
    yield "rebuild", "all", cost("rebuild", "--tables", "none")
    yield "verify", "all", cost("verify")


def write_problems(file: Path, size: int) -> None:
    """So many puzzles, each with a name of its own."""
    with file.open("wb") as lines:
        for at, puzzle in enumerate(islice(cycle(PUZZLES), size)):
            said = {"id": identity(at), "problem": puzzle, "domain": "game24"}
            lines.write(orjson.dumps(said) + b"\n")


def identity(at: int) -> str:
    """The name of a problem by its place."""
    return f"n{at:07d}"


def command(arguments: Sequence[str], ends: int) -> Cost:
    """What a command of ours costs. Raises ``Failed`` unless it ends with this exit code."""
    with tempfile.TemporaryFile() as said, tempfile.NamedTemporaryFile() as told:
        began = time.perf_counter()
        process = _started(arguments, said.fileno(), told.name)
        # `wait4` and not `Popen.wait`: it tells what this child used, and not what all of them did.
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        # Told to the object too, which would else wait in vain for a child that has ended.
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != ends:
            said.seek(0)
            raise Failed(f"{' '.join(arguments)}: {said.read()[-600:].decode(errors='replace')}")
        return Cost(used.ru_utime + used.ru_stime, wall, _peak_mb(Path(told.name)))


def _started(arguments: Sequence[str], to: int, told: str = os.devnull) -> subprocess.Popen[bytes]:
    line = python("-c", START.format(told=told), "--display", "none", *arguments)
    return subprocess.Popen(line, env=variables(), stdin=subprocess.DEVNULL, stdout=to, stderr=to)


def _peak_mb(status: Path) -> float:
    """The most memory that a process has held, in MB, by the page that Linux keeps of it."""
    lines = status.read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


# ── The dashboard ────────────────────────────────────────────────────────────────────────────


def dashboard(url: str) -> Iterator[tuple[str, Reads, Cost]]:
    """Its first page; when it has read the whole log; and a page after that."""
    with tempfile.TemporaryFile() as said:
        line = ("dashboard", "--listen", "127.0.0.1:0", "--log", url)
        process = _started(line, said.fileno())
        try:
            began = time.perf_counter()
            address = _address(process, said.fileno())
            _page(address)
            yield "dashboard, first page", "little", _so_far(process.pid, began)
            # It answers while it still reads; only then does it say that it is ready.
            ready = False
            while not ready:
                try:
                    _page(f"{address}readyz")
                    ready = True
                except URLError:
                    # Each question costs what is measured, too: the longer it takes, the more seldom
                    # it is asked.
                    time.sleep(max(0.05, (time.perf_counter() - began) / 50))
            before = _so_far(process.pid, began)
            yield "dashboard, all read", "all", before
            _page(address)
            after = _so_far(process.pid, began)
            one = Cost(after.cpu_s - before.cpu_s, after.wall_s - before.wall_s, after.peak_mb)
            yield "dashboard, a page then", "little", one
        finally:  # also where a page fails: nobody else would end it
            process.send_signal(signal.SIGTERM)
            process.wait()


def _address(process: subprocess.Popen[bytes], said: int) -> str:
    """Where it listens, once it says so. Raises ``Failed`` if it never does."""
    end = time.monotonic() + ANSWERS_S
    # By `pread`, which moves nothing: the process writes to the same open file.
    while time.monotonic() < end and process.poll() is None:
        text = os.pread(said, 10_000, 0).decode(errors="replace")
        if READY in text:
            return text.partition(READY)[2].split()[0]
        time.sleep(0.02)
    raise Failed(f"dashboard: {os.pread(said, 10_000, 0)[-600:].decode(errors='replace')}")


def _page(address: str) -> None:
    with urlopen(address, timeout=ANSWERS_S) as page:
        page.read()


def _so_far(pid: int, began: float) -> Cost:
    """What a process that goes on has cost until now."""
    return Cost(cpu_s(pid), time.perf_counter() - began, _peak_mb(Path(f"/proc/{pid}/status")))


# ── What is told ─────────────────────────────────────────────────────────────────────────────


def run(
    say: Callable[[str], None] = lambda _: None, sizes: Sequence[int] = SIZES
) -> tuple[list[Row], dict[int, int]]:
    """Every command with its costs, and how many records each log has. Raises ``Failed``."""
    found: dict[int, dict[str, tuple[Reads, Cost]]] = {}
    records: dict[int, int] = {}
    for size in (LEAST, *sorted(set(sizes))):
        found[size] = {}
        # A folder for each size: a million problems take
        # gigabytes, and only one log is there at a time.
        with tempfile.TemporaryDirectory(prefix="metalogue-") as made:
            folder = Path(made)
            for name, reads, cost in measured(folder, size):
                say(f"{size:>9,} problems: {name:<24}{cost.cpu_s:>9.2f} s {cost.peak_mb:>8.0f} MB")
                found[size][name] = reads, cost
            records[size] = records_of(folder / "million.db")
    start = found.pop(LEAST)
    rows = [
        Row(name, reads, cost, {size: each[name][1] for size, each in found.items()})
        for name, (reads, cost) in start.items()
    ]
    del records[LEAST]
    return rows, records


def records_of(path: Path) -> int:
    """How many records a log has."""
    from contextlib import closing

    from streams.runtime.embedded.log import SqliteLog
    from streams.runtime.embedded.queries import counts

    with closing(SqliteLog(path)) as opened:
        return counts.records(opened)


def figures(rows: Sequence[Row], records: Mapping[int, int]) -> dict[str, Any]:
    """The table as plain values."""
    return {
        "records": {str(size): count for size, count in records.items()},
        "commands": {
            row.name: {
                "reads": row.reads,
                "start": asdict(row.start),
                "costs": {str(size): asdict(cost) for size, cost in row.costs.items()},
                "time_growth": row.time_growth,
                "memory_growth": row.memory_growth,
            }
            for row in rows
        },
        "aims": AIMS,
    }


def markdown(rows: Sequence[Row], records: Mapping[int, int]) -> str:
    """The table as Markdown: CPU seconds and the peak of memory by size, and the exponents."""
    sizes = [f"{size:,} problems, {count:,} records" for size, count in records.items()]
    lines: list[list[str]] = []
    for row in rows:
        costs = [row.costs[size] for size in records]
        told = [f"{number(cost.cpu_s, 2)} s, {number(cost.peak_mb, 0)} MB" for cost in costs]
        growths = [number(each, 2) for each in (row.time_growth, row.memory_growth)]
        lines.append([row.name, row.reads, *told, *growths])
    return "\n".join(table([*HEAD[:2], *sizes, *HEAD[2:]], lines))


def plot(rows: Sequence[Row]) -> Plot:
    """CPU seconds by size, on axes where a power is a line and its exponent the slope."""
    lines = {
        row.name: [(float(size), max(cost.cpu_s, LEAST_S)) for size, cost in row.costs.items()]
        for row in rows
    }
    return Plot("what commands cost by size", lines, "problems", "CPU seconds", powers=True)
