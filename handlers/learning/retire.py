"""Retirement of memory items on their measured outcome, counted in opportunities.

An opportunity is a finished episode of known outcome that had the item in its prompts. An item is
retired once the upper end of the Wilson interval of its share of right answers lies below the share of
the scope's other episodes. What a person says of an item goes before what was measured.

Source: architecture page (*learning holds what a person decided or an episode measured*); Wilson 1927.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import sqrt
from types import MappingProxyType
from typing import Any, Final, TypeAlias

LEAST = 10
"""Opportunities below which nothing is retired, with the item and without it."""
SURE = 1.96
"""Standard deviations: the upper end of a two-sided 95 % interval."""

Opportunity: TypeAlias = tuple[tuple[str, ...], str]
"""Marks of the items that an episode had in its prompts, and its outcome."""
Standing: TypeAlias = Mapping[str, Any]
"""``ruled``: a person's last word by mark; ``tally``: right and wrong by mark; ``all``: of the scope."""


def ruled(before: Standing, words: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The standing after a person retired or restored some items."""
    said = {**before.get("ruled", {}), **dict(words)}
    return {**before, "ruled": said} if said else dict(before)


def tallied(before: Standing, opportunities: Iterable[Opportunity]) -> dict[str, Any]:
    """The standing after the episodes of a batch; an unknown or withheld outcome counts for nothing."""
    tally = {mark: tuple(counts) for mark, counts in before.get("tally", {}).items()}
    right, wrong = before.get("all", (0, 0))
    for marks, outcome in opportunities:
        won, lost = int(outcome == "right"), int(outcome == "wrong")
        right, wrong = right + won, wrong + lost
        for mark in marks if won or lost else ():
            so_far = tally.get(mark, (0, 0))
            tally[mark] = (so_far[0] + won, so_far[1] + lost)
    counted = {"tally": {m: list(c) for m, c in tally.items()}, "all": [right, wrong]}
    return {**before, **counted} if right or wrong else dict(before)


def outmeasured(standing: Standing, mark: str) -> bool:
    """Whether answers were worse with the item than without it, by more than chance allows."""
    right, wrong = standing.get("tally", {}).get(mark, (0, 0))
    rights, wrongs = standing.get("all", (0, 0))
    uses, others = right + wrong, rights + wrongs - right - wrong
    if uses < LEAST or others < LEAST:
        return False
    return bool(wilson_upper(right, uses) < (rights - right) / others)


def wilson_upper(right: int, uses: int, sure: float = SURE) -> float:
    """The upper end of the interval of a share, to nine digits."""
    share, square = right / uses, sure * sure
    middle = share + square / (2 * uses)
    spread = sure * sqrt(share * (1 - share) / uses + square / (4 * uses * uses))
    return round((middle + spread) / (1 + square / uses), 9)


RETIREMENTS: Final[Mapping[str, Callable[[Standing, str], bool]]] = MappingProxyType(
    {"opportunities@1": outmeasured}
)
"""Rules of retirement by ``name@version``."""


def is_retired(standing: Standing, mark: str, rule: str | None) -> bool:
    """Whether an item is out of service: as a person said, else by the rule."""
    word = standing.get("ruled", {}).get(mark)
    if word is not None:
        return bool(word == "retired")
    return rule is not None and RETIREMENTS[rule](standing, mark)
