"""Options: which a problem lists, and which one of them an answer names, by its letter, its text or both."""

from __future__ import annotations

import re
from collections.abc import Sequence

from handlers.answers.equal import same
from handlers.answers.plain import plain_text
from schemas.answer_type import LETTERS as SMALL
from schemas.answer_type import AnswerType, WrongForm

LETTERS = SMALL.upper()
_LETTER = re.compile(
    r"(?:option|choice|answer)?\s{0,4}[(\[]?\s{0,2}([A-Z])\s{0,2}([)\].:–—-]{1,2}|(?=\s|$))\s{0,4}(.*)",
    re.DOTALL | re.IGNORECASE,
)
_ANSWER = re.compile(r"^(?:the\s{1,4})?(?:final\s{1,4})?answer\s{0,4}[:=]\s{0,4}", re.IGNORECASE)
_LETTER_LAST = re.compile(
    r"(?:.{0,400}\b(?:option|choice|answer)\s{1,4}is\s{0,4}[(\[]?([A-Z])[)\]]?|(.{1,400}?)\s{1,4}\(([A-Z])\))",
    re.DOTALL | re.IGNORECASE,
)
_LINE = re.compile(
    r"^[ \t>]{0,8}(?:[-*+•][ \t]{1,4})?\*{0,2}\(?([A-Za-z])[).:]\*{0,2}[ \t]{1,8}(\S.{0,400}?)[ \t]{0,8}$",
    re.MULTILINE,
)
_LABEL = re.compile(r"(?<![\w(])(?:\(([A-Za-z])\)|([A-Za-z])\))\s{0,4}")
_DENIED = re.compile(
    r"(?:\b(?:not|never|except|but|than|neither|nor|cannot be)|n['’]t)"
    r"(?:\s{1,4}(?:the|option|choice|answer)){0,3}\s{0,4}$",
    re.IGNORECASE,
)
"""What stands before an option that is not meant."""
_MARKED = re.compile(r"\(([A-Z])\)|(?<!\w)([A-Z])[):](?!\w)|(?:\band|\bor|&|/)\s{0,4}([A-Z])\b")


# Why there is another reader of listed options beside this one stands at ``choice.options``.
def listed(problem: str) -> tuple[str, ...]:
    """The options that a problem lists with letters from A on, none left out: on lines of their own, else in a row."""
    text = problem[-20_000:]
    lines = [(found[1], found[2]) for found in _LINE.finditer(text)]
    marks = list(_LABEL.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), *([len(text)] if marks else [])]
    row = [
        (mark[1] or mark[2], text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)
    ]
    # Lines come first: within the options of a list "(a)" may stand for something else.
    return _in_order(lines) or _in_order(row)


def _in_order(labels: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The texts behind the last run of letters from A on; nothing where there is no such run."""
    # The last run counts, for the question stands at the end, behind examples with lists of their
    # own. A run that is broken off lists nothing: options that are guessed would be delivered.
    begins = [at for at, (letter, _) in enumerate(labels) if letter in "aA"]
    for begin in reversed(begins):
        alphabet = LETTERS if labels[begin][0] == "A" else SMALL
        run = labels[begin : begin + len(alphabet)]
        found = [text for (letter, text), due in zip(run, alphabet, strict=False) if letter == due]
        if len(found) == len(labels) - begin and len(found) > 1:
            return tuple(
                text.strip().rstrip(";,").removesuffix(" or").rstrip(";, ") for text in found
            )
    return ()


def choice_form(said: AnswerType, answer: str) -> str:
    """The text of the option that an answer names. Raises ``WrongForm`` where it names none, or two."""
    choices = said.options or ()
    raw = answer.strip()[:1_000]
    if raw in choices:
        return raw
    plain = plain_text(raw).strip()
    # The whole text comes before its letter: an option may read "A" or "None of B and C".
    for way in (plain, plain.strip("*_`\"'").strip(), plain.rstrip(".")):
        spelt = [each for each in choices if _folded(each) == _folded(way)]
        if len(spelt) == 1:
            return spelt[0]
    bare = _ANSWER.sub("", plain.strip("*_`\"'").strip(), count=1).strip("*_` ").rstrip(".")
    lettered = _by_letter(bare, choices)
    if lettered is not None:
        return lettered
    # Values are compared last, since only then "0.5" may name the option "1/2".
    named = [each for each in choices if same(bare, each) == "right"]
    if len(named) == 1:
        return named[0]
    letters = ", ".join(LETTERS[: len(choices)])
    raise WrongForm(f"names none of the options {letters}, or more than one")


def _by_letter(bare: str, choices: Sequence[str]) -> str | None:
    """The option whose letter is named; what is said beside it may be its text, and no other option's."""
    found, last = _LETTER.fullmatch(bare), _LETTER_LAST.fullmatch(bare)
    # "I think it is (C)" begins with a word, where no option has that letter.
    is_word = found is not None and not found[2] and LETTERS.find(found[1].upper()) >= len(choices)
    if found is not None and not (is_word and last is not None):
        letter, is_marked, beside = found[1], bool(found[2]), found[3]
    elif last is not None and not _DENIED.search(last[2] or ""):
        letter, is_marked, beside = last[1] or last[3], True, last[2] or ""
    else:
        return None
    at = LETTERS.find(letter.upper())
    if not 0 <= at < len(choices):
        return None
    said = _folded(beside.strip("*_`\"'()[] -–—:,.;"))
    own = bool(said) and _speaks_of(said, choices[at])
    # Another option is named by its text, by a part of it, or by its letter in a mark. Texts of
    # one or two signs are not looked for, because they stand in any sentence.
    marked = {(mark[1] or mark[2] or mark[3]).upper() for mark in _MARKED.finditer(beside)}
    others = [each for own_at, each in enumerate(choices) if own_at != at]
    mentions = marked & {*LETTERS[: len(choices)]} - {LETTERS[at]} or any(
        _speaks_of(said, each) or (len(each) > 2 and _folded(each) in said) for each in others
    )
    if said and not own and mentions:
        raise WrongForm("names one option by its letter and another beside it")
    # "A dark one" begins with a word, and not with a letter that somebody chose.
    return choices[at] if own or is_marked or not said else None


def _speaks_of(said: str, option: str) -> bool:
    """Whether what is said begins with an option's text, or is a part of it that stands at its end or beginning."""
    text = _folded(option)
    return said.startswith(text) or text.startswith(said) or text.endswith(f" {said}")


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
