"""What a rule is worth by itself: answers of episodes that it was held out of, beside answers of those that had it.

All rules of a role stand in the same prompts, so none of them can be told from its siblings by who had it. Each is
therefore held out of some episodes, by a draw of its own: the draw knows neither the problem nor the other
rules, so these are as often held out of the one side as of the other. Batches grow harder and easier, so only
episodes of one batch are compared, and the batches are added up (Mantel and Haenszel).

Source: Mantel & Haenszel 1959; design/mc2.md D13.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Any, Final, NamedTuple, TypeAlias

# Half as many are enough of the episodes without it: a rule is held out of a fifth of its episodes
# only, since every episode that lacks one pays for the measurement.
LEAST_WITH = 10
LEAST_WITHOUT = 5
"""Episodes with a rule, and without it, below which nothing is retired."""
SURE = 3.0
"""Standard errors; more than for one test, since every batch looks again."""
DIGITS = 9
KNOWN: Final = {"right": True, "wrong": False}

Trial: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], str]
"""Marks of the rules that an episode had in its prompts, of those that were held out, and its outcome."""


class Tried(NamedTuple):
    """What came of the episodes with a rule and of those that it was held out of; unknown outcomes do not count.

    ``excess`` is by how many more answers were right with it than its batches led to expect, ``variance`` how much
    that scatters where the rule changes nothing, ``weight`` of how many comparisons it is the sum.
    """

    right: int = 0
    wrong: int = 0
    right_without: int = 0
    wrong_without: int = 0
    excess: float = 0.0
    variance: float = 0.0
    weight: float = 0.0

    @property
    def shown(self) -> int:
        """Episodes that had it."""
        return self.right + self.wrong

    @property
    def held_out(self) -> int:
        """Episodes that did without it."""
        return self.right_without + self.wrong_without

    @property
    def coverage(self) -> float:
        """The share of those it could have guided that it did guide."""
        return self.shown / (self.shown + self.held_out)

    @property
    def effect(self) -> float | None:
        """The difference that it makes to the share of right answers; unknown where no batch has both sides."""
        return self.excess / self.weight if self.weight else None

    @property
    def harms(self) -> bool:
        """Whether answers were worse with it than without it, by more than chance allows."""
        enough = self.shown >= LEAST_WITH and self.held_out >= LEAST_WITHOUT
        return enough and self.excess < -round(SURE * sqrt(self.variance), DIGITS)

    def and_batch(self, right: int, wrong: int, right_without: int, wrong_without: int) -> Tried:
        """With one more batch: how many of its episodes were right and wrong, with the rule and without."""
        shown, held, rights = right + wrong, right_without + wrong_without, right + right_without
        both = shown + held
        # Under the hypothesis that the rule changes nothing, its right ones are drawn from all
        # right ones: the moments of the hypergeometric distribution. A batch with one side alone
        # adds 0 to each sum.
        pairs = shown * held / both
        chance = rights * (both - rights) / (both * (both - 1)) if both > 1 else 0.0
        return Tried(
            self.right + right,
            self.wrong + wrong,
            self.right_without + right_without,
            self.wrong_without + wrong_without,
            round(self.excess + right - shown * rights / both, DIGITS),
            round(self.variance + pairs * chance, DIGITS),
            round(self.weight + pairs, DIGITS),
        )


def tried_of(standing: Mapping[str, Any], mark: str) -> Tried | None:
    """What is known of a rule by itself; none where it was never tried."""
    found: Sequence[float] | None = standing.get("tried", {}).get(mark)
    return None if found is None else Tried._make(found)


def tried(before: Mapping[str, Any], batch: Iterable[Trial]) -> dict[str, Any]:
    """The standing after the episodes of a batch; unknown and withheld outcomes count for nothing."""
    counts: dict[str, list[int]] = {}
    for shown, held, outcome in batch:
        if outcome not in KNOWN:
            continue
        for side, marks in enumerate((shown, held)):
            for mark in marks:
                counts.setdefault(mark, [0] * 4)[2 * side + (not KNOWN[outcome])] += 1
    found = dict(before.get("tried", {}))
    for mark, (right, wrong, right_without, wrong_without) in counts.items():
        known = tried_of(before, mark) or Tried()
        found[mark] = list(known.and_batch(right, wrong, right_without, wrong_without))
    return {**before, "tried": found} if found else dict(before)
