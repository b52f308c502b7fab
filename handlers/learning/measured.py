"""What learning rules are given: what the episodes of a batch measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from schemas.events.learning import Reflected

# A learning rule sees neither the log nor a policy's settings: only this, in the order of the
# batch, and constants. So it can be applied to any version again, by a build that lacks the policy.

VectorOf: TypeAlias = Callable[[str | None], str | None]
"""The packed vector of a text by another embedder; none where nobody could make it, or the text is unknown."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one member of a batch measured: its policy's summary, and its outcome when the batch closed.

    ``problem`` is the problem's text, ``answer`` and ``calls`` what the episode ended with; ``texts`` are
    what vectors of the summary are made of, where it does not say so itself.
    """

    episode: str
    outcome: str
    summary: Mapping[str, Any]
    problem: str = ""
    answer: str | None = None
    calls: int = 0
    texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, episode: str, outcome: str, left: Reflected) -> Self:
        """What a member left to learn from, as learning rules see it."""
        ended = left.answer, left.usage.calls, left.texts or ()
        return cls(episode, outcome, left.summary, left.problem, *ended)
