"""What a rule is worth by itself, for people and as JSON: episodes that had it beside those that it was held out of."""

from __future__ import annotations

from typing import Any

from handlers.learning.trials import tried_of
from schemas.memory import Memory, MemoryItem
from streams.views.words import count


def by_itself(memory: Memory, item: MemoryItem) -> dict[str, Any] | None:
    """Graded episodes with it and without it, its coverage, and its effect in points; none where it was never tried."""
    found = tried_of(memory.standing, item.mark)
    if found is None:
        return None
    return {
        "with": {"right": found.right, "wrong": found.wrong},
        "without": {"right": found.right_without, "wrong": found.wrong_without},
        "coverage": round(found.coverage, 6),
        "effect": None if found.effect is None else round(100 * found.effect, 6),
        "harms": found.harms,
    }


def trial_line(memory: Memory, item: MemoryItem) -> str | None:
    """The same in a line; none where it was never tried."""
    found = tried_of(memory.standing, item.mark)
    if found is None:
        return None
    said = f"by itself: {count(found.right)} of {count(found.shown)} right with it"
    # An effect needs both sides: a rule that everybody was given is like the air.
    if not found.held_out:
        return f"{said}; effect unknown: it was held out of none yet"
    said += f", {count(found.right_without)} of {count(found.held_out)} where it was held out"
    if found.effect is None:
        return f"{said}; effect unknown: no batch has both"
    worse = ", worse by more than chance" if found.harms else ""
    return f"{said}: effect {100 * found.effect:+.1f} points{worse}; it guided {found.coverage:.0%}"
