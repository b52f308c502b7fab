"""A grader of your own: a pure function that says whether an answer is right, with a name and a version.

It is given what stands on the record, and it says ``True`` (right), ``False`` (wrong) or ``None`` (it cannot tell),
alone or with a few words why. What it cannot decide is undecided and never wrong. Give it a new version when it
decides otherwise: grades name it with its version and the digest of its file.

Source: design/evaluation.md#answers-and-outcomes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from schemas.outcome import Outcome

Decided: TypeAlias = bool | None
Said: TypeAlias = Decided | tuple[Decided, str]
"""What a grader may say: its decision, or its decision and why."""
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
OURS: Final = frozenset({
    *("exact", "theoremqa", "scibench", "qa", "game24", "python", "verdict", "none"),
    *("sympy", "math-verify", "sandbox", "answer_judge"),
})  # fmt: skip
"""Names of graders that come with the product; a grade by one of these is ours."""
DETAIL_CHARS: Final = 300
_OUTCOMES: Mapping[Decided, Outcome] = {True: "right", False: "wrong", None: "unknown"}


class Nonsense(ValueError):
    """What a grader is, or says, is not what a grader is or says; the message names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An answer to be graded, with the references that it is held against; none where nobody gave any."""

    answer: str
    references: tuple[str, ...]
    problem: str
    dataset: str
    """The problem's data set, else its domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grader:
    """A grader: ``grade`` is pure, and ``version`` changes with what it decides.

    With ``unlabelled`` it is also given answers that have no reference.
    """

    name: str
    version: str
    grade: Callable[[Given], Said]
    unlabelled: bool = False


def checked(found: object, where: str) -> Grader:
    """The grader that stands somewhere. Raises ``Nonsense`` for anything else, naming the field."""
    if not isinstance(found, Grader):
        raise Nonsense(f"{where}: expected a Grader, found {type(found).__name__}")
    for part in ("name", "version"):
        said: object = getattr(found, part)
        if not isinstance(said, str) or NAME.fullmatch(said) is None:
            raise Nonsense(f"{where}: {part}: expected a plain name, found {said!r:.80}")
    if found.name in OURS:
        raise Nonsense(f"{where}: name: {found.name!r} is a grader of ours; call it otherwise")
    if not callable(found.grade):
        raise Nonsense(f"{where}: grade: expected a function, found {found.grade!r:.80}")
    return found


def read(said: Any) -> tuple[Outcome, str]:
    """The outcome that a grader's word stands for, and why. Raises ``Nonsense`` for any other word."""
    decided, why = said, ""
    if isinstance(said, tuple) and len(cast("tuple[Any, ...]", said)) == 2:
        decided, why = cast("tuple[Any, Any]", said)
    if (decided is not None and not isinstance(decided, bool)) or not isinstance(why, str):
        raise Nonsense(f"said {said!r:.80}: expected True, False or None, alone or with a text")
    # It may quote an answer, and JSON lets that hold half of a character, which no record can.
    told = why.encode(errors="replace").decode()
    return _OUTCOMES[decided], " ".join(told.split())[:DETAIL_CHARS]
