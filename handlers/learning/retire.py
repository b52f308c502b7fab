"""Retirement of memory items on their measured outcome, counted in opportunities.

An opportunity is a finished episode of known outcome that had the item in its prompts, in a batch of
which other episodes did without it: batches grow harder and easier, so an item is only compared within
its own. It is retired once the upper end of the Wilson interval of its share of right answers lies
below what the others lead to expect. What a person says of an item goes before what was measured.

Lessons that say the same are one (``opportunities@2``): else one that harms would come back by another name before
any of its names was measured often enough. All rules of a role are shown together, so by who had them they cannot be
told apart: ``opportunities@3`` compares each with the episodes that it was held out of (``trials``).

Source: design/architecture.md#what-flows; Wilson 1927.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from math import sqrt
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from handlers.learning.trials import tried_of

LEAST = 10
"""Opportunities below which nothing is retired."""
SURE = 1.96
"""Standard deviations: the upper end of a two-sided 95 % interval."""
DIGITS = 9
ALIKE: Final = "opportunities@2"
"""The rule by which lessons that say the same are one."""
BY_ITSELF: Final = "opportunities@3"
"""The same, and each rule is measured by the episodes that it was held out of."""
AS_ONE: Final = frozenset({ALIKE, BY_ITSELF})
"""Rules of retirement by which lessons that say the same are one."""

Opportunity: TypeAlias = tuple[tuple[str, ...], str]
"""Marks of the items that an episode had in its prompts, and its outcome."""
Standing: TypeAlias = Mapping[str, Any]
"""``ruled``: a person's last word by mark; ``tally``: right, wrong and expected right ones by mark; ``tried``: what
came of rules that were held out, by mark (``trials.Tried``); ``same``: by the mark of a lesson that of the one which it
says again, under which both are measured; ``overturned``: marks of what was said under outcomes that were turned
around since."""
OVERTURNED: Final = "overturned"


def one(standing: Standing, mark: str) -> str:
    """The mark under which all lessons that say the same are measured."""
    found: str = standing.get("same", {}).get(mark, mark)
    return found


def alike(standing: Standing, mark: str) -> tuple[str, ...]:
    """The marks of all other lessons that say the same as this one."""
    known, first = standing.get("same", {}), one(standing, mark)
    others = (first, *(other for other, its in known.items() if its == first))
    return tuple(other for other in others if other != mark)


def ruled(before: Standing, words: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The standing after a person retired or restored some items, and with each all that say the same."""
    # The word is kept for all that say the same now. One that joins them later follows
    # by the first's mark.
    said = dict(before.get("ruled", {}))
    for mark, word in words:
        first = one(before, mark)
        others = (other for other, its in before.get("same", {}).items() if its == first)
        said |= dict.fromkeys((mark, first, *others), word)
    return {**before, "ruled": said} if said else dict(before)


def shared(standing: Standing, batch: Iterable[Opportunity]) -> Iterator[Opportunity]:
    """The opportunities of lessons that say the same, as one's."""
    first = standing.get("same", {})
    for marks, outcome in batch:
        yield tuple(dict.fromkeys([first.get(mark, mark) for mark in marks])), outcome


def tallied(before: Standing, batch: Iterable[Opportunity]) -> dict[str, Any]:
    """The standing after the episodes of a batch; unknown and withheld outcomes count for nothing."""
    known = [(marks, outcome == "right") for marks, outcome in batch if outcome in KNOWN]
    # What the others of its batch earned is what an item's users were to be expected to earn
    # without it: a hard batch lowers both sides alike.
    used = Counter(chain.from_iterable(marks for marks, _ in known))
    wins = Counter(chain.from_iterable(marks for marks, right in known if right))
    members, rights = len(known), sum(right for _, right in known)
    tally = dict(before.get("tally", {}))
    for mark, uses in used.items():
        won, others = wins.get(mark, 0), members - uses
        # What everybody had in the prompt can be compared with nobody in this batch.
        if others:
            right, wrong, expected = tally.get(mark, NOTHING)
            share = (rights - won) / others
            tally[mark] = [
                *(right + won, wrong + uses - won),
                round(expected + share * uses, DIGITS),
            ]
    return {**before, "tally": tally} if tally else dict(before)


def paired(standing: Standing, pairs: Iterable[tuple[str, float, float]]) -> dict[str, Any]:
    """The standing after runs with and without one item: its mark, and what both of them earned.

    The run without it is what the one with it is expected to earn.
    """
    tally = dict(standing.get("tally", {}))
    for mark, earned, without in pairs:
        right, wrong, expected = tally.get(mark, NOTHING)
        tally[mark] = [
            round(right + earned, DIGITS),
            round(wrong + 1 - earned, DIGITS),
            round(expected + without, DIGITS),
        ]
    return {**standing, "tally": tally} if tally else dict(standing)


KNOWN = frozenset({"right", "wrong"})
NOTHING: Final = (0, 0, 0.0)


def outmeasured(standing: Standing, mark: str) -> bool:
    """Whether answers were worse with the item than without it, by more than chance allows."""
    right, wrong, expected = standing.get("tally", {}).get(mark, NOTHING)
    uses = right + wrong
    return bool(uses >= LEAST and wilson_upper(right, uses) < round(expected / uses, DIGITS))


def harmful(standing: Standing, mark: str) -> bool:
    """Whether it does harm by itself; what was never held out is measured by the others of its batches."""
    found = tried_of(standing, mark)
    return outmeasured(standing, mark) if found is None else found.harms


def wilson_upper(right: float, uses: float) -> float:
    """The upper end of the interval of a share, to nine digits."""
    share, square = right / uses, SURE * SURE
    middle = share + square / (2 * uses)
    spread = SURE * sqrt(share * (1 - share) / uses + square / (4 * uses * uses))
    return round((middle + spread) / (1 + square / uses), DIGITS)


RETIREMENTS: Final[Mapping[str, Callable[[Standing, str], bool]]] = MappingProxyType(
    {
        "opportunities@1": outmeasured,
        ALIKE: outmeasured,
        BY_ITSELF: harmful,
        "pairs@1": outmeasured,
    }
)
"""Rules of retirement by ``name@version``."""


def retired(standing: Standing, rule: str | None) -> frozenset[str]:
    """Marks of everything that is out of service: as a person said, else by the rule."""
    # Marks that only say again what another says stand in no tally, but leave with
    # the one they repeat.
    said, turned = standing.get("ruled", {}), standing.get(OVERTURNED, ())
    measured = () if rule is None else {*standing.get("tally", ()), *standing.get("tried", ())}
    again = standing.get("same", ())
    found = (
        mark for mark in {*said, *turned, *measured, *again} if is_retired(standing, mark, rule)
    )
    return frozenset(found)


def overturning(before: Standing, marks: Iterable[str]) -> dict[str, Any]:
    """The standing after some more items were overturned."""
    found = sorted({*before.get(OVERTURNED, ()), *marks})
    return {**before, OVERTURNED: found} if found else dict(before)


def is_retired(standing: Standing, mark: str, rule: str | None) -> bool:
    """Whether an item is out of service: as a person said, else since it was overturned, else by the rule."""
    # A word on this very item goes before one on those that it repeats, and any
    # word before a figure.
    said, first = standing.get("ruled", {}), one(standing, mark)
    word = said.get(mark, said.get(first))
    if word is not None:
        return bool(word == "retired")
    # Another lesson may say the same from an episode whose outcome stands: only this one falls.
    if mark in standing.get(OVERTURNED, ()):
        return True
    return rule is not None and RETIREMENTS[rule](standing, first)
