"""A bandit whose vectors another embedder makes: the same arms, the same pulls, other contexts.

Which proposals joined or were merged, and which arms retired, was decided by the vectors of that time, and
stays. Regressions are reckoned again, pull by pull.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from handlers.learning.bandits import State, arms_of, folded, regressed, written
from handlers.learning.measured import Measured, VectorOf


@dataclass(frozen=True, slots=True)
class Folded:
    """A batch that counts already: the state that it began with, its members, its rule's constants."""

    before: State
    members: Sequence[Measured]
    constants: State

    def credits(self) -> Iterator[tuple[str, str | None, float]]:
        """Each pull: its arm in the scope, what its context is made of, and its reward."""
        # Learned once more with the vectors of that time, so that every pull goes to the arm which it went to
        # then: whom the next member's proposals evict hangs on the means of that moment.
        arms = arms_of(self.before, self.constants)
        for member in self.members:
            names = folded(arms, member.summary, self.constants)
            for (arm_id, _, reward, _), text in pulls_of(member):
                if arm_id in names:
                    yield names[arm_id], text, reward


def pulls_of(member: Measured) -> Iterator[tuple[Sequence[Any], str | None]]:
    """A member's pulls, each with what its context is made of, if that was said."""
    # Not strict: logs of earlier builds do not say what contexts are made of, and
    # then none is known.
    return zip(member.summary.get("pulls", ()), member.texts or repeat(None), strict=False)


def measured_anew(member: Measured, vector_of: VectorOf) -> Measured:
    """A member with its vectors by another embedder; what has none any more is left out."""
    proposals = [
        {**each, "vector": vector_of(each["text"])} for each in member.summary.get("proposals", ())
    ]
    pulls = [([arm, vector_of(text), *rest], text) for (arm, _, *rest), text in pulls_of(member)]
    kept = [(pull, text) for pull, text in pulls if pull[1]]
    summary: Mapping[str, Any] = {
        **member.summary,
        "proposals": [each for each in proposals if each["vector"]],
        "pulls": [pull for pull, _ in kept],
    }
    return replace(member, summary=summary, texts=tuple(text for _, text in kept if text))


def anew(
    state: State, history: Iterable[Folded], constants: State, vector_of: VectorOf
) -> dict[str, Any]:
    """The arms with vectors by another embedder, each regressed on its own pulls again, in order."""
    if "arms" not in state:
        return dict(state)
    # The old regression goes: it is a sum over the old vectors, from which nothing
    # can be taken back.
    arms = {
        arm.id: replace(
            arm,
            vector=vector_of(arm.text) if arm.vector else None,
            rows=(),
            inverse=None,
            b=None,
        )
        for arm in arms_of(state, constants)
    }
    for batch in history:
        for arm_id, text, reward in batch.credits():
            context = vector_of(text)
            if context is not None and arm_id in arms:
                arms[arm_id] = regressed(arms[arm_id], context, reward, constants)
    return {"arms": [written(arm) for arm in arms.values()]}
