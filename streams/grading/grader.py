"""Grading in full: exact rules first, then sympy and math-verify, in a process that can be killed.

The second opinions are asked only where exact rules leave ``unknown``. sympy decides; math-verify
may object, never decide: alone it was seen to accept 1/2004! = 1/2006!. Where the two differ the
outcome is ``unknown``. Both come with the extra ``math``; without it ``unknown`` stays.

Source: design/evaluation.md#answers-and-outcomes.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from threading import Lock
from typing import Final, Self, cast, get_args

from handlers.answers.grade import PYTHON, Grade, References, agree, best, grade_reference
from schemas.outcome import Outcome
from streams.child import python, variables
from streams.grading.sandbox import Sandbox

SYMPY: Final = "sympy@1"
MATH_VERIFY: Final = "math-verify@1"
TEXT_CHARS = 2_000
START_S = 30.0
_MODULES = {SYMPY: "sympy", MATH_VERIFY: "math_verify"}


class NoAnswer(Exception):
    """The worker said nothing in time and was killed, or it died."""


class Died(NoAnswer):
    """The worker ended while it was asked."""


@dataclass(slots=True)
class _Worker:
    """One worker process: started at the first question, replaced after it was killed."""

    process: subprocess.Popen[bytes] | None = None
    unread: bytes = b""

    def ask(self, grader: str, answer: str, reference: str, limit_s: float) -> Outcome:
        process = self.process or self.start()
        asked = {"grader": grader, "answer": answer, "reference": reference}
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
        except OSError as gone:
            self.close()
            raise Died("the worker is gone") from gone
        word = self.line(limit_s)
        return cast("Outcome", word) if word in get_args(Outcome) else "unknown"

    def start(self) -> subprocess.Popen[bytes]:
        """A fresh worker that imported its libraries: loading them is not charged to a grade."""
        present = [name for name in _MODULES.values() if find_spec(name) is not None]
        self.process = subprocess.Popen(
            python("-m", "streams.grading.opinions", *present),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables(),
            start_new_session=True,
        )
        self.line(START_S)
        return self.process

    def line(self, limit_s: float) -> str:
        """The next line that the worker writes; ``NoAnswer`` and no worker when none comes."""
        assert self.process is not None
        assert self.process.stdout is not None
        end = time.monotonic() + limit_s
        while b"\n" not in self.unread:
            waits = max(0.0, end - time.monotonic())
            ready, _, _ = select.select([self.process.stdout], [], [], waits)
            chunk = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not chunk:
                self.close()
                raise Died("the worker died") if ready else NoAnswer(f"none in {limit_s:g} s")
            self.unread += chunk
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode()

    def close(self) -> None:
        """Kill the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            with suppress(OSError):
                self.process.communicate()
        self.process, self.unread = None, b""


@dataclass(slots=True)
class Grading:
    """Grades answers against references; close it, or use it as a context manager.

    ``limit_s`` bounds each second opinion. Code is run in the ``sandbox`` alone. Safe to share between tasks
    and threads: one question is put to the worker at a time.
    """

    limit_s: float = 5.0
    sandbox: Sandbox | None = None
    """Where code may be run, if the operator said so."""
    _worker: _Worker = field(default_factory=_Worker, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    async def grade(
        self, answer: str | None, reference: References, *, dataset: str = "", problem: str = ""
    ) -> Grade:
        """As ``grade_now``, without holding up the event loop."""
        found = grade_reference(answer, reference, dataset=dataset, problem=problem)
        if found.outcome != "unknown" or answer is None:
            return found
        return await asyncio.to_thread(self._second, found, answer, reference)

    def grade_now(
        self, answer: str | None, reference: References, *, dataset: str = "", problem: str = ""
    ) -> Grade:
        """By exact rules, else by sympy with math-verify as a second opinion."""
        found = grade_reference(answer, reference, dataset=dataset, problem=problem)
        if found.outcome != "unknown" or answer is None:
            return found
        return self._second(found, answer, reference)

    def remembered(self) -> Callable[..., Grade]:
        """``grade_now`` that asks the same only once, for those that judge many answers of few kinds."""
        return lru_cache(maxsize=65_536)(self.grade_now)

    @property
    def worker_id(self) -> int | None:
        """The process id of the worker, or ``None`` while there is none."""
        return self._worker.process.pid if self._worker.process is not None else None

    def close(self) -> None:
        """End the worker process."""
        with self._lock:
            self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _second(self, found: Grade, answer: str, reference: References) -> Grade:
        """By the alias that says most for the answer; of code, by the tests that it passes."""
        aliases = (reference,) if isinstance(reference, str) else tuple(reference)
        if found.grader == PYTHON:
            if self.sandbox is None:
                return found
            run = self.sandbox.grade
            return best((run(answer, each) for each in aliases), aliases)
        return best((self._by_one(found, answer, each) for each in aliases), aliases)

    def _by_one(self, found: Grade, answer: str, reference: str) -> Grade:
        first = self._opinion(SYMPY, answer, reference)
        if first.outcome == "unknown":
            return replace(found, detail=f"{found.detail}; {first.detail}")
        return agree(first, self._opinion(MATH_VERIFY, answer, reference))

    def _opinion(self, grader: str, answer: str, reference: str) -> Grade:
        name = grader.partition("@")[0]
        if find_spec(_MODULES[grader]) is None:
            detail = f"{name} is not installed (pip install 'metalogue[math]')"
            return Grade(outcome="unknown", grader=grader, detail=detail)
        if max(len(answer), len(reference)) > TEXT_CHARS:
            return Grade(outcome="unknown", grader=grader, detail=f"too long for {name}")
        try:
            outcome = self._ask(name, answer, reference)
        except NoAnswer as failure:
            detail = f"{name} gave no answer: {failure}"
            return Grade(outcome="unknown", grader=grader, detail=detail)
        detail = f"{name} cannot decide" if outcome == "unknown" else f"by {name}"
        return Grade(outcome=outcome, grader=grader, detail=detail)

    def _ask(self, name: str, answer: str, reference: str) -> Outcome:
        """Ask; a worker that died, whoever ended it, is replaced and asked once more."""
        with self._lock:
            try:
                return self._worker.ask(name, answer, reference, self.limit_s)
            except Died:
                return self._worker.ask(name, answer, reference, self.limit_s)
