"""Forks: a recorded prefix at no cost, then another way, of which only what is new is paid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from msgspec import structs

from handlers.policies.base import Policy
from schemas.asking import Diverged, Exhausted
from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.identity import probe_id, text_digest
from schemas.problem import Problem
from schemas.settings import BACKBONE, PolicySettings
from schemas.usage import Usage
from state.folds.versions import pinned
from streams.answering.world import World
from streams.core.closing import close
from streams.core.drive import replayed
from streams.core.grants import Grant
from streams.core.totals import EpisodeTotals
from streams.engine.episode import Work, conclude, settings_of
from streams.engine.learner import Learner
from streams.engine.policies import Find, NoPolicy, find_recorded
from streams.engine.running import record_opening
from streams.engine.scopes import settings_text
from streams.replay.change import Change, Reusing, lacking
from streams.replay.differ import paid
from streams.replay.verify import before, numbered
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.records import learned
from streams.runtime.embedded.sides import alone_on, beside


class CannotFork(ValueError):
    """The episode or address cannot be forked; the message says why, and ``field`` what of the change is at fault."""

    def __init__(self, what: str, field: Literal["episode", "at", "policy"]) -> None:
        super().__init__(what)
        self.field = field


@dataclass(frozen=True, slots=True)
class Forked:
    """A fork's end: how many calls it kept before its place, reused after it, and made itself."""

    episode: str
    closed: EpisodeClosed
    kept: int
    spent: Usage
    """What it paid for itself."""

    @property
    def made(self) -> int:
        """Calls that it paid for itself."""
        return self.spent.calls

    @property
    def reused(self) -> int:
        """Replies of its parent that still hold behind its place."""
        return self.closed.usage.calls - self.made


def forked_work(
    log: SqliteLog,
    find: Find,
    parent: str,
    change: Change,
    world: World,
    learner: Learner | None = None,
    grant: Grant | None = None,
) -> tuple[Work, dict[str, Event]]:
    """The fork's work and the parent's record. Raises ``CannotFork``. ``grant`` stands for the world's own.

    ``learner`` is what the log taught; who makes many forks of it reads that once.
    """
    journal = log.journal(parent)
    admitted, was = _parent(parent, journal, change)
    policy, problem, settings = going_on(find, admitted.problem, was, change)
    policy = policy.under(settings)
    limits = change.limits.over(was.limits)
    terms = world.terms(settings.backbone)
    grant = grant or terms.grant
    said: dict[str, Any] = {
        "parent": parent,
        "at": change.at,
        "purpose": change.purpose,
        "policy": policy.name,
        "policy_version": policy.version,
        "limits": limits,
        "prices": grant.prices_of(limits),
        "price_list": grant.price_list,
        "without": change.without or None,
        "settings": text_digest(settings_text(settings)),
        "backbones": terms.backbones,
    }
    if policy.name != was.policy:  # it knows nothing of what the parent's policy learned
        said |= {"memory_version": 0, "memory_revision": None}
    opened = structs.replace(was, **said)
    memories = (learner or learned(log, find)).memory(admitted.scope).versions
    memory = pinned(memories, opened.memory_version, opened.memory_revision)
    # Named by all that is changed: the same fork again is the same episode, and is paid for once.
    changed = log.keyed(parent, change.said(terms.backbones))
    episode = probe_id(parent, change.at, change.purpose, changed)
    prefix = before(journal, change.at) | numbered(log.journal(episode))
    admitted = structs.replace(admitted, problem=problem)
    memory = lacking(memory, change.without)
    return Work(episode, admitted, opened, policy, settings, memory, prefix), journal


def going_on(
    find: Find, problem: Problem, was: EpisodeOpened, change: Change
) -> tuple[Policy[Any], Problem, PolicySettings]:
    """The policy of a fork, the problem as it is put to it, and its settings, resolved. Raises ``CannotFork``."""
    policy: Policy[Any]
    try:
        if change.policy is not None:
            policy = find(change.policy)
        else:
            policy = find_recorded(find, was.policy, was.policy_version)
    except NoPolicy as error:
        raise CannotFork(str(error), "policy") from error
    # Settings of one policy mean nothing to another: only the parent's own go on with it.
    kept = problem.settings if policy.name == was.policy else {}
    # Who answers is said of each fork anew: as a rule by another backbone than its parent's.
    kept = {name: value for name, value in kept.items() if name != BACKBONE}
    problem = problem.model_copy(update={"settings": {**kept, **change.settings}})
    return policy, problem, settings_of(policy, problem)


def _parent(
    parent: str, journal: dict[str, Event], change: Change
) -> tuple[ProblemAdmitted, EpisodeOpened]:
    """Return the episode that is forked. Raises ``CannotFork`` where that is impossible."""
    admitted, opened = journal.get("admitted"), journal.get("opened")
    if not isinstance(admitted, ProblemAdmitted) or not isinstance(opened, EpisodeOpened):
        raise CannotFork(f"{parent} was never opened as a problem's episode", "episode")
    if opened.within is not None:
        what = f"{parent} was worked on in the set {opened.within}; sets are not forked"
        raise CannotFork(what, "episode")
    # Only what a policy yielded can be gone another way from; the opening and closing are the
    # driver's.
    if change.at not in numbered(journal):
        raise CannotFork(f"{parent} has no record at {change.at}", "at")
    if change.edit is not None and not isinstance(journal[change.at], Completed):
        raise CannotFork(f"{parent} has no reply at {change.at} that could be edited", "at")
    return admitted, opened


def silent(said: str) -> None:
    """Nobody listens."""


def check_prefix(work: Work) -> None:
    """Raises ``CannotFork`` where what is changed would not have led to the fork's place."""
    try:
        replayed(conclude(work, work.run(None, None)))
    except Exhausted:
        return
    except Diverged as error:
        what = f"it would go another way at {error.address} already; fork there, or before"
        raise CannotFork(what, "at") from error


async def run_fork(
    log: SqliteLog,
    work: Work,
    change: Change,
    parent: dict[str, Event],
    world: World,
    told: Callable[[str], None] = silent,
) -> Forked:
    """Run a fork to its end under a claim of its own; no relay sees it. Raises ``CannotFork``.

    A prefix that the changed policy or settings do not repeat cannot be kept. ``told`` hears where it
    waits for another process that makes the same fork.
    """
    # What was kept is no cost of the fork, and no part of its own record.
    prefix = before(parent, change.at)
    kept = sum(isinstance(event, Completed) for event in prefix.values())
    async with alone_on(log, work.episode, world, told):
        # Looked up only once nobody else works on it: another process may have ended it meanwhile.
        known = log.find(work.episode, "closed")
        if isinstance(known, EpisodeClosed):
            return Forked(work.episode, known, kept, paid(log.journal(work.episode)))
        work.journal.update(numbered(log.journal(work.episode)))
        check_prefix(work)
        opened = parent["opened"]
        assert isinstance(opened, EpisodeOpened)
        answering = Reusing(world, change, opened, work.opened, numbered(parent))
        with beside(log, "fork", work.episode) as writer:
            record_opening(writer, work)
            run = replace(work.run(writer, None), world=answering)
            conclusion, seconds = await conclude(work, run)
            # Its parent's records are not written a second time: an episode's record is what it did
            # itself.
            own = {
                address: event for address, event in work.journal.items() if address not in prefix
            }
            closed = close(EpisodeTotals.of(own), conclusion, seconds)
            writer.state("events", work.episode, "closed", closed)
            await writer.commit()
        ended = log.find(work.episode, "closed")
        assert isinstance(ended, EpisodeClosed)
    return Forked(work.episode, ended, kept, paid(own))
