"""Grades: an outcome and who gave it. Graders compare with a reference, checkers need none.

Order: the data set's own rule (TheoremQA by answer type, SciBench by tolerance, QA by exact match),
else exact rules; what these leave unknown goes to sympy and math-verify (``streams.answering.grading.grader``).

Source: design/evaluation.md#answers-and-outcomes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

import orjson

from handlers.answers import dataset_rules, game24
from handlers.answers.choice import choice
from handlers.answers.equal import same
from schemas.outcome import Outcome

EXACT: Final = "exact@5"
"""Of version 1 units and accents counted for nothing or for everything, and other words were another answer. Of version
2 ``1 2`` was 12, ``\\geqslant`` was ``\\leqslant``, and a command and the letter behind it were one. Of version
3 "about 42" was not 42, and 1.5 million was 1.5 and not 1500000. Of version 4 ``x = 2, y = 1`` was ``x = 1, y = 2``,
"(A) and (C)" was A, 25 percent was not 0.25, and 0,75 was two numbers."""
THEOREMQA: Final = "theoremqa@5"
"""Of version 4 "(A) and (C)" was A."""
SCIBENCH: Final = "scibench@4"
QA: Final = "qa@2"
GAME24: Final = "game24@2"
"""Of version 1 an expression with a remark in brackets behind it, such as ``(= 24)``, was none."""
PYTHON: Final = "python@1"
"""Of code that nobody ran."""
CODE: Final = "python"
"""The data set, or domain, whose answers are code and whose references are its tests."""
ALIAS_CHARS = 80
"""So much of an alias stands in a grade's reason."""
# What says most for an answer counts more: an alias that nobody can compare must not hide another
# that is equal.
_ORDER: Final[Mapping[Outcome, int]] = {"withheld": 0, "wrong": 1, "unknown": 2, "right": 3}
_GRADERS: Final[Mapping[str, str]] = {
    CODE: PYTHON,
    "theoremqa": THEOREMQA,
    "scibench": SCIBENCH,
    "hotpotqa": QA,
}
"""Graders of data sets that have a rule of their own."""
_TRUTH: Final = {"true": True, "yes": True, "false": False, "no": False}
_SAID = re.compile(r"\W{0,4}(true|false|yes|no)\b(?:\W{0,4}$|[,.:;!—-]\s)", re.IGNORECASE)
_PERCENT = re.compile(
    r"(?<=\d)\s{0,4}(?:\\(?:text|mathrm|mbox)\s{0,2}\{\s{0,4})?(?:percent|per cent)\s{0,4}\}?[.$\s]{0,8}\Z",
    re.IGNORECASE,
)
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


References: TypeAlias = str | Sequence[str]
"""What an answer is compared with: one text, or aliases, of which the best counts."""


def aliases_of(references: References) -> tuple[str, ...]:
    """References as texts, one after another."""
    return (references,) if isinstance(references, str) else tuple(references)


def references_of(said: Any) -> References:
    """A reference as it was given: a list of texts holds aliases; other lists and booleans are JSON."""
    if isinstance(said, str):
        return said
    if (
        isinstance(said, list)
        and said
        and all(isinstance(each, str) for each in cast("list[Any]", said))
    ):
        return tuple(cast("list[str]", said))
    return orjson.dumps(said).decode()


def grade_reference(
    answer: str | None, reference: References, *, dataset: str = "", problem: str = ""
) -> Grade:
    """Compare an answer with its reference, by the data set's rule or exactly."""
    aliases = aliases_of(reference)
    return best((_graded(answer, each, dataset, problem) for each in aliases), aliases)


def best(grades: Iterable[Grade], aliases: Sequence[str]) -> Grade:
    """The grade by the alias that says most for the answer; F1 by whichever has most."""
    found: Grade | None = None
    f1: float | None = None
    for grade, alias in zip(grades, aliases, strict=True):
        f1 = grade.f1 if f1 is None or grade.f1 is None else max(f1, grade.f1)
        if found is None or _ORDER[grade.outcome] > _ORDER[found.outcome]:
            named = f"{grade.detail}; by alias {alias[:ALIAS_CHARS]!r}"
            found = replace(grade, detail=named) if found is not None else grade
    assert found is not None, "a reference has one alias at least"
    return replace(found, f1=f1)


def _graded(answer: str | None, reference: str, dataset: str, problem: str) -> Grade:
    name = _GRADERS.get(dataset, EXACT)
    f1: float | None = None
    # An answer that was not given is no wrong one, but a mean of F1 counts it as nothing.
    if answer is None:
        return replace(withheld(name), f1=0.0 if name == QA else None)
    if name == THEOREMQA:
        outcome = dataset_rules.theoremqa(answer, reference, problem)
        detail = "by the type of the answer"
    elif name == SCIBENCH:
        outcome, detail = dataset_rules.scibench(answer, reference), "within 5 %"
    elif name == QA:
        f1 = dataset_rules.token_f1(answer, reference)
        outcome, detail = dataset_rules.exact_match(answer, reference), f"f1 {f1:.3f}"
    elif name == PYTHON:
        # Running code takes a process, which only the graders of ``streams`` may start.
        outcome, detail = "unknown", "not measured: its tests were not run"
    else:
        outcome, detail = _exactly(answer, reference, problem)
    return Grade(outcome=outcome, grader=name, detail=detail, f1=f1)


def withheld(grader: str) -> Grade:
    """No answer was given: neither right nor wrong."""
    return Grade(outcome="withheld", grader=grader, detail="no answer was given")


def agree(first: Grade, second: Grade) -> Grade:
    # Two graders that contradict each other are no majority: nobody may count such an answer.
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


def _exactly(answer: str, reference: str, problem: str) -> tuple[Outcome, str]:
    outcome = same(answer, reference)
    # In words a percentage may be its number, as any unit may be left out; as a sign it is its hundredth too.
    spelt = _PERCENT.sub("%", answer), _PERCENT.sub("%", reference)
    if outcome == "wrong" and same(*spelt) == "right":
        outcome = "right"
    if outcome == "right":
        return outcome, "equal"
    # An option's letter is asked for only now, because a reference such as "A" may also be a
    # value.
    by_letter = choice(answer, reference, problem)
    if by_letter is not None:
        return by_letter, "by the option's letter"
    # Yes or no, however it goes on. A sentence that merely contains one of them says neither.
    wanted = _TRUTH.get(reference[:20].strip(" .").casefold())
    given = _SAID.match(answer)
    if wanted is not None and given is not None:
        is_right = _TRUTH[given[1].casefold()] == wanted
        return "right" if is_right else "wrong", "by yes or no"
    return outcome, "differs" if outcome == "wrong" else "exact rules cannot decide"
