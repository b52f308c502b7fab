"""Which tests run which line: from a map of coverage's contexts, or by what test files import.

The map is made of parts, one for each test file: the lines that each of its tests ran, and how long it took. A part
holds as long as the test file and every file of which it ran a line are what they were; only other parts are made
again. So a map that was broken off goes on, and one change of a test file costs one part.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from coverage import CoverageData

from tests.mutation.changes import Change

PACKAGES = ("schemas", "handlers", "state", "streams")
ELSEWHERE = {"architecture", "crash", "live", "models", "speed", "mutation"}
"""Folders of tests that look at texts and machines, or that end processes."""
MARKS = "not soak and not models and not live and not slow"
OF_EACH = 8
"""So many tests of each file are tried before more of any."""
AT_ONCE = 40
"""Test files that one run of pytest makes parts of."""

Lines: TypeAlias = dict[str, dict[int, list[int]]]
"""File, line, and which of the part's tests ran it."""


@dataclass
class Part:
    """What one test file's tests touch. ``digests`` names every file that it hangs on with its content's."""

    digests: dict[str, str]
    tests: list[str] = field(default_factory=list[str])
    seconds: list[float] = field(default_factory=list[float])
    lines: Lines = field(default_factory=dict[str, dict[int, list[int]]])

    @classmethod
    def read(cls, path: Path) -> Part | None:
        """A part that was kept; none where there is none, or none that can be read."""
        try:
            kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            lines: dict[str, dict[str, list[int]]] = kept["lines"]
            by_number = {f: {int(n): at for n, at in each.items()} for f, each in lines.items()}
            return cls(kept["digests"], kept["tests"], kept["seconds"], by_number)
        except (OSError, ValueError, KeyError):
            return None

    def write(self, path: Path) -> None:
        """Keep it, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {
            "digests": self.digests,
            "tests": self.tests,
            "seconds": self.seconds,
            "lines": self.lines,
        }
        half = path.with_suffix(".half")
        half.write_text(json.dumps(kept), encoding="utf-8")
        os.replace(half, path)

    @cached_property
    def breadths(self) -> Counter[int]:
        """How many lines of the product each test runs."""
        return Counter(
            at for lines in self.lines.values() for tests in lines.values() for at in tests
        )

    def about(self, path: str) -> float:
        """Which share of the lines that its tests run lies in a file, each counted once a test."""
        here = sum(map(len, self.lines.get(path, {}).values()))
        return here / max(1, self.breadths.total())

    def holds(self, root: Path) -> bool:
        """Whether nothing that it hangs on has changed."""
        return all(digest(root / path) == known for path, known in self.digests.items())


@cache
def digest(path: Path) -> str:
    """What tells a file's content; empty for no file."""
    return sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""


def test_files(root: Path) -> list[str]:
    """The test files that mutants are tried on."""
    found = (path.relative_to(root) for path in (root / "tests").rglob("test_*.py"))
    return sorted(str(path) for path in found if path.parts[1] not in ELSEWHERE)


class Map:
    """The parts of all test files, kept in a folder."""

    def __init__(self, root: Path, kept: Path, within: Sequence[str] = ("tests",)) -> None:
        self.root, self.kept, self.within = root, kept, within
        self.parts: dict[str, Part] = {}

    def place(self, test_file: str) -> Path:
        """Where a part is kept."""
        return self.kept / f"{test_file.replace('/', '.')}.json"

    def load(self) -> list[str]:
        """Read the parts that still hold. Returns the test files whose parts have to be made."""
        stale: list[str] = []
        for each in test_files(self.root):
            if not any(each == place or each.startswith(f"{place}/") for place in self.within):
                continue
            part = Part.read(self.place(each))
            if part is not None and part.holds(self.root):
                self.parts[each] = part
            else:
                stale.append(each)
        return stale

    def make(self, stale: Sequence[str], workers: int) -> Iterator[int]:
        """Run test files and keep what each touched; yields how many are done."""
        for begin in range(0, len(stale), AT_ONCE):
            now = stale[begin : begin + AT_ONCE]
            for name, part in measured(self.root, now, workers).items():
                part.write(self.place(name))
                self.parts[name] = part
            yield begin + len(now)

    def touching(self, change: Change) -> list[tuple[str, float]]:
        """The tests that run a change's line, and each one's seconds; those that are most about it first.

        A test file is about what most of the lines are that it runs, and a test about little if it runs little: the
        tests of one function come before those of a whole episode that passes through it. At module level, where a line
        runs at import, those that run anything of the file. A line of a longer statement counts as run where the
        statement was begun.
        """
        found: list[tuple[int, float, int, float, str]] = []
        for part in self.parts.values():
            lines = part.lines.get(change.path)
            if not lines:
                continue
            if not change.called:
                ran = {at for each in lines.values() for at in each}
            else:
                ran = {*lines.get(change.line, ()), *lines.get(change.first, ())}
            run, about = part.breadths, part.about(change.path)
            here = sorted((run[at], part.seconds[at], part.tests[at]) for at in ran)
            # No file has all of the time: where many touch a line, each is asked by its first few.
            found += [
                (rank // OF_EACH, -about, rank, taken, test)
                for rank, (_, taken, test) in enumerate(here)
            ]
        return [(test, taken) for *_, taken, test in sorted(found)]

    def of(self, test_files: Iterable[str]) -> list[tuple[str, float]]:
        """The tests of files that pass while nothing is changed, and each one's seconds; the soonest first."""
        parts = [self.parts[each] for each in test_files if each in self.parts]
        here = (zip(part.seconds, part.tests, strict=True) for part in parts)
        return [(test, taken) for taken, test in sorted(chain.from_iterable(here))]


def measured(root: Path, test_files: Sequence[str], workers: int) -> dict[str, Part]:
    """The parts of these test files, made by running them under coverage.

    A test that fails here says nothing about mutants, and is in no part.
    """
    kept = root / ".mutation-run"
    kept.mkdir(exist_ok=True)
    data, report = kept / "coverage", kept / "report.xml"
    for each in (data, report):
        each.unlink(missing_ok=True)
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-n", str(workers), "--dist", "loadfile"),
        *("-p", "no:cacheprovider", "-m", MARKS, "--timeout", "300"),
        *(f"--cov={each}" for each in (*PACKAGES, "tests")),
        *("--cov-context=test", "--cov-report=", f"--junit-xml={report}", *test_files),
    ]
    env = surroundings(root) | {"COVERAGE_FILE": str(data)}
    done = subprocess.run(
        command, cwd=root, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode not in (0, 1, 5) or not report.is_file():
        raise RuntimeError(
            f"the tests could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    taken = passed(report)
    touched = CoverageData(str(data))
    touched.read()
    parts = {name: Part({name: digest(root / name)}) for name in test_files}
    numbers: dict[str, int] = {}
    for test in sorted(taken):
        part = parts.get(test.partition("::")[0])
        if part is not None:
            numbers[test] = len(part.tests)
            part.tests.append(test)
            part.seconds.append(round(taken[test], 3))
    for measured_file in touched.measured_files():
        add(parts, numbers, touched, root, measured_file)
    return parts


def add(
    parts: dict[str, Part], numbers: dict[str, int], touched: CoverageData, root: Path, path: str
) -> None:
    """Enter one measured file into the parts of the tests that ran lines of it."""
    if not Path(path).is_relative_to(root):
        return
    name = str(Path(path).relative_to(root))
    for line, contexts in touched.contexts_by_lineno(path).items():
        for test in {without_case(context.rpartition("|")[0]) for context in contexts}:
            part = parts.get(test.partition("::")[0])
            if part is None or test not in numbers:
                continue
            part.digests.setdefault(name, digest(root / name))
            if not name.startswith("tests/"):
                here = part.lines.setdefault(name, {}).setdefault(line, [])
                if numbers[test] not in here:
                    here.append(numbers[test])


def without_case(test: str) -> str:
    """A test's id without its parameters: all of its cases are one here."""
    head, _, last = test.rpartition("::")
    return f"{head}::{last.partition('[')[0]}" if head else test


def passed(report: Path) -> dict[str, float]:
    """The tests of a JUnit report all of whose cases passed, and how long these took together."""
    taken: dict[str, float] = {}
    failed: set[str] = set()
    for case in ET.parse(report).iter("testcase"):
        *where, last = case.get("classname", "").split(".")
        test = f"{'/'.join((*where, last))}.py::{case.get('name', '').partition('[')[0]}"
        outcomes = {each.tag for each in case}
        if outcomes & {"failure", "error"}:
            failed.add(test)
        elif "skipped" not in outcomes:
            taken[test] = taken.get(test, 0.0) + float(case.get("time", "0"))
    return {test: seconds for test, seconds in taken.items() if test not in failed}


def surroundings(root: Path) -> dict[str, str]:
    """The environment of tests of a copy: its own code first, and nothing said to Metalogue or to pytest."""
    said = ("METALOGUE_", "OPENAI_", "PYTEST_", "COV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(said)}
    return kept | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}


# ── By imports ───────────────────────────────────────────────────────────────────────────────


def by_import(root: Path, path: str, most: int) -> list[str]:
    """The test files nearest to a file by imports, those named like it first: where there is no time for a map."""
    wanted, stem = module_of(path), Path(path).stem
    found: list[tuple[bool, int, int, str]] = []
    for each in test_files(root):
        away = distance(root, each, wanted)
        if away is not None:
            alike = stem.strip("_") in each or Path(path).parent.name in each
            found.append((not alike, away, (root / each).stat().st_size, each))
    return [each for *_, each in sorted(found)[:most]]


def distance(root: Path, test_file: str, wanted: str, most: int = 3) -> int | None:
    """How many imports lie between a test file and a module; none where more than so many do."""
    seen, here = {test_file}, {test_file}
    for away in range(1, most + 1):
        names = {name for path in here for name in imported(root, path)}
        if wanted in names:
            return away
        here = {path for name in names for path in files_of(root, name)} - seen
        seen |= here
    return None


def module_of(path: str) -> str:
    """The name by which a file is imported."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def files_of(root: Path, module: str) -> tuple[str, ...]:
    """The file of a module of ours, if it is one."""
    base = module.replace(".", "/")
    found = (each for each in (f"{base}.py", f"{base}/__init__.py") if (root / each).is_file())
    return tuple(found)


@cache
def imported(root: Path, path: str) -> frozenset[str]:
    """The modules of ours that a file imports, with the names taken from them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((root / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(each for each in found if each.split(".")[0] in (*PACKAGES, "tests"))


def soonest(tests: Iterable[tuple[str, float]], most_s: float) -> list[str]:
    """As many tests, in order, as end within so many seconds; one at least."""
    chosen: list[str] = []
    total = 0.0
    for test, taken in tests:
        if chosen and total + taken > most_s:
            continue
        chosen.append(test)
        total += taken
    return chosen
