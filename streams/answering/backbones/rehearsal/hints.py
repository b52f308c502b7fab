"""Hints that can be learned and passed on in words: in this situation do, or do not, take that approach.

Hints are written into lessons, rules, guidance and advice, and read back from them; whatever a text
says besides has no effect on a problem of this ground.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from streams.answering.backbones.rehearsal.grounds import Ground

Topic: TypeAlias = Literal["solving", "checking", "deciding"]

_NOT = re.compile(r"\b(?:do not|don't|avoid|never|instead of|leave|distrust|when it tries)\b")
_ENDS = ".;\n"
_SAYING: dict[tuple[Topic, bool], str] = {
    ("solving", True): "With {situation}, {approach}.",
    ("solving", False): "With {situation}, do not {approach}.",
    ("checking", True): "With {situation}, it is sound to {approach}.",
    ("checking", False): "With {situation}, distrust a try to {approach}.",
    ("deciding", True): "With {situation}, advise on a restart to {approach}.",
    ("deciding", False): "With {situation}, restart work when it tries to {approach}.",
}


@dataclass(frozen=True, slots=True, order=True)
class Hint:
    """An approach, named for a situation or for any, recommended or not; by number."""

    approach: int
    situation: int | None
    good: bool

    def says(self, ground: Ground, topic: Topic) -> str:
        """The hint as a sentence."""
        situation = "any problem" if self.situation is None else ground.situations[self.situation]
        saying = _SAYING[topic, self.good]
        return saying.format(situation=situation, approach=ground.approaches[self.approach])

    def fits(self, situation: int) -> bool:
        """Whether the hint speaks of this situation."""
        return self.situation is None or self.situation == situation


@lru_cache(maxsize=8192)
def hints(text: str, ground: Ground) -> tuple[Hint, ...]:
    """The hints in a text, in the order in which they stand."""
    said = text.casefold()
    found: list[tuple[int, Hint]] = []
    for approach, phrase in enumerate(ground.approaches):
        at = said.find(phrase)
        while at >= 0:
            # A hint is what its sentence says. "Not" counts only before the approach: behind it,
            # it speaks of something else ("list the factor pairs, and do not guess").
            start = max(said.rfind(end, 0, at) for end in _ENDS) + 1
            ends = [end for mark in _ENDS if (end := said.find(mark, at + len(phrase))) >= 0]
            sentence = said[start : min(ends, default=len(said))]
            named = (i for i, words in enumerate(ground.situations) if words in sentence)
            good = _NOT.search(said, start, at) is None
            found.append((at, Hint(approach, next(named, None), good)))
            at = said.find(phrase, at + 1)
    return tuple(hint for _, hint in sorted(found))


@lru_cache(maxsize=8192)
def checks(text: str, ground: Ground) -> int:
    """How many of the ground's checks a text names."""
    said = text.casefold()
    # Word for word: guidance is to arrive as it was written, or what is lost on the way would go
    # unnoticed.
    return sum(check in said for check in ground.checks)
