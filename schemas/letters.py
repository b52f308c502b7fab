"""Headers of dead letters: where what was refused came from, and why it was."""

from __future__ import annotations

from typing import Any, Final

ERRORS: Final = "__metalogue.errors."
PLAN: Final = "__metalogue.plan"
"""How the line that was refused was to be produced."""


def errors_of(topic: str, **said: Any) -> dict[str, Any]:
    """Headers of a refusal: the topic that it was meant for, and what else is said by the last part of its name."""
    return {f"{ERRORS}{name}": value for name, value in {"topic": topic, **said}.items()}
