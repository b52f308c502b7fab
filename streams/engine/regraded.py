"""What a grade that was given anew makes of what was learned: from which batch on a scope learns again.

Whoever states the grade asks this of a scope that has folded all that stands before it: on SQLite the command that
holds the log, on Kafka the owner of the scope's partition. Anybody else might not know yet of a batch that closed.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas.events.learning import Graded
from schemas.outcome import Outcome
from state.folds.grades import GradesFold
from streams.engine.scopes import Scope


def learned_with(scope: Scope) -> dict[str, tuple[int, Outcome]]:
    """For each member of a closed batch that somebody learned from, the batch and its outcome then."""
    found: dict[str, tuple[int, Outcome]] = {}
    if scope.policy.learns == "none":
        return found
    # Version 0 was made of no batch.
    for number in {*scope.memory.versions, *scope.memory.batches} - {0}:
        closed = scope.memory.closing(number)
        pairs = zip(closed.members, closed.outcomes, strict=True)
        found |= {member: (number, outcome) for member, outcome in pairs}
    return found


def relearned_from(
    learned: Mapping[str, tuple[int, Outcome]], grades: GradesFold, episode: str, outcome: Outcome
) -> int | None:
    """The batch that was learned with another outcome than an answer has by a grade that is given anew.

    None where no batch was, or where a person's verdict stands before the grade.
    """
    batch, then = learned.get(episode, (None, outcome))
    return None if then == outcome or grades.of(episode).verdict is not None else batch


def is_of_person(event: Graded) -> bool:
    """Whether a grade is a person's verdict, and no comparison: grades that are given anew do not follow it."""
    return event.grader.partition("@")[0] == "verdict"
