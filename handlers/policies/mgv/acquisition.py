"""Acquisition: a set of problems shares one limit until each member is mastered.

``acquire`` works on any set, each member a lane with its allowance and an answer of its own. The members
of a series' window are one set; a problem without a series is a set of one.

Source: MGV Algorithm 2, App. B.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from handlers.learning.beliefs import KNOWN
from handlers.policies.base import Conclusion, Task
from handlers.policies.mgv.allocate import Claim, allocate, equal_shares
from handlers.policies.mgv.attempt import Attempt, Context, assure, end_of, equal, execute, known
from handlers.policies.mgv.feel import diagnose, feel_ease, feel_knowing, stated
from handlers.policies.mgv.knowledge import Knowledge, Mind, kept_rounds, remember, remind
from handlers.policies.mgv.settings import AcquisitionSettings
from handlers.policies.mgv.signals import CLOSE, Felt, judgement_of_learning
from handlers.policies.mgv.strategies import Cognitive, affordable, ranked
from schemas.asking import All, OutOfLimit, Steps
from schemas.events.monitoring import (
    Allocated,
    ExperienceFelt,
    ExperienceKept,
    StrategyMatched,
    ThresholdsSet,
)
from schemas.questions import Remain

# A set is one episode with one limit, for what is shared out has to be known before anybody works:
# in episodes of their own members would take from it in the order in which they happen to run.
# Within a round members work in lanes and see nothing of each other; between rounds only their ease
# and their judgements move calls from one to another.

RETENTION = {"understanding": 0.1, "verbatim": 0.2}
AGREE = 3
"""From so many calls on a member's attempt is samples that may agree; below, one and its judgement."""


@dataclass(slots=True)
class Learner:
    """A member i_j: what it tried so far, and what it may still spend."""

    task: Task
    settings: AcquisitionSettings
    mind: Mind
    limit: int
    experience: Felt = field(default_factory=lambda: Felt(0.5, "feel"))
    made: list[Attempt] = field(default_factory=list[Attempt])
    rounds: list[int] = field(default_factory=list[int])
    """The round of each attempt: one in which a share is no call has none."""
    jol: float = 0.0
    best: tuple[float, Attempt] | None = None
    stopped: str | None = None
    failed: set[str] = field(default_factory=set[str])
    """Strategies that led to no answer."""


def norm_of_study(knowledge: Knowledge, settings: AcquisitionSettings) -> ThresholdsSet:
    """N_s = ρ* (1 + δ), stated. Source: Algorithm 2 line 2."""
    delta = retention(knowledge, settings)
    norm = settings.norm * (1 + delta)
    if settings.overlearning == "cap":
        norm = min(1.0, norm)
    origin: Literal["domain", "default"] = "domain" if _pairs(knowledge, settings) else "default"
    return ThresholdsSet(round=0, confidence=norm, factor=1 + delta, history=(origin,))


def retention(knowledge: Knowledge, settings: AcquisitionSettings) -> float:
    """δ: by how much mastery has to exceed what the test asks for; learned once labels allow it."""
    if settings.delay == 0:
        return 0.0
    pairs = _pairs(knowledge, settings)
    if not pairs:
        return RETENTION[settings.goal]
    right = sum(solved for _, solved in pairs)
    if not right:
        return settings.max_retention
    excess = sum(q for q, _ in pairs) / right - 1
    return min(settings.max_retention, max(0.0, excess))


def _pairs(knowledge: Knowledge, settings: AcquisitionSettings) -> list[tuple[float, bool]]:
    """Confidence then, outcome later; none while there are too few."""
    # How far confidence exceeded success is how much of what seemed mastered was lost by the test.
    known = [(case["confidence"], KNOWN[case["outcome"]]) for case in knowledge.labelled]
    pairs = [(q, solved) for q, solved in known if q is not None]
    return pairs if len(pairs) >= settings.min_labels else []


def solve(task: Task, settings: AcquisitionSettings) -> Steps[Conclusion]:
    """A set of one."""
    remaining = yield from Remain()
    (conclusion,) = yield from acquire([(task, remaining.calls)], settings)
    return conclusion


def acquire(
    members: Sequence[tuple[Task, int | None]], settings: AcquisitionSettings
) -> Steps[tuple[Conclusion, ...]]:
    """One answer for each member, none of which spends more than its own limit."""
    # One after another and outside of lanes: ``parts`` tells members apart by the order in which
    # cases come to mind for them.
    learners: list[Learner] = []
    for task, limit in members:
        mind = yield from remember(task, settings)
        own = settings.member_calls if limit is None else limit
        learners.append(Learner(task, settings, mind, own))
    threshold = norm_of_study(learners[0].mind.knowledge, settings)
    yield threshold
    unfinished = list(learners)
    for at in range(1, settings.max_rounds + 1):
        open_now = [each for each in unfinished if each.limit > 0 and each.stopped is None]
        if not open_now:
            break
        yield from study(learners, open_now, at, settings)
        unfinished = [e for e in unfinished if threshold.confidence - e.jol > CLOSE]
    if settings.consolidation == "end":
        for each in learners:
            yield kept(each, settings)
    return tuple(concluded(each, each not in unfinished, settings) for each in learners)


def study(
    learners: Sequence[Learner], open_now: Sequence[Learner], at: int, settings: AcquisitionSettings
) -> Steps[None]:
    """One round: MONITOR every open member, share out, work side by side, judge."""
    for each in open_now:
        yield from monitor(each, at)
    # The rounds that are left get equal parts, so that the first one cannot spend
    # what later ones need.
    left = settings.max_rounds - at + 1
    total = max(1, sum(each.limit for each in open_now) // left)
    shares = share_out(total, learners, open_now, settings)
    named = ((each.task.subject, calls) for each, calls in zip(open_now, shares, strict=True))
    yield Allocated(round=at, total=total, shares=tuple(named))
    lanes = [work(each, calls, at) for each, calls in zip(open_now, shares, strict=True)]
    yield from All(lanes, shares)


def share_out(
    total: int,
    learners: Sequence[Learner],
    open_now: Sequence[Learner],
    settings: AcquisitionSettings,
) -> list[int]:
    """r_j of the open members; with ``shares: all`` finished ones keep theirs unspent."""
    chosen = open_now if settings.shares == "open" else learners
    claims = [Claim(e.task.subject, e.experience.value, e.limit) for e in chosen]
    divide = allocate if settings.monitor == "on" else equal_shares
    granted = dict(zip((claim.name for claim in claims), divide(total, claims), strict=True))
    return [granted[each.task.subject] for each in open_now]


def monitor(each: Learner, at: int) -> Steps[None]:
    """ME_j[1]: EOL in the first round, then FOK given the last outcome (line 8)."""
    settings = each.settings
    if at == 1:
        each.experience = yield from feel_ease(each.mind, at)
        return
    last = each.made[-1].answer if each.made else None
    yield from remind(each.mind, at, f"{each.experience.value:.1f}\n{last}", settings.recall_k)
    knowing = yield from feel_knowing(each.mind, at, known(each.made))
    each.experience = Felt(knowing.p, "assess")


def work(each: Learner, calls: int, at: int) -> Steps[None]:
    """GENERATE and VERIFY one member within its allowance (lines 13 to 20)."""
    if calls < 1:
        return
    strategy = yield from choose(each, calls, at)
    samples = samples_of(calls, each.settings)
    drawn = sum(len(made.samples) for made in each.made)
    made = yield from execute(each.mind, strategy, Context(), round=at, draw=drawn, samples=samples)
    try:
        if made.agreement is not None or (made.samples and made.limit is None and calls > 1):
            yield from assure(each.mind, made, at)
    except OutOfLimit as limit:
        each.stopped = limit.which if limit.which != "calls" else None
    # Out of calls means out of this round's share; another limit is gone for good.
    each.limit -= made.calls
    if made.limit not in (None, "calls"):
        each.stopped = made.limit
    yield from judge(each, made, at, strategy)
    if each.settings.consolidation == "verify":
        yield kept(each, each.settings)


def samples_of(calls: int, settings: AcquisitionSettings) -> int:
    """How many samples so many calls are spent on; one, where the judgement costs a call of its own."""
    return 1 if calls < AGREE or settings.confidence == "verbal" else min(calls, settings.samples)


def choose(each: Learner, calls: int, at: int) -> Steps[Cognitive]:
    """σ_j: the best-rated strategy that its calls afford."""
    mind = each.mind
    felt = Felt(1 - each.experience.value, each.experience.source)
    diagnosis = diagnose(mind, felt)
    rates = ranked(diagnosis, each.task.domain, mind.knowledge.beliefs, each.failed)
    strategy = affordable(rates, calls) if mind.settings.monitor == "on" else "direct"
    yield StrategyMatched(
        level="cognitive",
        strategy=strategy,
        diagnosis=diagnosis,
        rates=rates,
        round=at,
        subject=each.task.subject,
    )
    return strategy


def judge(each: Learner, made: Attempt, at: int, strategy: str) -> Steps[None]:
    """JOL_j from the outcome, and how often it came before (lines 18 to 19)."""
    settings = each.settings
    confirms = settings.overlearning == "confirm"
    equals = sum(equal(made.answer, earlier.answer) for earlier in each.made) if confirms else 0
    each.made.append(made)
    each.rounds.append(at)
    each.jol = judgement_of_learning(made.q or 0.0, equals, settings.repeat_gain)
    if made.q is None:  # nothing is mastered on it, and nothing was stated
        yield ExperienceFelt(experience="JOL", source="feel", round=at, subject=each.task.subject)
    else:
        yield stated(each.mind, "JOL", at, each.jol, made.origin, confidence=made.q, equal=equals)
    if made.answer is None:
        each.failed.add(strategy)
    elif each.best is None or each.jol > each.best[0]:
        each.best = (each.jol, made)


def kept(each: Learner, settings: AcquisitionSettings) -> ExperienceKept:
    """Which rounds outlast the episode (line 24)."""
    rounds = kept_rounds(each.task, each.rounds, settings.keep)
    return ExperienceKept(rounds=rounds, of=len(each.rounds))


def concluded(each: Learner, mastered: bool, settings: AcquisitionSettings) -> Conclusion:
    """A member's own answer: that of the highest judgement, which is the last one where it is mastered."""
    best = None if each.best is None else each.best[1]
    if each.stopped is not None and settings.on_stop == "withhold":
        best = None
    ended = "mastered" if mastered else "limit" if each.stopped else "max_rounds"
    return end_of(best, ended, each.stopped)
