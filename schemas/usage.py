"""What was spent. Unknown is not zero: a sum with an unknown part is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar, cast

from msgspec import structs

from schemas.struct import NonNegativeFloat, NonNegativeInt, Struct, always

N = TypeVar("N", int, float)


def add(left: N | None, right: N | None) -> N | None:
    """The sum, or unknown if either part is."""
    # An unknown part makes the sum unknown. Zero in its place would tell people that something was
    # free.
    return None if left is None or right is None else left + right


class Embedding(Struct):
    """What an endpoint was asked for vectors, in attempts, tokens, cost and seconds; ``None`` means unknown.

    A request may hold texts of several questions: all of it counts for the one whose text came first, and
    what was known already counts nothing.
    """

    attempts: NonNegativeInt = always(0)
    tokens: NonNegativeInt | None = None
    cost: NonNegativeFloat | None = None
    seconds: NonNegativeFloat | None = None


class Usage(Struct):
    """Calls, tokens, cost and seconds of one completion or of many; ``None``, or absent, means unknown."""

    calls: NonNegativeInt = always(0)
    attempts: NonNegativeInt = always(0)
    prompt_tokens: NonNegativeInt | None = None
    completion_tokens: NonNegativeInt | None = None
    reasoning_tokens: NonNegativeInt | None = None
    cached_tokens: NonNegativeInt | None = None
    cost: NonNegativeFloat | None = None
    seconds: NonNegativeFloat | None = None
    embedding: Embedding | None = None
    """Beside all that: vectors, where an endpoint made them. In no limit of an episode."""

    def told(self) -> dict[str, Any]:
        """Everything by name, unknown figures too; of vectors only where an endpoint made some."""
        figures = {name: getattr(self, name) for name in FIGURES}
        took = self.embedding
        return figures if took is None else {**figures, "embedding": structs.asdict(took)}

    @property
    def tokens(self) -> int | None:
        """Prompt and completion tokens together."""
        return add(self.prompt_tokens, self.completion_tokens)

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


FIGURES = tuple(name for name in Usage.__struct_fields__ if name != "embedding")
# Figures are taken by name from whatever has them, completions among others, without building a
# usage of each.
_figures = attrgetter(*FIGURES)


def total(parts: Iterable[Any]) -> Usage:
    """The sum of what has a usage's figures (usages, completions); the empty sum is zero, which is known."""
    given = list(parts)
    columns: Iterable[tuple[Any, ...]] = zip(*map(_figures, given), strict=True)
    sums: dict[str, Any] = {n: total_of(each) for n, each in zip(FIGURES, columns, strict=False)}
    took = (each.embedding for each in given if isinstance(each, Usage))
    # The empty sum is zero, and known to be: nothing was asked.
    return Usage(**sums, embedding=together(took)) if sums else NOTHING


def together(parts: Iterable[Embedding | None]) -> Embedding | None:
    """The sum of what vectors took; none where no endpoint made any."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    columns: Iterable[tuple[Any, ...]] = zip(*map(structs.astuple, known), strict=True)
    names = Embedding.__struct_fields__
    sums: dict[str, Any] = {n: total_of(each) for n, each in zip(names, columns, strict=True)}
    return Embedding(**sums)


def total_of(figures: Sequence[N | None]) -> N | None:
    """The sum; unknown where one of them is, for what nobody counted is not nothing."""
    known = [figure for figure in figures if figure is not None]
    return cast("N", sum(known)) if len(known) == len(figures) else None
