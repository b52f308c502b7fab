"""Running an answer that is code against its tests: only where the operator switched it on, and only shut in.

The code runs in namespaces of its own: as nobody, without network, seeing the system's libraries and Python
read-only and a small folder in memory, with limits of processor time, memory, files and open files; it ends
with its process namespace. Where this system offers no such isolation nothing is run: *not measured*.

Who may switch it on: ``worker --run-code`` and ``bench run --run-code``, never a record, a label or a log.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from shutil import which
from time import monotonic
from typing import Final

from handlers.answers.grade import Grade
from streams.answering.grading.cell import READY
from streams.support.child import ROOT, python

SANDBOX: Final = "sandbox@1"
NAMESPACES = ("--user", "--map-root-user", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork")
MOST_TOLD = 4_096
"""What is read of an answer's process: a verdict is shorter, and nothing else is looked at."""
MOST_CHARS = 100_000
"""Of an answer and its tests together."""
_FENCED = re.compile(r"```[A-Za-z0-9]{0,20}[ \t]*\n(.*?)```", re.DOTALL)


class NotMeasured(Exception):
    """The code was not run, or nobody knows how it ended; says why."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The limits of code that runs. ``wall_s`` bounds code that waits instead of computing; it decides no grade."""

    cpu_s: int = 10
    wall_s: float = 120.0
    memory_bytes: int = 1 << 29
    file_bytes: int = 1 << 24

    def grade(self, answer: str, tests: str) -> Grade:
        """Right where all tests pass, wrong where one does not; unknown where that was not measured."""
        try:
            failed = self.run(code_of(answer), tests)
        except NotMeasured as error:
            detail = f"not measured: {error}"
            return Grade(outcome="unknown", grader=SANDBOX, detail=detail)
        # Only processor time decides against code. How long waiting takes hangs on the machine, so
        # what ran out of that is not measured.
        if failed is None:
            return Grade(outcome="right", grader=SANDBOX, detail="its tests pass")
        return Grade(outcome="wrong", grader=SANDBOX, detail=f"its tests fail: {failed}")

    def missing(self) -> str | None:
        """Why nothing can be run here; nothing where it can: a small program passes, and reaches nobody."""
        try:
            failed = self.run("import socket\nx = 1", _ALONE)
        except NotMeasured as error:
            return str(error)
        return None if failed is None else f"code would not be shut in ({failed})"

    def run(self, code: str, tests: str) -> str | None:
        """Run code and its tests; why they fail, if they do. Raises ``NotMeasured``."""
        if len(code) + len(tests) > MOST_CHARS:
            raise NotMeasured("too long to be run")
        unshare = which("unshare")
        if unshare is None:
            raise NotMeasured("this system has no unshare")
        # So that an answer which writes to everything it finds is not taken for its tests by accident.
        # It runs in the process that runs them, and one made to cheat can find this too.
        nonce = secrets.token_hex(16)
        asked = json.dumps({"answer": code, "tests": tests, "nonce": nonce}).encode()
        with tempfile.TemporaryDirectory(prefix="metalogue-") as folder:
            limits = map(str, (self.cpu_s, self.memory_bytes, self.file_bytes))
            cell = python("-m", "streams.answering.grading.cell", folder, *limits)
            said = self._told([unshare, *NAMESPACES, "--kill-child", *cell], asked)
        # Then the answer was never run. A machine that cannot shut it in must not let it count as
        # wrong.
        if not said.startswith(READY):
            raise NotMeasured("this system lets nobody be shut in")
        verdict = said.removeprefix(READY).decode("ascii", "replace").strip()
        if verdict == f"{nonce} passed":
            return None
        # Whatever else is written there is the answer's own, such as a file that it read, and a
        # grade is on the record for ever.
        failed = re.fullmatch(rf"{nonce} failed ([A-Za-z_]{{1,80}})", verdict)
        return "ended before its tests" if failed is None else failed[1]

    def _told(self, command: list[str], asked: bytes) -> bytes:
        """What the cell wrote before it ended. Raises ``NotMeasured`` where it does not end."""
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={"PATH": os.defpath, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        with process:
            try:
                return self._read(process, asked)
            finally:
                with suppress(ProcessLookupError):
                    # Also where it ended by itself: what it started may go on without it.
                    os.killpg(process.pid, signal.SIGKILL)

    def _read(self, process: subprocess.Popen[bytes], asked: bytes) -> bytes:
        """What a process writes, up to one byte more than any verdict may have. Raises ``NotMeasured``."""
        assert process.stdin is not None
        assert process.stdout is not None
        told, ends = bytearray(), monotonic() + self.wall_s
        # Not `communicate`, which keeps all that the other side writes, and an answer can write there.
        with DefaultSelector() as ready:
            os.set_blocking(process.stdin.fileno(), False)
            ready.register(process.stdin, EVENT_WRITE)
            ready.register(process.stdout, EVENT_READ)
            while found := ready.select(max(0.0, ends - monotonic())):
                for key, _ in found:
                    if key.events == EVENT_READ:
                        more = os.read(key.fd, MOST_TOLD + 1 - len(told))
                        told += more
                        if not more or len(told) > MOST_TOLD:
                            return bytes(told)
                        continue
                    with suppress(BlockingIOError):
                        try:
                            asked = asked[os.write(key.fd, asked) :]
                        except BrokenPipeError:
                            asked = b""
                    if not asked:
                        ready.unregister(process.stdin)
                        process.stdin.close()
        raise NotMeasured(f"no end within {self.wall_s:g} s")


_ALONE = f"""
import os
try:
    socket.create_connection(("127.0.0.1", 9), 1)
except OSError as error:
    assert error.errno == 101 or "unreachable" in str(error), error
assert not os.path.exists({str(Path(ROOT))!r}) or not os.access({str(Path(ROOT))!r}, os.W_OK)
"""


def code_of(answer: str) -> str:
    """The code of an answer: what stands in its last fence, else all of it."""
    found = _FENCED.findall(answer)
    return found[-1] if found else answer
