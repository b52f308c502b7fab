"""Multiple choice: an answer names an option by its letter, or gives the option's text."""

from __future__ import annotations

import re

from handlers.answers.equal import equal
from schemas.outcome import Outcome

_LETTER = re.compile(
    r"\(?\s{0,4}([A-Ja-j])\s{0,4}(?:\)(?:\s.{0,400})?|[.:](?:\s.{0,400})?)?", re.DOTALL
)
_BRACKETED = re.compile(r"(?:option |choice )?\(([A-Ja-j])\)(?:\s.{0,400})?|([A-J])", re.DOTALL)
_CHOICE = re.compile(r"\(?\b([A-Ja-j])\)[ :]{0,4}([^()\n]{1,200})")
_TEXT = re.compile(r"\\(?:text(?:bf|rm)?|mathrm|mbox)\s{0,4}\{([^{}]{0,200})\}")


def choice(answer: str, reference: str, problem: str = "") -> Outcome | None:
    """Compare with the letter of an option, or ``None`` when the reference is none.

    An answer may be the letter in any spelling, or the option's text where the problem lists it.
    """
    wanted = _BRACKETED.fullmatch(_TEXT.sub(r"\1", reference[:500]).strip())
    if wanted is None:
        return None
    letter = (wanted[1] or wanted[2]).upper()
    given = _letter_of(answer, problem)
    if given is None:
        return "unknown"
    return "right" if given == letter else "wrong"


def _letter_of(answer: str, problem: str) -> str | None:
    text = _TEXT.sub(r"\1", answer[:500]).strip().strip("$* ").rstrip(".")
    found = _BRACKETED.fullmatch(text) or _LETTER.fullmatch(text)
    if found:
        return str(next(filter(None, found.groups()))).upper()
    named = [
        letter for letter, words in options(problem).items() if equal(words, answer) == "right"
    ]
    return named[0] if len(named) == 1 else None


def options(problem: str) -> dict[str, str]:
    """The options that a problem lists as ``(a) … (b) …``, by letter."""
    found = _CHOICE.findall(problem[-20_000:])
    return {letter.upper(): words.strip(" ;,.\t") for letter, words in found}
