"""Which answers a person should look at: a pure rule over what the record says of an answer, with its reasons.

An answer is worth a look where there is none, where a vote did not settle it, or where its chance of being right
is low. The chance is the calibrated one as soon as labels suffice to fit it, before that what the policy claimed.
What is unknown is no reason: an answer without a confidence and without a vote is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from schemas.outcome import Status

# Whoever lists answers for people, on a screen or at the door, asks this rule with
# figures of the record: the list is the same wherever it is looked at, and may be made
# again with other thresholds.

Reason: TypeAlias = Literal["asked", "abstained", "disputed", "unsure"]
"""``asked`` is no matter of this rule: the policy itself put a question to a person (``questions.Review``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From where on an answer is worth a look; both are shares in [0, 1]."""

    confidence: float = 0.5
    """An answer is unsure whose chance of being right is below this."""
    votes: float = 0.5
    """A vote is disputed whose winner has no greater share of it than this."""

    def __post_init__(self) -> None:
        for name in ("confidence", "votes"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}: {getattr(self, name)} is no share in [0, 1]")


USUAL = Thresholds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An episode's end, as far as the rule looks at it; ``None`` is unknown."""

    status: Status
    answer: str | None = None
    confidence: float | None = None
    """What the policy claimed, in [0, 1]."""
    calibrated: float | None = None
    """The calibrated chance of being right, once labels sufficed."""
    votes: int | None = None
    """How many votes the winner of its last vote got."""
    of: int | None = None
    """How many votes there were, unreadable ones among them."""

    @property
    def chance(self) -> float | None:
        """The chance of being right, as well as it is known."""
        return self.confidence if self.calibrated is None else self.calibrated


def reasons(ended: Ended, thresholds: Thresholds = USUAL) -> tuple[Reason, ...]:
    """Why a person should look at an answer; nothing where nobody need. A defect is no matter for reviewers."""
    # A person can judge an answer, or give one where there is none; a policy's
    # defect he cannot mend.
    if ended.status == "failed":
        return ()
    found: list[Reason] = []
    if ended.answer is None:
        found.append("abstained")
    if is_disputed(ended.votes, ended.of, thresholds.votes):
        found.append("disputed")
    chance = ended.chance
    if ended.answer is not None and chance is not None and chance < thresholds.confidence:
        found.append("unsure")
    return tuple(found)


def is_disputed(votes: int | None, of: int | None, share: float) -> bool:
    """Whether a vote of several settled nothing: its winner has no more than this share of it."""
    return votes is not None and of is not None and of > 1 and votes <= share * of
