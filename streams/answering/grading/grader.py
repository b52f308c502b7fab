"""Grading in full: exact rules first, then sympy and math-verify, in a process that can be killed.

The second opinions are asked only where exact rules leave ``unknown``. sympy decides; math-verify
may object, never decide: alone it was seen to accept 1/2004! = 1/2006!. Where the two differ the
outcome is ``unknown``. Both come with the extra ``math``; without it ``unknown`` stays.

Source: design/evaluation.md#answers-and-outcomes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib.util import find_spec
from threading import Lock
from typing import Final, Self, cast, get_args

from handlers.answers.forms import TYPED, by_rules
from handlers.answers.grade import PYTHON, Grade, References, agree, best
from schemas.answer_type import AnswerType
from schemas.outcome import Outcome
from streams.answering.grading.own import OwnGrader
from streams.answering.grading.process import Died, Helper, NoAnswer
from streams.answering.grading.sandbox import Sandbox

SYMPY: Final = "sympy@2"
"""To version 1 units, words, ``1.5M`` and ``1.2 x 10^5`` were products of letters, and ``2\\frac12\\pi`` was pi."""
MATH_VERIFY: Final = "math-verify@1"
TEXT_CHARS = 2_000
_MODULES = {SYMPY: "sympy", MATH_VERIFY: "math_verify"}


def _is_final(found: Grade) -> bool:
    """Whether no other opinion is asked for; nobody can tell more of a form than that it is another one."""
    # A typed answer is held by its form alone: no opinion on formulas may take another form for
    # right.
    return found.outcome != "unknown" or found.grader == TYPED


@dataclass(slots=True)
class Grading:
    """Grades answers against references; close it, or use it as a context manager.

    ``limit_s`` bounds each second opinion. Code is run in the ``sandbox`` alone. A grader of somebody's ``own``
    decides in the place of all others. Safe to share between tasks and threads: one question is put to the
    worker at a time.
    """

    limit_s: float = 5.0
    sandbox: Sandbox | None = None
    """Where code may be run, if the operator said so."""
    own: OwnGrader | None = None
    """The grader that the operator gave."""
    _worker: Helper = field(init=False, repr=False)
    """The process of sympy and math-verify, as far as they are installed."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        present = [name for name in _MODULES.values() if find_spec(name) is not None]
        self._worker = Helper(("-m", "streams.answering.grading.opinions", *present))

    async def grade(
        self,
        answer: str | None,
        reference: References,
        *,
        dataset: str = "",
        problem: str = "",
        typed: AnswerType | None = None,
    ) -> Grade:
        """As ``grade_now``, without holding up the event loop."""
        if self.own is None:
            found = by_rules(answer, reference, dataset, problem, typed)
            if _is_final(found):
                return found
        # A second opinion may take seconds, in which all other episodes of the worker would stand
        # still.
        whole = partial(self.grade_now, dataset=dataset, problem=problem, typed=typed)
        return await asyncio.to_thread(whole, answer, reference)

    def grade_now(
        self,
        answer: str | None,
        reference: References,
        *,
        dataset: str = "",
        problem: str = "",
        typed: AnswerType | None = None,
    ) -> Grade:
        """By the operator's own grader; without one by exact rules, else by sympy with math-verify.

        Where the answer is ``typed`` and its form decides, that comes before all rules of ours.
        """
        if self.own is not None:
            return self.own.grade(answer, reference, dataset=dataset, problem=problem)
        found = by_rules(answer, reference, dataset, problem, typed)
        if answer is None or _is_final(found):
            return found
        aliases = (reference,) if isinstance(reference, str) else tuple(reference)
        if found.grader != PYTHON:
            return best((self._by_one(found, answer, each) for each in aliases), aliases)
        if self.sandbox is None:
            return found
        run = self.sandbox.grade
        return best((run(answer, each) for each in aliases), aliases)

    def remembered(self) -> Callable[..., Grade]:
        """``grade_now`` that asks the same only once, for those that judge many answers of few kinds."""
        return lru_cache(maxsize=65_536)(self.grade_now)

    @property
    def worker_id(self) -> int | None:
        """The process id of the worker, or ``None`` while there is none."""
        return self._worker.process.pid if self._worker.process is not None else None

    def close(self) -> None:
        """End the worker process, and that of the operator's own grader."""
        with self._lock:
            self._worker.close()
        if self.own is not None:
            self.own.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _by_one(self, found: Grade, answer: str, reference: str) -> Grade:
        # The one that decides comes first: without its word the other's would count for nothing,
        # and costs time.
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
        asked = {"grader": name, "answer": answer, "reference": reference}
        try:
            with self._lock:
                try:
                    word = self._worker.ask(asked, self.limit_s)
                except Died:  # whoever ended it: one that was killed from outside is no answer
                    word = self._worker.ask(asked, self.limit_s)
        except NoAnswer as failure:
            detail = f"{name} gave no answer: {failure}"
            return Grade(outcome="unknown", grader=grader, detail=detail)
        outcome = cast("Outcome", word) if word in get_args(Outcome) else "unknown"
        detail = f"{name} cannot decide" if outcome == "unknown" else f"by {name}"
        return Grade(outcome=outcome, grader=grader, detail=detail)
