"""Whether two events say the same: floats at relative 1e-9, all else bytewise."""

from __future__ import annotations

import math
from typing import Any, cast

from msgspec import structs

from schemas.events.base import Event
from schemas.events.codec import plain
from schemas.events.episode import EpisodeClosed
from streams.core.defects import moved

# Policies decide on scores that are rounded to 1e-9, so a smaller difference cannot have mattered.
# Last bits do differ: another processor adds in another order.
TOLERANCE = 1e-9


def alike(left: Any, right: Any) -> bool:
    """Equality of plain JSON values with floats compared at relative 1e-9."""
    # A truth value is an integer to Python: without this line ``True`` would equal 1.
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    # Whole numbers are exact, so only here does a float come in; and with no absolute tolerance, or
    # all small probabilities would be equal to zero.
    if isinstance(left, int | float) and isinstance(right, int | float):
        return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=0.0)
    if isinstance(left, dict) and isinstance(right, dict):
        one, other = cast("dict[str, Any]", left), cast("dict[str, Any]", right)
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(left, list) and isinstance(right, list):
        ones, others = cast("list[Any]", left), cast("list[Any]", right)
        return len(ones) == len(others) and all(map(alike, ones, others))
    return bool(left == right)


def as_recorded(recorded: Event, derived: Event) -> Event:
    """Return a derived event as the build that recorded it would have written it."""
    later, latest = type(derived).later, type(derived).latest
    if recorded.kind != derived.kind:
        return derived
    # Older records lack fields that were added since. A derived event must not say more than its
    # record could, or every older log would diverge. This build always says the first field of
    # ``later``, so where that one is missing an older build wrote the record, and the others count
    # for nothing either.
    unsaid = [name for name in latest if getattr(recorded, name) is None]
    if later and getattr(recorded, later[0]) is None:
        unsaid += later
    return structs.replace(derived, **dict.fromkeys(unsaid)) if unsaid else derived


def as_placed(recorded: Event, derived: Event) -> Event:
    """Return a derived event with what no derivation tells: stamps, and a defect's line where it was recorded."""
    if not (isinstance(recorded, EpisodeClosed) and isinstance(derived, EpisodeClosed)):
        return derived
    # Stamps are times of a clock. They are carried for people, and nothing may be
    # derived from them.
    derived = structs.replace(derived, stamps=recorded.stamps)
    if not moved(recorded.ended_by, derived.ended_by):
        return derived
    return structs.replace(derived, ended_by=recorded.ended_by)


def same(left: Event, right: Event) -> bool:
    """Whether two events mean the same."""
    return left.kind == right.kind and alike(plain(left), plain(right))


def difference(recorded: Event, now: Event) -> tuple[str, str, str]:
    """Name of the first field that differs, and both of its values as text."""
    if recorded.kind != now.kind:
        return ("kind", recorded.kind, now.kind)
    before, after = plain(recorded), plain(now)
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if not alike(old, new):
            return (f"{now.kind}.{name}", str(old), str(new))
    return (now.kind, str(before), str(after))
