"""Strategies by diagnosis: what to advise when a report says so.

Three are standard, two more make five at the start; the last two are examples of what was generated. Others are
proposed while problems are worked on; what of them may become an arm for every problem is said here too.

Source: Meta-Reasoner table 1, App. D; design/meta_reasoner.md#arms.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

# Words of this table are constants of the learning rule: a batch pins them, and an edited
# word makes other arms.


@dataclass(frozen=True, slots=True)
class Strategy:
    """A diagnosis and what to do about it."""

    name: str
    when: str
    text: str


CONTINUE = Strategy(
    "continue",
    "The work goes well.",
    "Keep to the present course, and be concrete about what comes next.",
)
STANDARD = (
    CONTINUE,
    Strategy(
        "backtrack",
        "A step made on the way is wrong.",
        "Go back to the step in which the error came up, put it right, and go on from there.",
    ),
    Strategy(
        "restart",
        "There is too little progress, or the approach does not seem to work.",
        "Begin once more from nothing and look for another way to the goal.",
    ),
)
GENERATED = (
    Strategy(
        "pause",
        "Results on the way are ambiguous or speak against each other.",
        "Pause: make clear what each result says, and resolve where they conflict before you go on.",
    ),
    Strategy(
        "split",
        "The reasoning has become complex or convoluted.",
        "Make it simpler: split the task into small parts that can be done one at a time.",
    ),
    Strategy(
        "verify",
        "An error seems to spread, or confidence in some part is low.",
        "Verify the critical steps one by one, beginning with those that are trusted least.",
    ),
    Strategy(
        "reset",
        "The reasoning goes in circles.",
        "Return to the last point at which all was well, and take a different path from there.",
    ),
)
BIRTHS = (*STANDARD, *GENERATED[:2])
"""In the order of their births: continue, backtrack, restart, pause, split."""


def start_arms(count: int) -> list[dict[str, str]]:
    """The start set of three or five."""
    return [asdict(strategy) for strategy in BIRTHS[:count]]


# ── What was proposed ────────────────────────────────────────────────────────────────────────

DIAGNOSIS = "The report read like the one that it was proposed for."
"""Where a proposal does not say when it is needed."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")


def is_bound(strategy: str, problem: str) -> bool:
    """Whether a strategy names a number that the problem names: then it is advice for that problem alone."""
    # An arm lives over all problems of its scope. Such advice would be chosen for others as well,
    # and would pass this problem's numbers, perhaps its answer, on to them.
    return not set(_NUMBER.findall(problem)).isdisjoint(_NUMBER.findall(strategy))
