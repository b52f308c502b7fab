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
_LINE = re.compile(r"^[ \t]{0,8}([A-Ja-j])[.):][ \t]{1,4}(\S.{0,199})$", re.MULTILINE)
_LABELLED = re.compile(r"\(?[A-Ja-j](?:\)|[.:])\s{1,4}(\S.{0,400})", re.DOTALL)
_TEXT = re.compile(r"\\(?:text(?:bf|rm)?|mathrm|mbox)\s{0,4}\{([^{}]{0,200})\}")


def choice(answer: str, reference: str, problem: str = "") -> Outcome | None:
    """Compare options, each named by its letter or its text; ``None`` when the reference is none.

    An answer may be the letter in any spelling, or the option's text where the problem lists it.
    """
    wanted = _BRACKETED.fullmatch(_TEXT.sub(r"\1", reference[:500]).strip())
    if wanted is None:
        return _by_text(answer, reference, problem)
    letter = (wanted[1] or wanted[2]).upper()
    given = letter_of(answer, problem)
    if given is None:
        return "unknown"
    return "right" if given == letter else "wrong"


def _by_text(answer: str, reference: str, problem: str) -> Outcome | None:
    """The reference is an option's text: the answer may be its letter, alone or before the text."""
    listed = options(problem)
    wanted = letter_of(reference, problem) if listed else None
    given = letter_of(answer, problem)
    if wanted is not None and wanted in listed and given in listed:
        return "right" if given == wanted else "wrong"
    labelled = _LABELLED.match(answer[:500].strip())
    if labelled is not None and given is not None and equal(labelled[1], reference) == "right":
        return "right"
    return None


def letter_of(answer: str, problem: str) -> str | None:
    """The letter of the option that an answer names, if it names one."""
    text = _TEXT.sub(r"\1", answer[:500]).strip().strip("$* ").rstrip(".")
    found = _BRACKETED.fullmatch(text) or _LETTER.fullmatch(text)
    if found:
        return str(next(filter(None, found.groups()))).upper()
    named = [
        letter for letter, words in options(problem).items() if equal(words, answer) == "right"
    ]
    return named[0] if len(named) == 1 else None


def options(problem: str) -> dict[str, str]:
    """The options that a problem lists, by letter: ``(a) … (b) …``, or a line each (``A. …``, ``A) …``)."""
    text = problem[-20_000:]
    found = _CHOICE.findall(text)
    if len(found) < 2:
        lines = _LINE.findall(text)
        letters = "".join(letter.upper() for letter, _ in lines)
        found = lines if len(lines) > 1 and "ABCDEFGHIJ".startswith(letters) else found
    return {letter.upper(): words.strip(" ;,.\t") for letter, words in found}
