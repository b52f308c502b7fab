"""Thought cards: which atomic actions, in which order, led to the answer of how complex a problem."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from handlers.learning.texts import features
from handlers.roles.atomic import ACTIONS, Action

# A card holds no word of the problem that it came from: it is matched by complexity alone, and
# would else carry one problem's numbers into another.

Path: TypeAlias = tuple[Action, ...]

ROLE = "card"
ARROW = " > "
_HELD = re.compile(r"\(complexity (\d+)\) (.+)")


@dataclass(frozen=True, slots=True)
class Card:
    """An abstract way of thinking, and the complexity of the problem that it solved."""

    complexity: int
    path: Path

    @property
    def name(self) -> str:
        """Its actions in words."""
        return named(self.path)

    @property
    def text(self) -> str:
        """How memory keeps it."""
        return f"(complexity {self.complexity}) {self.name}"


STANDARD = (Card(0, ("reason",)), Card(0, ("analyse", "reason")))
"""What is used until there are cards."""


def named(path: Sequence[Action]) -> str:
    """Actions in their order, in words."""
    return ARROW.join(path)


def cards_of(texts: Iterable[str]) -> list[Card]:
    """The cards that memory holds, in order; what is none is passed over."""
    found = [_HELD.fullmatch(text) for text in texts]
    read = [(int(match[1]), tuple(match[2].split(ARROW))) for match in found if match is not None]
    return [Card(c, cast("Path", path)) for c, path in read if set(path) <= set(ACTIONS)]


def complexity(problem: str) -> int:
    """How complex a problem is: its quantities and its clauses, read off the text."""
    _, quantities, clauses = features(problem)
    return quantities + clauses


def matched(cards: Sequence[Card], wanted: int, count: int) -> list[Card]:
    """The nearest in complexity, a card for each way of thinking; ties first seen."""
    # Two cards of one path would be carried out alike and vote twice for one answer.
    nearest: dict[Path, Card] = {}
    for card in sorted(cards, key=lambda each: abs(each.complexity - wanted)):
        nearest.setdefault(card.path, card)
    return list(nearest.values())[:count]
