"""Self-consistency with a person behind it: where the vote settles nothing, he is asked, and the episode waits for him.

Source: design/architecture.md#the-one-idea (a person's word is an answer in the record, as a model's is).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.baselines import consistency
from handlers.policies.baselines.consistency import ConsistencySettings
from schemas.asking import Steps
from schemas.questions import Review, Reviewed

# The episode parks while it waits, which may take days: to the policy the person's word is one more
# answer, and after a restart it is asked for again without drawing a sample twice.


class ReviewedSettings(ConsistencySettings):
    """Settings of self-consistency with a person behind it."""

    ask_up_to: Annotated[float, Field(ge=0, le=1)] = 0.5
    """A person is asked where the winner has no greater share of all samples than this, or nothing could be read."""


def solve(task: Task, settings: ReviewedSettings) -> Steps[Conclusion]:
    """Vote; where that settles nothing, ask a person. Where there is nobody, or he cannot tell, the vote stands."""
    # A person's time is the dearest answer there is: he is asked only what samples did not settle.
    voted = yield from consistency.solve(task, settings)
    if not is_open(voted, settings):
        return voted
    heard = yield from Review(question(voted), voted.answer)
    return settled(voted, heard)


def is_open(voted: Conclusion, settings: ReviewedSettings) -> bool:
    """Whether a vote settled nothing."""
    return voted.answer is None or (voted.confidence or 0.0) <= settings.ask_up_to


def question(voted: Conclusion) -> str:
    """What the person is asked; the problem is shown to him with it."""
    if voted.answer is None:
        return "No sample came to an answer that can be read. What is the right answer?"
    share = f"{voted.confidence or 0.0:.0%} of the samples say so"
    return f"{share}, which settles nothing. Is that answer right? If it is not, which one is?"


def settled(voted: Conclusion, heard: Reviewed) -> Conclusion:
    """The end that a person's word leads to. Of an answer of his own the policy claims nothing: no confidence."""
    if heard.answer is not None:
        return Conclusion(answer=heard.answer, ended_by="reviewed")
    if heard.verdict is None:
        return voted
    if heard.verdict:
        # The limit cut the vote short, not what he said.
        return replace(voted, ended_by="reviewed", limit=None)
    return Conclusion(answer=None, ended_by="rejected")


REVIEWED = Policy(
    name="reviewed",
    version="1",
    about="self-consistency; where the vote settles nothing it asks a person, and waits for him",
    settings=ReviewedSettings,
    roles=("reasoner",),
    solve=solve,
    most_calls=lambda settings: settings.samples,
    confidence_source="vote_share",
)
