"""Weighing: a problem is run with one drawn principle and with none; what differs moves the weights.

The run without one is the episode's own, which nothing guided: a pair costs one run more. With
``pairs: twins`` both sides are run here as twins: the same seed at the same place, so that they differ by
the guidance alone.

Source: trainable graph memory, Algorithm 2.
"""

from __future__ import annotations

from typing import TypeAlias

from handlers.learning.reinforce import drawn, softmax
from handlers.policies.base import Batch, Member
from handlers.policies.graph_memory.activate import Activation, activate
from handlers.policies.graph_memory.runs import earned, rewarded
from handlers.policies.graph_memory.settings import GraphSettings
from schemas.asking import All, Steps, Stopped
from schemas.events.graph import PairCompared, PairSkipped, Skipped
from schemas.identity import hash01, text_digest

# Only what was compared is stated, never a gradient: the fold takes it from the graph that the
# pair was drawn under. One principle is drawn by its share rather than the best one taken, for
# the gradient of a policy needs samples of it, and what is never drawn would keep the weight
# that it began with.

Rewards: TypeAlias = tuple[float | None, float | None]
"""With a principle, and without."""


def weigh(batch: Batch, member: Member, settings: GraphSettings) -> Steps[None]:
    """One pair, if anything is active; no call where nothing is, and a word on why. Source: lines 7 to 18."""
    found = yield from activate(member.reflected.problem, member.subject, settings)
    # By the setting that the member worked under, for a batch may be closed under a later one.
    lone = member.reflected.summary.get("lone", settings.lone)
    if not found.scores:
        yield skipped(member, "no_principle")
        return
    if len(found.scores) == 1 and lone == "skip":
        [only] = found.scores
        yield skipped(member, "lone_principle", only)
        return
    shares = softmax(found.scores)
    chosen = drawn(shares, hash01(batch.seed, member.episode, "pair"))
    yield from compare(batch, member, found, chosen, shares[chosen], settings)


def compare(
    batch: Batch,
    member: Member,
    found: Activation,
    chosen: str,
    share: float,
    settings: GraphSettings,
) -> Steps[None]:
    """Both sides, and what they came to; an unknown reward moves nothing."""
    text = found.texts[chosen]
    if settings.pairs == "own":
        rewards = yield from beside_own(batch, member, text, settings)
    else:
        rewards = yield from run_both(batch, member, text, settings)
    if rewards[0] is None or rewards[1] is None:
        yield skipped(member, "reward_unknown", chosen)
        return
    yield PairCompared(
        pair=f"{member.episode}/{chosen}",
        problem=text_digest(member.reflected.problem),
        active=tuple(found.similar.items()),
        principle=chosen,
        p=share,
        with_reward=rewards[0],
        without_reward=rewards[1],
        memory_version=batch.memory.number,
        subject=member.subject,
        out=found.out or None,
    )


def skipped(member: Member, reason: Skipped, principle: str | None = None) -> PairSkipped:
    """That a member moves no weight, so that nobody waits for weights that cannot move."""
    return PairSkipped(
        problem=text_digest(member.reflected.problem),
        reason=reason,
        principle=principle,
        subject=member.subject,
    )


def beside_own(batch: Batch, member: Member, text: str, settings: GraphSettings) -> Steps[Rewards]:
    """One run with the principle beside the episode's own; none where that one earned nobody knows what."""
    # Asked first: where the own run's reward is unknown no pair can come of it, and the
    # other run is saved.
    without = yield from earned(member, settings)
    if without is None:
        return None, None
    return (yield from rewarded(member, text, batch.seed, settings)), without


def run_both(batch: Batch, member: Member, text: str, settings: GraphSettings) -> Steps[Rewards]:
    """Two runs that share their luck, with the principle and without."""
    sides = yield from All(
        [rewarded(member, said, batch.seed, settings) for said in (text, "")], twins=True
    )
    guided, bare = (None if isinstance(side, Stopped) else side for side in sides)
    return guided, bare
