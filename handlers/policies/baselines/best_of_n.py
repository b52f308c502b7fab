"""Best of n: several chains of thought (or answers alone), one of them picked.

Picked by a verifier (the confidence query about each chain), by the domain's checker on the record,
or by a majority vote, which some papers print under the same name.

Source: CoT2-Meta § B.5, § B.6 (Best-of-16); design/baselines.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from handlers.policies.base import Conclusion, Policy, Task, Trajectory
from handlers.policies.baselines.chain import CHAIN
from handlers.policies.baselines.direct import DIRECT
from handlers.policies.facts import by_vote, generated, voted
from handlers.policies.unread import Unread, taken
from handlers.roles import confidence
from handlers.roles.again import Meter
from handlers.roles.thinker import GENERATION
from schemas.asking import All, OutOfLimit, Steps
from schemas.events.search import ConfidenceStated
from schemas.questions import Check, Remain
from schemas.settings import Lanes, PolicySettings


class BestOfSettings(PolicySettings):
    """Settings of best of n."""

    caps: ClassVar[frozenset[str]] = frozenset({"reasoner", "confidence"})
    paper: ClassVar[Mapping[str, Any]] = {"unread": "zero"}

    samples: Lanes = 16
    """n; fewer where the episode's limit does not cover them."""
    pick: Literal["verifier", "checker", "vote"] = "verifier"
    """Who picks."""
    reasoning: bool = True
    """Whether each sample reasons; without, it is the answer alone, as ``io`` asks for it."""
    unread: Unread = "unknown"
    """What a confidence is that the verifier's reply does not tell: unknown, or 0."""


@dataclass(slots=True)
class Sample:
    """One chain: its answer, how far the verifier trusts it, and the limit that cut it short."""

    answer: str | None = None
    trust: float | None = None
    limit: str | None = None
    trajectory: Trajectory | None = None


def solve(task: Task, settings: BestOfSettings) -> Steps[Conclusion]:
    """n chains, sampled as all generation is, then the pick."""
    cost = 2 if settings.pick == "verifier" else 1
    count, spare = yield from affordable(settings.samples, cost)
    lanes = [_sample(task, draw, settings, int(draw < spare)) for draw in range(count)]
    # Fewer chains that are all judged, rather than all chains of which the last are not: an
    # allowance for each lane says so before any of them begins, and hangs on nobody's speed.
    allow = [cost + (draw < spare) for draw in range(count)]
    samples = yield from All(lanes, allow)
    chains = [each for each in samples if isinstance(each, Sample)]
    limit = next((chain.limit for chain in chains if chain.limit is not None), None)
    if settings.pick == "verifier":
        return _most_trusted(chains, limit)
    answers = [chain.answer for chain in chains]
    if settings.pick == "checker":
        # Equal answers are checked once. Where none is right, or the checker cannot
        # say, the vote picks.
        for given in dict.fromkeys(each for each in answers if each is not None):
            outcome = yield from Check(task.domain, task.problem, given)
            if outcome == "right":
                return Conclusion(answer=given, ended_by="checked", limit=limit)
    found = voted(answers, task.problem)
    yield found
    winning = (each.trajectory for each in chains if each.answer == found.answer)
    return replace(by_vote(found, limit), trajectory=next(winning, None))


def most_calls(settings: BestOfSettings) -> int:
    """Each chain, and where a verifier picks, what it says of it, asked again where it cannot be read."""
    return settings.samples * (3 if settings.pick == "verifier" else 1)


def affordable(samples: int, cost: int) -> Steps[tuple[int, int]]:
    """How many chains the calls left cover, and how many re-prompts of the verifier besides."""
    remaining = yield from Remain()
    if remaining.calls is None:
        return samples, samples if cost == 2 else 0
    count = max(1, min(samples, remaining.calls // cost))
    return count, max(0, min(count, remaining.calls - cost * count)) if cost == 2 else 0


def _sample(task: Task, draw: int, settings: BestOfSettings, spare: int) -> Steps[Sample]:
    sample = Sample()
    try:
        asked = CHAIN if settings.reasoning else DIRECT
        said = yield from asked.put({"problem": task.stated}, sampling=GENERATION, draw=draw)
        yield generated(said, draw)
        sample.answer, sample.trajectory = said.answer, Trajectory(said.source, said.text)
        if settings.pick == "verifier" and said.answer is not None:
            meter = Meter(spare=spare)
            heard = yield from confidence.trust(task.posed, said.text, meter)
            value = None if heard.value is None else float(heard.value)
            sample.trust = taken(value, settings.unread)
            yield ConfidenceStated(
                node=said.source, value=sample.trust, source=heard.source, parse=heard.parse
            )
    except OutOfLimit as limit:
        # Caught within the lane, for a chain that could not be judged any more still has an answer.
        sample.limit = limit.which
    return sample


def most_trusted(trusts: Sequence[float | None]) -> int | None:
    """The place of the highest score, ties first seen; none without any."""
    known = [(trust, -at) for at, trust in enumerate(trusts) if trust is not None]
    return -max(known)[1] if known else None


def _most_trusted(chains: Sequence[Sample], limit: str | None) -> Conclusion:
    at = most_trusted([chain.trust for chain in chains])
    # Without any score the first chain stands, and claims no confidence: chance picks
    # as well as it.
    if at is None:
        answer = next((chain.answer for chain in chains if chain.answer is not None), None)
        return Conclusion(answer=answer, ended_by="limit" if limit else "unscored", limit=limit)
    return Conclusion(
        answer=chains[at].answer,
        ended_by="limit" if limit else "picked",
        confidence=chains[at].trust,
        confidence_source="stated",
        limit=limit,
        trajectory=chains[at].trajectory,
    )


BEST_OF_N = Policy(
    name="best_of_n",
    version="2",
    about="sixteen chains of thought; a verifier, a checker or a vote picks one",
    settings=BestOfSettings,
    roles=("reasoner", "confidence"),
    solve=solve,
    most_calls=most_calls,
    confidence_source="stated",
)
