"""What was spent. Unknown is not zero: a sum with an unknown part is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt


def add(left: float | None, right: float | None) -> float | None:
    """The sum, or unknown if either part is."""
    return None if left is None or right is None else left + right


class Usage(BaseModel):
    """Calls, tokens, cost and seconds of one completion or of many; ``None``, or absent, means unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    calls: NonNegativeInt = 0
    attempts: NonNegativeInt = 0
    prompt_tokens: NonNegativeInt | None = None
    completion_tokens: NonNegativeInt | None = None
    reasoning_tokens: NonNegativeInt | None = None
    cached_tokens: NonNegativeInt | None = None
    cost: NonNegativeFloat | None = None
    seconds: NonNegativeFloat | None = None

    @property
    def tokens(self) -> int | None:
        """Prompt and completion tokens together."""
        both = add(self.prompt_tokens, self.completion_tokens)
        return None if both is None else int(both)

    def __add__(self, other: Usage) -> Usage:
        return total((self, other))


NOTHING = Usage(
    prompt_tokens=0,
    completion_tokens=0,
    reasoning_tokens=0,
    cached_tokens=0,
    cost=0.0,
    seconds=0.0,
)
"""Nothing was spent, and that is known."""


FIGURES = tuple(Usage.model_fields)
_figures = attrgetter(*FIGURES)


def total(parts: Iterable[Any]) -> Usage:
    """The sum of what has a usage's figures (usages, completions); the empty sum is zero, which is known."""
    columns = zip(*map(_figures, parts), strict=True)
    sums = dict(zip(FIGURES, map(_sum, columns), strict=False))
    return Usage.model_validate(sums) if sums else NOTHING


def _sum(figures: tuple[float | None, ...]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None
