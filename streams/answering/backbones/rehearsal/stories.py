"""Arithmetic word problems: six known forms that can be written and really solved, and any others.

For a text of no known form the right answer is what its situation's form makes of its numbers:
plausible, and as good as any to rehearse with.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from schemas.identity import hash01
from streams.answering.backbones.rehearsal.grounds import Ground, Work

Steps = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """A word problem with three blanks, the words that tell its situation, and its two steps."""

    text: str
    signs: tuple[str, ...]
    steps: Callable[[float, float, float], Steps]


_FORMS = (
    Form(
        "Mia has {} apples. She buys {} more and gives away {}. How many apples are left?",
        ("left", "remain", "gives", "spent", "lost"),
        lambda a, b, c: ((f"{a:.10g} + {b:.10g}", a + b), (f"{a + b:.10g} - {c:.10g}", a + b - c)),
    ),
    Form(
        "A box costs {} dollars and a bag costs {} dollars. How much do a box and {} bags cost?",
        ("cost", "price", "dollar", "$"),
        lambda a, b, c: ((f"{b:.10g} * {c:.10g}", b * c), (f"{a:.10g} + {b * c:.10g}", a + b * c)),
    ),
    Form(
        "A pump moves {} litres each minute for {} minutes, {} times a day. How many litres a day?",
        ("each", "per", "every", "hour"),
        lambda a, b, c: ((f"{a:.10g} * {b:.10g}", a * b), (f"{a * b:.10g} * {c:.10g}", a * b * c)),
    ),
    Form(
        "Tom is {} years old. Ana is {} times as old, Ben {} years older than Ana. How old is Ben?",
        ("times", "twice", "older", "than"),
        lambda a, b, c: ((f"{a:.10g} * {b:.10g}", a * b), (f"{a * b:.10g} + {c:.10g}", a * b + c)),
    ),
    Form(
        "A farmer packs {} rows of {} eggs equally into {} baskets. How many eggs are in each?",
        ("equally", "split", "share", "half"),
        lambda a, b, c: (
            (f"{a:.10g} * {b:.10g}", a * b),
            (f"{a * b:.10g} / {c:.10g}", a * b / (c or 1)),
        ),
    ),
    Form(
        "A class of {} reads {} pages a day for {} days. How many pages does the class read?",
        (),
        lambda a, b, c: ((f"{b:.10g} * {c:.10g}", b * c), (f"{b * c:.10g} * {a:.10g}", b * c * a)),
    ),
)
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
# The texts that ``story`` writes are read back by the same forms, so that generated problems have
# an answer that is really theirs.
_READERS = tuple(re.compile(re.escape(form.text).replace(r"\{\}", r"(\d+)")) for form in _FORMS)
_AMOUNT = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
_FACTUAL = re.compile(r"\b(?:Who|Whose|When|Where|Which)\b[^.?]*\?\s*$")
_LONGEST = 3000


def story(seed: int, index: int) -> tuple[str, str]:
    """A generated word problem and its answer."""
    form = _FORMS[int(hash01(seed, "form", index) * len(_FORMS))]
    a, b, c = (2 + int(hash01(seed, index, blank) * 18) for blank in "abc")
    # Chosen so that nothing goes below zero, and that shares come out even.
    a = a * c if "equally" in form.text else a + c
    return form.text.format(a, b, c), f"{form.steps(a, b, c)[-1][1]:.10g}"


@lru_cache(maxsize=16_384)
def _solved(problem: str) -> Steps:
    """The steps to the right answer."""
    for form, reader in zip(_FORMS, _READERS, strict=True):
        if found := reader.fullmatch(problem):
            a, b, c = map(float, found.groups())
            return form.steps(a, b, c)
    said = [float(number.replace(",", "")) for number in _NUMBER.findall(problem)[:3]]
    a, b, c = [*said, 2.0, 2.0][:3]
    return _FORMS[STORIES.situation(problem)].steps(a, b, c)


class Stories(Ground):
    """Word problems; a text with numbers and a question for an amount is taken for one."""

    name = "stories"
    example = "Mia has 3 apples. She buys 4 more and gives away 2. How many apples are left?"
    approaches = (
        "list quantities with units",
        "work from the end",
        "find the unit rate",
        "write one line each",
        "keep a running total",
        "turn shares into amounts",
    )
    situations = (
        "things taken away or left over",
        "prices to be added up",
        "rates over a stretch of time",
        "comparisons between people",
        "equal shares",
        "plain totals",
    )
    checks = (
        "carry the units through every line",
        "reread what the last sentence asks",
        "estimate the size of the result",
    )

    def reads(self, text: str) -> str | None:
        """The text on one line, if it has numbers enough and asks for no person, time or place."""
        # A question for a person, place or time may hold numbers too; it is one over paragraphs.
        if len(text) > _LONGEST or _FACTUAL.search(text):
            return None
        enough = 1 if _AMOUNT.search(text) else 2
        return " ".join(text.split()) if len(_NUMBER.findall(text)) >= enough else None

    def situation(self, problem: str) -> int:
        """The first form one of whose words the problem says; the last form has none of its own."""
        said = problem.casefold()
        signed = (i for i, form in enumerate(_FORMS) if any(sign in said for sign in form.signs))
        return next(signed, len(_FORMS) - 1)

    def work(self, problem: str, rightly: bool, pick: float) -> Work:
        """Two lines and the answer; what is wrong is wrong from the first line on, or from the last."""
        (first, x), (last, y) = _solved(problem)
        if not rightly:
            off = 1 + int(pick * 8)
            x, y = (x + off if pick < 0.5 else x), y + off
        return Work((f"{first} = {x:.10g}", f"{last} = {y:.10g}"), f"{y:.10g}")

    def right(self, problem: str, answer: str) -> bool:
        """Whether the first number of the answer is the result."""
        found = _NUMBER.search(answer)
        if found is None:
            return False
        return abs(float(found[0].replace(",", "")) - _solved(problem)[-1][1]) < 1e-6


STORIES = Stories()
