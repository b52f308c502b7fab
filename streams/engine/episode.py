"""Running one episode under a log: it is opened or resumed, driven, and concluded. Every runtime uses these functions.

``prepare`` gathers everything that the behaviour of a policy depends on, for a fresh episode or from its
record. It is the gate of every replay: where policy, prompts, settings or memory are not those of the
opening, it raises before anything runs, since a replay under others would look like a forged record.
``conclude`` drives the policy and separates two kinds of errors: a defect of the policy is an outcome of the
problem (``failed``), and nothing in ``NOT_AN_OUTCOME`` ever is. What an episode leaves when it ends is
derived in ``streams.core.closing``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import orjson

from handlers.learning.calibrate import calibrated
from handlers.limits import Ledger
from handlers.policies.base import Conclusion, Policy, Task
from schemas.asking import Diverged, OutOfLimit, ReplayError, Steps
from schemas.events.base import Event
from schemas.events.episode import EpisodeOpened, ProblemAdmitted, ReviewAsked
from schemas.identity import (
    ASKED,
    canonical,
    episode_seed,
    is_numbered,
    text_digest,
    without_prompts,
)
from schemas.memory import Memory
from schemas.problem import Problem, Profile
from schemas.settings import PROMPTS, PolicySettings
from state.folds.versions import latest, pinned
from state.journal import Fenced, Recorder
from streams.core.backbone import BackboneError, Stuck
from streams.core.closing import Closing, closing
from streams.core.defects import describe
from streams.core.drive import Paused, Run, World, drive, replayed
from streams.core.grants import NO_GRANT, NOBODY, Grant, Terms
from streams.core.seeds import is_chosen
from streams.core.totals import EpisodeTotals
from streams.core.unkept import Unkept, refused_by, room_by, unkept_of
from streams.engine.scopes import settings_text

NOT_AN_OUTCOME = (BackboneError, Paused, Fenced, ReplayError)
"""What leaves an episode open: none of these says anything about the problem."""


class PolicyChanged(ReplayError):
    """The policy@version that an open episode was begun with is not installed."""


@dataclass(frozen=True, slots=True)
class Work:
    """An episode with everything that its policy's behaviour hangs on."""

    episode: str
    admitted: ProblemAdmitted
    opened: EpisodeOpened
    policy: Policy[Any]
    settings: PolicySettings
    memory: Memory
    journal: dict[str, Event]
    embedder: str | None = None
    """The embedder that made the vectors of its scope's newest memory version."""
    unkept: Unkept | None = None
    """The record that was too large for its log, according to its closing."""
    put: dict[str, ReviewAsked] = field(default_factory=dict[str, ReviewAsked])
    """Questions that were put to people before, by address."""

    @property
    def settings_text(self) -> str:
        """The resolved settings as the text that is kept once per log."""
        return resolved(self.policy, self.admitted.problem).text

    @property
    def task(self) -> Task:
        """The task that the policy is given."""
        problem = self.admitted.problem
        return Task(
            *(problem.id, problem.problem, problem.domain),
            *(self.opened.seed, self.memory.number, problem.statement),
            answer_type=problem.answer_type,
        )

    def run(self, recorder: Recorder | None, world: World | None, topic: str = "events") -> Run:
        """The run of this episode; closed without a world."""
        return Run(
            *(self.episode, self.journal, self.opened.seed, self.memory),
            *(topic, recorder, world, self.embedder),
            seeded=is_chosen(self.admitted.problem, self.opened),
            in_text=self.admitted.problem.profile == "paper",
            refused=refused_by(self.unkept),
            put=dict(self.put),
            backbone=self.settings.backbone,
        )

    def closing(
        self,
        conclusion: Conclusion,
        seconds: float,
        tally: EpisodeTotals | None = None,
        room: int | None = None,
    ) -> Closing:
        """Everything that this end of it leaves. ``room`` is what its log takes, while it is not closed yet."""
        # Once it is closed, its closing tells what its log took, if its end was too large for that.
        return closing(
            *(self.policy, self.settings, self.episode, self.admitted, self.opened, self.journal),
            *(conclusion, seconds, tally, room_by(self.unkept) if room is None else room),
        )


@dataclass(frozen=True, slots=True)
class Resolved:
    """A policy's settings as values, as the text that is kept once per log, and that text's digest."""

    settings: PolicySettings
    text: str
    digest: str


# A stream has thousands of problems under the same few settings, and to validate these takes
# longer than all else that opens an episode. The values come as canonical bytes, since a
# mapping is no key.
@lru_cache(maxsize=256)
def _resolved(model: type[PolicySettings], profile: Profile, values: bytes) -> Resolved:
    settings = model.resolve(profile, orjson.loads(values))
    text = settings_text(settings)
    return Resolved(settings, text, text_digest(text))


def resolved(policy: Policy[Any], problem: Problem) -> Resolved:
    """The problem's settings, resolved. Raises ``BadSetting``."""
    model: type[PolicySettings] = policy.settings
    found = _resolved(model, problem.profile, canonical(problem.settings))
    if found.settings.prompts:
        # Not at the top: it imports every policy and role, which few runs need.
        from streams.engine.prompts.catalogue import need_known

        need_known(policy, found.settings)
    return found


def settings_of(policy: Policy[Any], problem: Problem) -> PolicySettings:
    """The problem's settings, resolved. Raises ``BadSetting``."""
    return resolved(policy, problem).settings


def seed_for(problem: Problem) -> int:
    """The seed of a problem's episode."""
    return episode_seed(problem.seed, problem.walk, problem.domain, problem.id)


def opening(
    policy: Policy[Any],
    settings: str,
    problem: Problem,
    memory: Memory,
    backbones: str,
    grant: Grant = NO_GRANT,
) -> EpisodeOpened:
    """The event that opens a problem's episode; ``settings`` is the digest of the resolved ones."""
    limits = grant.limits_of(problem)
    return EpisodeOpened(
        policy=policy.name,
        policy_version=policy.version,
        settings=settings,
        limits=limits,
        seed=seed_for(problem),
        memory_version=memory.number,
        memory_revision=memory.revision or None,
        backbones=backbones,
        prices=grant.prices_of(limits),
        price_list=grant.price_list,
    )


def prepare(
    episode: str,
    admitted: ProblemAdmitted,
    journal: Mapping[str, Event],
    policy: Policy[Any],
    memories: Mapping[int, Memory],
    terms: Terms = NOBODY,
) -> Work:
    """Work on an episode, fresh or from its record. Raises ``PolicyChanged`` where neither is possible.

    Raises ``Diverged`` where its record names other prompts than its problem, and ``SetupBroken`` where a
    fresh one's cost is limited and a model has no price.
    """
    found = resolved(policy, admitted.problem)
    opened = journal.get("opened")
    if isinstance(opened, EpisodeOpened):
        policy = policy.as_begun(opened.policy_version)
    policy = policy.under(found.settings)
    if not isinstance(opened, EpisodeOpened):
        # Who reads no memory pins none, whatever was learned by the time that it was opened: its
        # record must not depend on when that was.
        newest = latest(memories) if policy.reads(found.settings) else memories[0]
        terms.grant.check(admitted.problem)
        who = terms.backbones, terms.grant
        opened = opening(policy, found.digest, admitted.problem, newest, *who)
    then, now = opened.policy_version, policy.version
    if (opened.policy, then) != (policy.name, now):
        # The very same code, begun under other prompts than its problem says: record and problem
        # contradict each other. Another version of the code is merely not here, and proves nothing.
        if opened.policy == policy.name and without_prompts(then) == without_prompts(now):
            raise Diverged(episode, "opened", PROMPTS, then, now)
        raise PolicyChanged(f"opened with {opened.policy}@{then}; installed is {policy.reference}")
    if opened.settings != found.digest:
        raise PolicyChanged(f"the defaults of {policy.reference} have changed")
    numbered = {address: event for address, event in journal.items() if is_numbered(address)}
    memory = pinned(memories, opened.memory_version, opened.memory_revision)
    embedder = latest(memories).embedder
    unkept = unkept_of(journal.get("closed"))
    return Work(
        *(episode, admitted, opened, policy, found.settings, memory, numbered, embedder, unkept),
        put=put_to_people(journal),
    )


def put_to_people(journal: Mapping[str, Event]) -> dict[str, ReviewAsked]:
    """The questions that an episode put to people, by the address where each was asked."""
    return {
        address.removeprefix(ASKED): event
        for address, event in journal.items()
        if isinstance(event, ReviewAsked)
    }


async def conclude(work: Work, run: Run) -> tuple[Conclusion, float]:
    """Drive the policy to its end; its conclusion, and the seconds of its critical path.

    A defect of the policy is an outcome (``failed``); a broken set-up, a lost claim or a record that
    does not fit is not, and is raised.
    """

    def begun() -> Steps[Conclusion]:
        return work.policy.solve(work.task, work.settings)

    def again(alone: Run) -> object:
        fresh = Ledger.of(work.opened.limits, work.opened.prices)
        return concluded(replayed(drive(begun(), alone, fresh)))

    ledger = Ledger.of(work.opened.limits, work.opened.prices)
    try:
        found = await drive(begun(), run, ledger)
        conclusion = with_chance(work, concluded(found))
    except OutOfLimit as limit:
        conclusion = Conclusion(answer=None, ended_by="limit", limit=limit.which)
    except NOT_AN_OUTCOME:
        raise
    except Exception as error:
        defect = defect_of(error, run, work.run(None, None), again)
        conclusion = Conclusion(answer=None, ended_by=f"error: {describe(defect)}")
    return conclusion, round(ledger.spent_seconds, 6)


def concluded(found: object) -> Conclusion:
    """Return what a policy returned, if it is a conclusion. Raises ``TypeError`` otherwise."""
    if not isinstance(found, Conclusion):
        raise TypeError(f"a policy ends with a Conclusion; it returned {found!r:.80}")
    # ``status_of`` reads this text before any codec checks it.
    if not isinstance(found.ended_by, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a conclusion's ended_by is text; it was {found.ended_by!r:.80}")
    if found.confidence is not None and not 0 <= found.confidence <= 1:
        raise ValueError(f"a conclusion's confidence is in [0, 1]; it was {found.confidence!r:.80}")
    return found


def with_chance(work: Work, conclusion: Conclusion) -> Conclusion:
    """The conclusion with its chance of being right, by the labels of the pinned memory version."""
    if conclusion.confidence is None:
        return conclusion
    # From the pinned version and not from the newest: whoever derives the closing again later
    # has only that one.
    opened, problem = work.opened, work.admitted.problem
    policy, source = f"{opened.policy}@{opened.policy_version}", conclusion.confidence_source or ""
    key = (problem.domain, policy, opened.settings, opened.backbones, source)
    chance = calibrated(work.memory.labels, key, conclusion.confidence)
    return conclusion if chance is None else replace(conclusion, calibrated=chance)


def defect_of(error: Exception, run: Run, alone: Run, again: Callable[[Run], object]) -> Exception:
    """The defect that the record leads to: of several in parallel lanes, timing chose which struck first.

    ``alone`` is the same run without a world, and ``again`` goes through it to its end. Raises ``Stuck`` where
    that leads to no defect: then the error is no outcome, and nobody could verify it. Raises what the log would
    not take where that ended the run.
    """
    # A log that fails can raise anything, and would else be recorded as a defect of the policy.
    if run.unkept is not None:
        raise run.unkept from None
    # A replay is in order already. Live, the record is gone through once more, so that what the
    # closing says is what ``verify`` will find.
    if run.world is None:
        return error
    alone.refused = run.refused
    try:
        again(alone)
    except NOT_AN_OUTCOME:
        pass
    except Exception as recorded:
        return recorded
    raise Stuck(f"its record does not lead to {describe(error)}") from error
