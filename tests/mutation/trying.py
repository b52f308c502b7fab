"""Trying a change: the tests that touch it are run in a copy of the tree that holds it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Literal, TypeAlias

from tests.mutation.touching import MARKS, surroundings

Word: TypeAlias = Literal["noticed", "survived", "untouched", "late"]
MEMORY_KB = 6 << 20
"""So much data may a run hold; one that wants more has noticed."""
LATE_S, LATER = 60.0, 6.0
"""A run that takes longer than this and so many times what its tests take has noticed: the change never ends. Unless
the same tests take as long without it."""
LATE = "FAILED late"
"""What is said of a run that was ended."""
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
CANNOT, NONE_RAN = 4, 5
"""Pytest's exit codes where it cannot begin, and where it left out every test that it was given."""
TIME = re.compile(rf"{LATE}|time-?out|timed out|deadline", re.IGNORECASE)
"""How a run says that something took too long: a busy machine says so of right code, too."""


@dataclass(frozen=True)
class Verdict:
    """What the tests said of a change: which one noticed it, or how many did not, and what the run took.

    ``late``: they took too long or could not begin, and without the change as well, so nothing is known of it.
    """

    word: Word
    by: str
    tests: int
    seconds: float


def copy_tree(root: Path, to: Path) -> Path:
    """What git would commit, and a link to what lies beside it for tests that read real data."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, to / name)
    beside = root.parent / "shared"
    if beside.is_dir() and not (to.parent / "shared").exists():
        (to.parent / "shared").symlink_to(beside)
    return to


@contextmanager
def changed(copy: Path, path: str, text: str) -> Generator[None]:
    """One file of a copy with another text, for a while."""
    place = copy / path
    original = place.read_bytes()
    place.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        place.write_bytes(original)


def run(copy: Path, tests: Sequence[str], limit_s: float) -> tuple[int, str]:
    """The exit code of pytest over tests of a copy, and what it said. Late, or out of memory, counts as failed."""
    given = copy / ".mutation-tests"
    given.write_text("\n".join(tests), encoding="utf-8")
    pytest = [
        *(sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider"),
        *("-p", "no:xdist", "-m", MARKS, f"@{given}"),
    ]
    bounded = ["bash", "-c", f'ulimit -d {MEMORY_KB} && exec "$@"', "bash", *pytest]
    with subprocess.Popen(
        bounded,
        cwd=copy,
        env=surroundings(copy),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=limit_s)
            return process.returncode, said.decode(errors="replace")
        except subprocess.TimeoutExpired:
            return 1, f"{LATE} after {limit_s:.0f} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def attempt(copy: Path, path: str, text: str, tests: Sequence[str], usual_s: float) -> Verdict:
    """Whether any of these tests notices a text in a file's place. ``usual_s`` is what they take otherwise.

    What fails for its time, or cannot begin, is asked of the right code at once: where that fails as well, nothing
    is told.
    """
    if not tests:
        return Verdict("untouched", "", 0, 0.0)
    began, limit_s = time.monotonic(), LATE_S + LATER * usual_s
    with changed(copy, path, text):
        code, said = run(copy, tests, limit_s)
    taken = time.monotonic() - began
    if code == NONE_RAN:
        return Verdict("untouched", "", 0, taken)
    who = FAILED.search(said)
    by = who[1] if code and who else ""
    doubtful = code == CANNOT or (code and TIME.search(said))
    if doubtful and run(copy, tests, limit_s)[0]:
        return Verdict("late", by, len(tests), taken)
    return Verdict("noticed" if code else "survived", by, len(tests), taken)


class Copies:
    """Copies of the tree, one for each worker."""

    def __init__(self, root: Path, folder: Path, count: int) -> None:
        self.free: Queue[Path] = Queue()
        for number in range(count):
            self.free.put(copy_tree(root, folder / str(number) / "tree"))

    @contextmanager
    def one(self) -> Generator[Path]:
        """A copy that nobody else works in."""
        copy = self.free.get()
        try:
            yield copy
        finally:
            self.free.put(copy)
