"""When to give up: four criteria over what an episode has gone through.

Source: MGV § 3.1.2 (comprehensive abandonment criteria); numbers ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from handlers.policies.mgv.attempt import equal
from handlers.policies.mgv.settings import FlavellSettings

Criterion: TypeAlias = Literal["failures", "effort", "displacement", "discrepancy"]
DISPLACED = 2


@dataclass(frozen=True, slots=True)
class Gone:
    """One round as the criteria see it."""

    passed: bool | None
    """Unknown where the check could not be read."""
    answer: str | None
    unmet: float
    to_goal: float = 0.0
    to_case: float | None = None
    """Highest cosine to a recalled case's problem; none if there is no such case."""

    @property
    def displaced(self) -> bool:
        """Whether the work is nearer to another problem than to its own."""
        return self.to_case is not None and round(self.to_goal, 9) < round(self.to_case, 9)


def criterion(
    rounds: Sequence[Gone], effort: int, usual: float | None, settings: FlavellSettings
) -> Criterion | None:
    """The first criterion that is met. ``usual`` is the agent's median effort for what it solved."""
    # A check that could not be read is no failure, but it ends a run of them.
    run = rounds[-settings.fail_run :]
    if len(run) == settings.fail_run and all(each.passed is False for each in run):
        return "failures"
    if usual is not None and effort > settings.effort_factor * usual:
        return "effort"
    if len(rounds) >= DISPLACED and all(each.displaced for each in rounds[-DISPLACED:]):
        return "displacement"
    # Discrepancy: far from the goal and not getting nearer, although the answers differ. Equal
    # answers may be right and only be judged badly.
    last = rounds[-settings.gap_run :]
    if len(last) < settings.gap_run or any(each.unmet < settings.gap for each in last):
        return None
    falling = any(after.unmet < before.unmet for before, after in pairwise(last))
    answers = [each.answer for each in last]
    alike = any(equal(a, b) for at, a in enumerate(answers) for b in answers[at + 1 :])
    return None if falling or alike else "discrepancy"
