"""What can be read off a problem's text at once, without asking anyone: words, lengths, answer types."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

AnswerType: TypeAlias = Literal["number", "choice", "expression", "text"]
Features: TypeAlias = tuple[int, int, int]
"""Length in words, quantities, clauses."""

# These stand for what the papers ask a model about a problem (its difficulty, its kind): they cost
# no call, and a fold may compute them. They compare problems of one domain with each other and
# mean nothing by themselves.
_WORD = re.compile(r"[^\W\d_]{3,}")
_TOKEN = re.compile(r"\S+")
_QUANTITY = re.compile(r"\d+(?:[.,/]\d+)*")
_CLAUSE = re.compile(r"[.;:?!,]|\b(?:and|or|if|when|then|that|which|while|but)\b", re.IGNORECASE)
_NUMBER = re.compile(r"[-+−$]?\d[\d,]*(?:[./]\d+)?(?:e[-+]?\d+)?\s?%?", re.IGNORECASE)
_CHOICE = re.compile(r"\(?[A-Ha-h]\)?[.)]?")
_STOP = frozenset(
    (
        *("the", "and", "for", "are", "was", "were", "with", "from", "that", "this", "what"),
        *("which", "when", "how", "has", "have", "had", "its", "his", "her", "their", "they"),
        *("you", "your", "into", "all", "any", "each", "than", "then", "not", "but", "who"),
        *("whom", "whose", "will", "would", "can", "could", "may", "one", "two", "there", "here"),
        *("been", "being", "does", "did", "done", "out", "over", "under", "per", "numbers"),
    )
)


def content_words(text: str) -> tuple[str, ...]:
    """The words that say what a text is about, each once, in order of the alphabet."""
    return tuple(sorted({word.casefold() for word in _WORD.findall(text)} - _STOP))


def features(text: str) -> Features:
    """Length, quantities and clauses of a problem."""
    return (
        len(_TOKEN.findall(text)),
        len(_QUANTITY.findall(text)),
        1 + len(_CLAUSE.findall(text)),
    )


def answer_type(answer: str) -> AnswerType:
    """What kind of thing an answer is."""
    said = answer.strip()
    if _NUMBER.fullmatch(said):
        return "number"
    if _CHOICE.fullmatch(said):
        return "choice"
    return "expression" if re.search(r"\d\s*[-+*/×÷^=]", said) else "text"
