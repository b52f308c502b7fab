"""Grades: an outcome and who gave it. Graders compare with a reference, checkers need none.

Order: the data set's own rule (TheoremQA by answer type, SciBench by tolerance, QA by exact match),
else exact rules; what these leave unknown goes to sympy and math-verify (``streams.grading.grader``).

Source: specification "Evaluation", Answers and outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from handlers.answers import game24, typed
from handlers.answers.choice import choice
from handlers.answers.equal import equal
from schemas.outcome import Outcome

EXACT: Final = "exact@1"
THEOREMQA: Final = "theoremqa@1"
SCIBENCH: Final = "scibench@1"
QA: Final = "qa@1"
GAME24: Final = "game24@1"
VERDICT: Final = "verdict@2"
"""A person's own word. Of version 1 it stood until the next feedback of any kind, now until the next verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """An outcome, the grader that gave it as ``name@version``, and why in a few words."""

    outcome: Outcome
    grader: str
    detail: str = ""
    f1: float | None = None
    """Token F1 of an answer to a question, of a data set that is scored so."""

    @property
    def credit(self) -> float | None:
        """How much is right: F1, else all or nothing; an unknown outcome has none."""
        if self.f1 is None and self.outcome != "unknown":
            return float(self.outcome == "right")
        return self.f1

    @property
    def name(self) -> str:
        """The grader's name."""
        return self.grader.partition("@")[0]

    @property
    def version(self) -> str:
        """The grader's version: a new one adds records and changes none."""
        return self.grader.partition("@")[2]


Checker: TypeAlias = Callable[[str, str | None], Grade]
"""``checker(problem, answer)``: a grade without a reference."""


def check_game24(problem: str, answer: str | None) -> Grade:
    """Exact rational value and multiset of numbers."""
    if answer is None:
        return withheld(GAME24)
    outcome, detail = game24.check(problem, answer)
    return Grade(outcome=outcome, grader=GAME24, detail=detail)


CHECKERS: Final[Mapping[str, Checker]] = MappingProxyType({"game24": check_game24})
"""Checkers by domain."""


def grade_reference(
    answer: str | None, reference: str, *, dataset: str = "", problem: str = ""
) -> Grade:
    """Compare an answer with its reference, by the data set's rule or exactly."""
    name, rule = _RULES.get(dataset, (EXACT, _exactly))
    if answer is None:
        return replace(withheld(name), f1=0.0 if name == QA else None)
    outcome, detail = rule(answer, reference, problem)
    f1 = typed.token_f1(answer, reference) if name == QA else None
    return Grade(outcome=outcome, grader=name, detail=detail, f1=f1)


def withheld(grader: str) -> Grade:
    """No answer was given: neither right nor wrong."""
    return Grade(outcome="withheld", grader=grader, detail="no answer was given")


def agree(first: Grade, second: Grade) -> Grade:
    """Two opinions: the one that decided, or ``unknown`` when both did and differ."""
    if second.outcome == "unknown":
        return first
    if first.outcome == "unknown":
        return second
    both = f"{first.name}+{second.name}@{first.version}"
    if first.outcome == second.outcome:
        return Grade(outcome=first.outcome, grader=both, detail="two opinions agree")
    detail = f"{first.name} says {first.outcome}, {second.name} says {second.outcome}"
    return Grade(outcome="unknown", grader=both, detail=detail)


_Rule: TypeAlias = Callable[[str, str, str], tuple[Outcome, str]]


def _exactly(answer: str, reference: str, problem: str) -> tuple[Outcome, str]:
    outcome = equal(answer, reference)
    if outcome == "right":
        return outcome, "equal"
    by_letter = choice(answer, reference, problem)
    if by_letter is not None:
        return by_letter, "by the option's letter"
    return outcome, "differs" if outcome == "wrong" else "exact rules cannot decide"


def _theoremqa(answer: str, reference: str, problem: str) -> tuple[Outcome, str]:
    return typed.theoremqa(answer, reference, problem), "by the type of the answer"


def _scibench(answer: str, reference: str, problem: str) -> tuple[Outcome, str]:
    return typed.scibench(answer, reference), "within 5 %"


def _qa(answer: str, reference: str, problem: str) -> tuple[Outcome, str]:
    return typed.exact_match(answer, reference), f"f1 {typed.token_f1(answer, reference):.3f}"


_RULES: Final[Mapping[str, tuple[str, _Rule]]] = MappingProxyType({
    "theoremqa": (THEOREMQA, _theoremqa),
    "scibench": (SCIBENCH, _scibench),
    "hotpotqa": (QA, _qa),
})  # fmt: skip
