"""What a search does with a judgement that nobody could read: it speaks neither for a thing nor against it.

In profile ``paper`` it counts as 0, as the papers' programs have it; the record says how it was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

# A judge's slip is no verdict. As 0 it would prune the thought that was judged, and small models
# slip often; as an average it leaves the thought where it stood among its siblings.
Unread: TypeAlias = Literal["unknown", "zero"]


def taken(value: float | None, unread: Unread) -> float | None:
    """A judgement as a policy takes it."""
    return 0.0 if value is None and unread == "zero" else value


def standings(values: Sequence[float | None]) -> list[float]:
    """By what values are compared: an unknown one is as good as the known ones are on average."""
    known = [value for value in values if value is not None]
    average = sum(known) / len(known) if known else 0.0
    return [average if value is None else value for value in values]
