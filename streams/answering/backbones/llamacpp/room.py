"""How the tokens of a reply are shared out, so that it is never cut off before its last field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.reply import Field

FREE = ("text", "list")
SLACK, NUMBER_TOKENS = 3, 8
LEAST_TEXT = 4
"""Tokens of a text or an item of a list where there is hardly any room."""
BULLET = 3
MOST_ITEMS = 2
"""Items that a list is given room for, unless it needs more."""
STEP_TOKENS, RATING_TOKENS = 4, 10
"""Tokens of a step's number, and of one rating of it."""
MOST_RATED = 40
"""llama.cpp spells every repetition out, and refuses many."""
SHORTEST_ANSWER, LONGEST_ANSWER = 16, 200
"""Characters of an answer: a third of the cap, between these two."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Tokens of all, for the reasoning before the fields and for each text; characters of an item, an answer."""

    cap: int
    reasoning: int
    text: int
    answer: int

    @property
    def item(self) -> int:
        """Tokens of prose have four characters on average, digits and signs one."""
        return 3 * self.text // 2


def fitting(fields: Sequence[Field], cap: int) -> tuple[Field, ...]:
    """The fields without those optional texts that the cap leaves no room for."""
    kept = tuple(fields)
    for field in fields:
        if not field.required and field.kind in FREE and _least(kept, cap) > cap:
            # One by one, from the first on, until the rest fits: the last fields are what a reply
            # is for, above all its answer.
            kept = tuple(each for each in kept if each is not field)
    return kept


def room_in(fields: Sequence[Field], cap: int, asked: bool = False) -> TokenBudget:
    """Tokens that labels and short values leave over, for reasoning (twice), texts and items.

    There is room for reasoning where it is ``asked`` for, and where no text or list comes first.
    """
    # The reasoning is bounded so that the cap never falls on the answer: a reply that is cut before
    # it is paid for and worth nothing.
    left = max(0, cap - _least(fields, cap) - SLACK)
    reasons = asked or not fields or fields[0].kind not in FREE
    # Ratings are short: they have no share in what is left over, for theirs is set aside above.
    free = (field for field in fields if field.kind in FREE and not field.ratings)
    shares = sum(map(items, free)) + 2 * reasons
    share = left // shares if shares else 0
    return TokenBudget(cap, 2 * share if reasons else 0, LEAST_TEXT + share, _answer(cap))


def items(field: Field) -> int:
    """How many texts a field has room for: one, or the items of a list."""
    if field.kind != "list":
        return 1
    return max(field.least, min(field.most or MOST_ITEMS, MOST_ITEMS))


def rated(field: Field, room: TokenBudget) -> int:
    """How many steps a list has room to rate, of which nobody says how many there are."""
    left = room.cap - room.reasoning - len(field.label)
    return min(MOST_RATED, max(1, left // _rating(field)))


def _rating(field: Field) -> int:
    """Tokens of one step's line of ratings."""
    return BULLET + STEP_TOKENS + RATING_TOKENS * len(field.ratings)


def _answer(cap: int) -> int:
    return min(LONGEST_ANSWER, max(SHORTEST_ANSWER, cap // 3))


def _least(fields: Sequence[Field], cap: int) -> int:
    """Tokens that the fields need at least, labels and values together."""
    least = 0
    for field in fields:
        match field.kind:
            case "choice":
                value = 2 + max(map(len, field.choices)) // 2
            case "number":
                value = NUMBER_TOKENS
            case "answer":
                value = 6 + _answer(cap)
            case "text":
                value = LEAST_TEXT
            case "list" if field.ratings:
                known = len(field.steps) or max(1, cap // 2 // _rating(field))
                value = _rating(field) * min(known, MOST_RATED)
            case "list":
                value = (BULLET + LEAST_TEXT) * items(field)
        least += 4 + len(field.label) // 3 + value
    return least
