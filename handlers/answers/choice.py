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
_SEVERAL = re.compile(
    r"(?:[Oo]ptions? |[Cc]hoices? )?\(([A-Ja-j])\)\s{0,4}(?:[,;&/]|(?i:and|or)\b)\s{0,4}"
    r"(?!\(?\1\b)\(?(?:[A-Ja-j]\)|[A-Jb-hj](?!\w))"
)
"""Two options, neither of them more than its letter."""
_TEXT = re.compile(r"\\(?:text(?:bf|rm)?|mathrm|mbox)\s{0,4}\{([^{}]{0,200})\}")


def choice(answer: str, reference: str, problem: str = "") -> Outcome | None:
    """Compare options, each named by its letter or its text; ``None`` when the reference is none.

    An answer may be the letter in any spelling, or the option's text where the problem lists it.
    """
    said, meant = (_TEXT.sub(r"\1", text[:500]).strip() for text in (answer, reference))
    # Of several options nobody knows which one counts, and a first one that is right is no answer.
    wanted = None if _SEVERAL.match(meant) else _BRACKETED.fullmatch(meant)
    given = None if _SEVERAL.match(said) else letter_of(answer, problem)
    if wanted is not None:
        if given is None:
            return "unknown"
        return "right" if given == (wanted[1] or wanted[2]).upper() else "wrong"
    # The reference is an option's text. Only where the problem lists both letters can they be
    # compared: a "B" that the problem does not list may be a name, and is left to other rules.
    listed = options(problem)
    letter = letter_of(reference, problem) if listed and not _SEVERAL.match(meant) else None
    if letter is not None and letter in listed and given in listed:
        return "right" if given == letter else "wrong"
    labelled = _LABELLED.match(answer[:500].strip())
    is_same = labelled is not None and given and equal(labelled[1], reference) == "right"
    return "right" if is_same else None


def letter_of(answer: str, problem: str) -> str | None:
    """The letter of the option that an answer names, if it names one."""
    text = _TEXT.sub(r"\1", answer[:500]).strip().strip("$* ").rstrip(".")
    found = _BRACKETED.fullmatch(text) or _LETTER.fullmatch(text)
    if found:
        return str(next(filter(None, found.groups()))).upper()
    # Two options may be equal by value, as 1/2 and 0.5 are; then the text names neither.
    named = [
        letter for letter, words in options(problem).items() if equal(words, answer) == "right"
    ]
    return named[0] if len(named) == 1 else None


# There are two readers of listed options, this one and ``forms_choice.listed``, and they cannot be
# one. This one takes any two marked options, in any order and with gaps, and no letter beyond J;
# on it rest grades that are recorded as ``exact@5`` and ``theoremqa@5``. That one asks for letters
# from A on without a gap, reads lists in Markdown, and keeps the options' texts as they are
# delivered; on it rest the answers of typed problems. Problems exist that each of them reads and
# the other does not, so either one in the place of the other would change results without a new
# version.
def options(problem: str) -> dict[str, str]:
    """The options that a problem lists, by letter: ``(a) … (b) …``, or a line each (``A. …``, ``A) …``)."""
    # Options stand at the end of a problem, and the bound keeps a long problem's reading short.
    text = problem[-20_000:]
    found = _CHOICE.findall(text)
    # Lines count only as letters from A on: a text with one sentence that begins "I. " lists none.
    if len(found) < 2:
        lines = _LINE.findall(text)
        letters = "".join(letter.upper() for letter, _ in lines)
        found = lines if len(lines) > 1 and "ABCDEFGHIJ".startswith(letters) else found
    return {letter.upper(): words.strip(" ;,.\t") for letter, words in found}
