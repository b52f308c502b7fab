"""What has become of an episode, in one word: lists, pages and commands all say the same."""

from __future__ import annotations

from typing import Final

ASKING: Final = "asks a person"
"""Its policy put a question to a person, and it goes on once that is answered."""

LEARNED: Final = "learned"
"""A batch was learned from: it was asked nothing that has an answer."""


def state_of(
    status: str | None,
    *,
    learning: bool,
    parked: bool,
    cancelled: bool,
    asking: bool,
    begun: bool,
) -> str:
    """How it ended; of an open one what keeps it from going on, or whether anybody has begun it."""
    if status is not None:
        return LEARNED if learning and status == "answered" else status
    if parked:
        return "parked"
    if cancelled:
        return "cancelled"
    if asking:
        return ASKING
    return "running" if begun else "waiting"
