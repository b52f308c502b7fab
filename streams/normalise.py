"""Whatever a server sends, something can be recorded: valid Unicode, finite numbers, a size cap."""

from __future__ import annotations

import math

TEXT_CAP = 1 << 20
"""Characters of one reply that are kept; a longer one is marked ``truncated``."""
COUNT_CAP = 1 << 53


def text(raw: str, cap: int = TEXT_CAP) -> tuple[str, bool]:
    """The text with lone surrogates replaced and cut at the cap, and whether it was cut."""
    if not raw.isascii():
        try:
            raw.encode()
        except UnicodeEncodeError:
            raw = raw.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return (raw[:cap], True) if len(raw) > cap else (raw, False)


def count(raw: int | None) -> int | None:
    """A count that can be recorded, or unknown."""
    return raw if raw is not None and 0 <= raw < COUNT_CAP else None


def amount(raw: float | None) -> float | None:
    """A finite amount of at least zero, or unknown."""
    return float(raw) if raw is not None and _is_finite(raw) and raw >= 0 else None


def finite(raw: float | None) -> float | None:
    """A finite number, or unknown."""
    return float(raw) if raw is not None and _is_finite(raw) else None


def _is_finite(raw: float) -> bool:
    try:
        return math.isfinite(raw)
    except OverflowError:  # an integer beyond every float
        return False
