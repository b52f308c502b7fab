"""What a batch teaches: which candidates were right, and lessons from first answers that were put right."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from msgspec import structs

from handlers.learning.cascade import KNOWN
from handlers.policies.base import Batch, Member, type_of
from handlers.policies.cascade.settings import CascadeSettings
from handlers.policies.mc2.distil import distil
from handlers.policies.mc2.reflect import Excerpts, Mc2Reflection, Ratings, Trajectories
from handlers.policies.mc2.settings import Mc2Settings
from schemas.asking import Steps
from schemas.events.cascade import CandidatesGraded
from schemas.outcome import Outcome
from schemas.questions import Check

CONFIRMED: Final = 0.8
"""From this chance on an answer that an independent opinion confirmed stands for a label."""


def learn(batch: Batch, settings: CascadeSettings) -> Steps[None]:
    """Grade each member's candidates, then distil lessons from those whose first answer was put right."""
    mended: list[Member] = []
    for member in batch.members:
        graded = yield from grade(member, settings)
        if graded is None:
            continue
        yield graded
        put_right = as_mended(member, graded)
        if put_right is not None:
            mended.append(put_right)
    if mended and settings.lessons == "on":
        yield from distil(replace(batch, members=tuple(mended)), Mc2Settings(roles="R"))


def grade(member: Member, settings: CascadeSettings) -> Steps[CandidatesGraded | None]:
    """Which candidates are right, by the label, else by agreement; none where nobody can tell."""
    left = member.reflected.summary
    candidates: list[str] = left.get("candidates", [])
    if not candidates:
        return None
    # All candidates are graded and not only the given one: what an arm changed shows in how the
    # leading answer before it would have done.
    final: int | None = left["stages"][-1]["leads"]
    outcomes: list[Outcome] = []
    for at, answer in enumerate(candidates):
        outcomes.append((yield from _outcome(member, at == final, answer)))
    if any(outcome in KNOWN for outcome in outcomes):
        return CandidatesGraded(
            episode=member.episode, subject=member.subject, by="label", outcomes=tuple(outcomes)
        )
    # Chains that agree are no witnesses for each other: they are one model's habit, right or wrong.
    confirmed = left["independent"] and left["chance"] >= CONFIRMED
    if settings.unlabelled == "nothing" or not confirmed:
        return None
    agreed: list[Outcome] = ["right" if at == final else "wrong" for at in range(len(candidates))]
    return CandidatesGraded(
        episode=member.episode, subject=member.subject, by="agreement", outcomes=tuple(agreed)
    )


def _outcome(member: Member, is_given: bool, answer: str) -> Steps[Outcome]:
    """The outcome of one candidate: of the answer that was given it is known, of others a grader is asked."""
    left = member.reflected
    if is_given and member.outcome in KNOWN:
        return "right" if KNOWN[member.outcome] else "wrong"
    if not left.labelled and member.outcome not in KNOWN:
        return "unknown"
    domain = left.dataset or left.domain
    return (yield from Check(domain, left.problem, answer, member.subject, type_of(left)))


def as_mended(member: Member, graded: CandidatesGraded) -> Member | None:
    """The member as MC²'s distiller sees a restart that helped; none where the first answer was not put right."""
    left = member.reflected.summary
    first: int | None = left["stages"][0]["leads"]
    last: int | None = left["stages"][-1]["leads"]
    if first is None or last is None or first == last:
        return None
    if (graded.outcomes[first], graded.outcomes[last]) != ("wrong", "right"):
        return None
    # A lesson is made of two attempts side by side, as after a restart in MC²,
    # whose distiller this is.
    attempts: list[str] = left["attempts"]
    if not attempts[first] or not attempts[last]:
        return None
    reflection = Mc2Reflection(
        ended_by="accepted",
        rounds=2,
        flags=(),
        actions=(),
        grade="B",
        ratings=Ratings(reasoner="good", monitor="ok", controller="ok"),
        tags=(),
        polarity="both",
        trajectories=Trajectories(),
        excerpts=Excerpts(trajectory=attempts[last]),
        rejected=Excerpts(trajectory=attempts[first]),
    )
    mended = structs.replace(member.reflected, summary=reflection.model_dump())
    return replace(member, reflected=mended)
