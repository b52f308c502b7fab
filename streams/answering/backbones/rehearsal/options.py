"""The simulator's settings: how good it is, how noisy, how slow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

_WHOLE = ("seed",)
_SHARES_END = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings with their defaults; all but ``seed`` and ``latency_ms`` are shares in [0, 1]."""

    seed: int = 7
    latency_ms: float = 0.0
    malformed: float = 0.02
    """Replies whose fields cannot all be found."""
    truncated: float = 0.005
    empty: float = 0.003
    sensitivity: float = 0.8
    """Wrong candidates that are found wrong, without guidance."""
    specificity: float = 0.9
    """Right candidates that are found right, without guidance."""
    heed: float = 0.8
    """How often guidance or advice is followed."""
    lock_in: float = 0.95
    """How often the first idea for a problem comes again, whatever the draw."""
    insight: float = 0.05
    """How often advice names another approach without having been taught to."""

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Options:
        """Settings from text. Raises ``ValueError`` naming one that is unknown or out of range."""
        known = {field.name for field in fields(cls)}
        # A misspelled rate would leave the usual one in force, and nobody would notice it in a
        # table.
        for name in values.keys() - known:
            raise ValueError(f"rehearsal has no option {name!r}; it has {', '.join(sorted(known))}")
        numbers: dict[str, Any] = {}
        for name, text in values.items():
            try:
                value = int(text) if name in _WHOLE else float(text)
            except ValueError:
                kind = "a whole number" if name in _WHOLE else "a number"
                raise ValueError(f"rehearsal option {name} must be {kind}, not {text!r}") from None
            most = float("inf") if name in ("seed", "latency_ms") else _SHARES_END
            # NaN fails the first comparison; infinity would pass where there is no upper end.
            if not 0 <= value <= most or value == float("inf"):
                raise ValueError(f"rehearsal option {name} must be in [0, {most:g}], not {text}")
            numbers[name] = value
        return replace(cls(), **numbers)
