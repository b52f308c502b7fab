"""What a case leaves to learn from: a pure function of its record and its policy, as a relay's of an episode."""

from __future__ import annotations

from typing import Any

from handlers.policies.base import Policy
from schemas.events.codec import as_written
from schemas.events.learning import Reflected
from schemas.events.traces import TraceTaken
from schemas.identity import scope_id, text_digest
from schemas.problem import finite
from schemas.usage import Usage

STATUS = "answered"


class TakesNone(ValueError):
    """A policy that learns nothing from traces of other tools."""


def reflection_of(policy: Policy[Any], taken: TraceTaken) -> Reflected:
    """The reflection of a case, without its verdict. Nobody's calls and tokens are counted for it.

    Raises ``TakesNone``, or ``BadSetting`` where its settings are none of this policy.
    """
    takes = policy.takes
    if takes is None:
        raise TakesNone(f"{policy.name} learns nothing from traces of other tools")
    # By the settings of its record alone, as a replay has nothing else.
    settings = policy.settings.resolve(taken.profile, taken.settings)
    policy = policy.under(settings)
    return as_written(
        Reflected(
            scope=taken.scope,
            policy=policy.reference,
            problem_id=taken.problem_id,
            domain=taken.domain,
            problem=taken.problem,
            statement=taken.statement,
            answer_type=taken.answer_type,
            problem_digest=text_digest(taken.problem),
            dataset=taken.dataset,
            profile=taken.profile,
            learning=policy.settings.learning_values(taken.profile, taken.settings),
            series=taken.series,
            position=taken.position,
            labelled=taken.labelled,
            status="abstained" if taken.answer is None else STATUS,
            answer=taken.answer,
            # Its calls were paid elsewhere: nobody's figures here may count them.
            usage=Usage(),
            memory_version=0,
            summary=finite(takes(taken, settings)),
        )
    )


def scope_of(policy: Policy[Any], taken: TraceTaken, memory: str) -> str:
    """The scope that a case belongs to under a memory of this name."""
    values = policy.settings.learning_values(taken.profile, taken.settings)
    return scope_id(taken.domain, policy.name, memory, values)
