"""Facts of a batch whose answers were graded anew: what they say of its members follows the outcomes of now.

A path that an episode took, and the answers that one had to choose from, carry the outcome of the episode's own answer.
Other runs and other answers were graded when they were made; what was found of them stands, as do pairs of runs, of
which one side alone could follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import structs

from schemas.events.base import Event
from schemas.events.cascade import CandidatesGraded
from schemas.events.graph import PathGrounded
from schemas.outcome import Outcome

DECIDED = ("right", "wrong")


def retold(
    facts: Iterable[Event],
    outcomes: Mapping[str, Outcome],
    summary_of: Callable[[str], Mapping[str, Any]],
) -> list[Event]:
    """The facts with these outcomes of members, by episode; ``summary_of`` gives what an episode left."""
    return [_retold(fact, outcomes, summary_of) for fact in facts]


def _retold(
    fact: Event,
    outcomes: Mapping[str, Outcome],
    summary_of: Callable[[str], Mapping[str, Any]],
) -> Event:
    match fact:
        case PathGrounded() if fact.source in outcomes:
            return structs.replace(fact, outcome=outcomes[fact.source])
        case CandidatesGraded() if outcomes.get(fact.episode) in DECIDED:
            return _chosen(fact, outcomes[fact.episode], summary_of(fact.episode))
        case _:
            return fact


def _chosen(fact: CandidatesGraded, outcome: Outcome, left: Mapping[str, Any]) -> CandidatesGraded:
    """The candidates of an episode whose given answer has another outcome."""
    given: int | None = left["stages"][-1]["leads"]
    if given is None or fact.outcomes[given] == outcome:
        return fact
    # By agreement the others were wrong only because the given one was taken to be right.
    others: list[Outcome] = ["unknown"] * len(fact.outcomes)
    if fact.by == "label":
        others = [*fact.outcomes]
    others[given] = outcome
    return structs.replace(fact, by="label", outcomes=tuple(others))
