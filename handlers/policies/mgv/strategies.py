"""Which strategy: experience to diagnosis to strategy, as tables with learned rates.

Source: MGV App. A, step 2 (two-phase pattern matching) and step 3 (four metacognitive strategies).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from handlers.learning.beliefs import BANDS, key_of, rate

Diagnosis: TypeAlias = Literal[
    "plain",
    "complex",
    "unknown terms",
    "missing steps",
    "unclear sequence",
    "beyond capacity",
]
Cognitive: TypeAlias = Literal["direct", "decompose", "define", "example", "plan", "simplify"]
Check: TypeAlias = Literal["coherence", "plausibility", "consistency", "goal-conduciveness"]

PRESCRIBED: Mapping[Diagnosis, Cognitive] = {
    "plain": "direct",
    "complex": "decompose",
    "unknown terms": "define",
    "missing steps": "example",
    "unclear sequence": "plan",
    "beyond capacity": "simplify",
}
"""Diagnosis to strategy, in table order."""
SOLVED_BY: Mapping[str, Diagnosis] = {way: found for found, way in PRESCRIBED.items()}
"""Strategy to the diagnosis that it is for: what a problem was that it solved."""
CHECKS: tuple[Check, ...] = ("coherence", "plausibility", "consistency", "goal-conduciveness")
"""In the order of the evaluative scores: fragmented, doubtful, unexpected, uncertain progress."""
COSTS: Mapping[Cognitive, int] = {
    "direct": 1,
    "decompose": 2,
    "define": 2,
    "example": 2,
    "plan": 2,
    "simplify": 2,
}
"""Calls below which a strategy is not worth beginning: an attempt, and room to judge it."""

# Tables before rates: without a trial the paper's table decides, and beliefs only reorder what they
# have seen. A strategy that the table does not prescribe gets in once it was tried on such
# problems, and never by the prior alone.

Rates: TypeAlias = tuple[tuple[Cognitive, float], ...]


def believed(
    beliefs: Mapping[str, Any], task_class: str, diagnosis: str, strategy: str
) -> tuple[float, int, bool]:
    """A strategy's rate over all confidence bands, its trials, and whether each band was retired.

    Bands count that are retired too: how sure an attempt will be is known only after it, and without those
    that went badly a strategy would look the better the more often it failed.
    """
    keys = [key_of("strategy", task_class, diagnosis, strategy, band) for _, band in BANDS]
    found = [beliefs[key] for key in keys if key in beliefs]
    trials = sum(belief["trials"] for belief in found)
    solved = sum(belief["solved"] for belief in found)
    gone = bool(found) and all(belief["retired"] for belief in found)
    return rate(solved, trials), trials, gone


def ranked(
    diagnosis: Diagnosis, task_class: str, beliefs: Mapping[str, Any], failed: Collection[str]
) -> Rates:
    """Strategies, best first: those admitted by best belief, then table order; failed ones last.

    Admitted are the table's strategy for this diagnosis and those that some trial speaks for.
    """
    # Those that failed in this episode come last but stay: when all have failed one is tried again.
    table = tuple(PRESCRIBED.values())
    rows: list[tuple[tuple[bool, bool, float, int], Cognitive, float]] = []
    for place, strategy in enumerate(table):
        known, trials, retired = believed(beliefs, task_class, diagnosis, strategy)
        admitted = not retired and (PRESCRIBED[diagnosis] == strategy or trials > 0)
        score = round(known, 9) if admitted else 0.0
        first = 0 if PRESCRIBED[diagnosis] == strategy else 1 + place
        rows.append(((strategy in failed, not admitted, -score, first), strategy, known))
    return tuple((strategy, known) for _, strategy, known in sorted(rows))


def affordable(rates: Rates, calls: int | None) -> Cognitive:
    """The first of these strategies that so many calls cover."""
    for name, _ in rates:
        if calls is None or COSTS[name] <= calls:
            return name
    return "direct"


def check_for(scores: Sequence[float]) -> Check:
    """The metacognitive strategy that answers the strongest evaluative signal; ties in their order."""
    rounded = [round(score, 9) for score in scores]
    return CHECKS[rounded.index(max(rounded))]
