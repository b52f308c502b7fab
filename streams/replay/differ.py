"""Where two episodes part first, and what the rest of each cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from msgspec import structs

from schemas.events.base import Event
from schemas.events.episode import Completed, Embedded, Recalled
from schemas.identity import address_order
from schemas.usage import Usage, total
from streams.core.compare import difference, same
from streams.replay.verify import numbered
from streams.replay.words import word_diff

Record = Mapping[str, Event]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two episodes part: the address, the part, both sides, and what each spent from there on."""

    address: str
    part: str
    left: str
    right: str
    left_calls: int
    right_calls: int
    left_tokens: int | None
    right_tokens: int | None
    left_cost: float | None
    right_cost: float | None

    @property
    def calls(self) -> int:
        """Calls that the right side took more; below zero, saved."""
        return self.right_calls - self.left_calls

    @property
    def tokens(self) -> int | None:
        """Tokens that the right side took more, if both are known."""
        if self.left_tokens is None or self.right_tokens is None:
            return None
        return self.right_tokens - self.left_tokens

    @property
    def said(self) -> str:
        """Say in words what the second way cost or saved."""
        tokens = "tokens unknown" if self.tokens is None else _more(self.tokens, "tokens")
        return f"{_more(self.calls, 'calls')}, {tokens}"


def in_words(found: Difference, text: Callable[[str], str | None]) -> Difference:
    """The difference with both sides of a prompt as a word diff, where that is what differs first.

    ``text`` gives a text that is kept once per log, by its digest.
    """
    one, other = found.left.split(" "), found.right.split(" ")
    if not all(len(each) > 2 and each[0] == "Complete" for each in (one, other)):
        return found
    # Another role, or the same prompt with other variables: a diff of templates would show nothing.
    if one[1] != other[1] or one[2] == other[2]:
        return found
    before, after = text(one[2]), text(other[2])
    if before is None or after is None:
        return found
    left, right = word_diff(before, after)
    return replace(found, part=f"prompt of {one[1]}", left=left, right=right)


def _more(count: int, what: str) -> str:
    if count == 0:
        return f"as many {what}"
    return f"{abs(count):,} {what} {'more' if count > 0 else 'fewer'}"


def first_difference(left: Record, right: Record) -> Difference | None:
    """The first address at which two records differ in question, answer or fact."""
    # Only what policies yielded is compared: openings and closings differ in names and times alone,
    # or because of what differs here.
    a, b = numbered(dict(left)), numbered(dict(right))
    for address in sorted({*a, *b}, key=address_order):
        one, other = a.get(address), b.get(address)
        if one is None or other is None:
            what = ("length", "present" if one else "nothing", "present" if other else "nothing")
        elif same(meant(one), meant(other)):
            continue
        else:
            what = difference(meant(one), meant(other))
        # Both are counted from here on: what stands before it is the same on both sides.
        was, now = spent_from(a, address), spent_from(b, address)
        calls, tokens = (was.calls, now.calls), (was.tokens, now.tokens)
        return Difference(address, *what, *calls, *tokens, was.cost, now.cost)
    return None


def meant(event: Event) -> Event:
    """An answer without what is incidental to it, and whoever was asked for it."""
    if isinstance(event, Completed):
        return structs.replace(event, seconds=None, attempts=1, cached_tokens=None, reused=None)
    if isinstance(event, Embedded | Recalled):
        return structs.replace(event, took=None)
    return event


def spent_from(journal: Record, address: str) -> Usage:
    """Return the usage of an episode from an address on."""
    start = address_order(address)
    return total(
        event
        for at, event in journal.items()
        if isinstance(event, Completed) and address_order(at) >= start
    )


def paid(journal: Record) -> Usage:
    """Return the usage of replies that an episode did not take over."""
    replies = (event for event in journal.values() if isinstance(event, Completed))
    return total(reply for reply in replies if not reply.reused)
