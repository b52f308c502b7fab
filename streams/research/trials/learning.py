"""Trial runs of what a policy leaves to learn from, and of its learning from a batch of it."""

from __future__ import annotations

from itertools import cycle
from typing import Any

from handlers.learning.measured import Measured
from handlers.learning.rules import learned_after
from handlers.limits import Ledger
from handlers.policies.base import Batch, Conclusion, Member, Policy
from schemas.asking import OutOfLimit, Steps
from schemas.events.base import Event
from schemas.events.episode import ProblemAdmitted
from schemas.events.learning import Reflected
from schemas.identity import learning_id, seed_of
from schemas.memory import Memory
from schemas.problem import Limits, Problem
from state.folds.memory import Learned, MemoryFold, next_memory
from streams.core.closing import closing
from streams.core.defects import describe
from streams.core.drive import Run
from streams.engine.episode import opening
from streams.engine.policies import NoPolicy
from streams.engine.scopes import constants_of, scope_made
from streams.research.trials.contract import alike, asks_as_declared, states_known_facts
from streams.research.trials.trial import Bounded, Broken, Case, Trial, settings_of, steered

SCOPE = "check"


def closes_batches(policy: Policy[Any], case: Case) -> None:
    """It can have a scope: its window, its learning rule and the rule's constants. Raises ``Broken``."""
    try:
        scope_made(policy, MemoryFold(SCOPE), case.profile, {})
    except NoPolicy as error:
        raise Broken(case, str(error)) from error


def reflection(policy: Policy[Any], trial: Trial) -> Reflected:
    """Return what a run leaves to learn from. Raises ``Broken``."""
    case, task = trial.case, trial.case.task()
    problem = Problem(id=task.id, problem=task.problem, domain=task.domain, profile=case.profile)
    admitted = ProblemAdmitted(problem=problem, scope=SCOPE, offset=1)
    settings = settings_of(policy, case)
    opened = opening(policy, "", problem, case.memory, "check")
    try:
        return closing(
            policy, settings, "check", admitted, opened, trial.journal, trial.conclusion, 0.0
        ).reflected
    except Exception as error:
        raise Broken(case, f"reflect: {type(error).__name__}: {error}") from error


async def learned_memory(policy: Policy[Any], trials: list[Trial]) -> Memory:
    """The memory after one batch of these runs. Raises ``Broken`` if two runs of it differ."""
    case = trials[0].case
    # Members of one scope share a profile; outcomes in turn, so that a learner meets each of them.
    alike_set = [trial for trial in trials if trial.case.profile == case.profile]
    outcomes = cycle(("right", "wrong", "unknown"))
    members = tuple(
        Member(f"p/default/check-{number}/1", reflection(policy, trial), next(outcomes))
        for number, trial in enumerate(alike_set)
    )
    batch = Batch(SCOPE, 1, members, Memory(SCOPE, 0), seed_of("check", "learn"))
    # Twice anew and once over its record: what is learned once is believed in every later episode.
    first = await _learned(policy, batch, case, {})
    alike(first, await _learned(policy, batch, case, {}), "in a second run of learn")
    alike(first, await _learned(policy, batch, case, first.journal), "in a replay of learn")
    states_known_facts(case, first.journal)
    asks_as_declared(policy, first)
    # Its learning rule must take what its episodes measured and its learner said.
    closes_batches(policy, case)
    facts = [first.journal[address] for address in first.addresses]
    measured = [Measured.of(each.episode, each.outcome, each.reflected) for each in members]
    constants = constants_of(policy, settings_of(policy, case))
    try:
        learned_after(policy.rule, {}, measured, constants, facts)
    except Exception as error:
        raise Broken(case, f"rule {policy.rule}: {describe(error)}") from error
    learned = Learned()
    for address, fact in zip(first.addresses, facts, strict=True):
        learned.feed(address, fact)
    return next_memory(batch.memory, learned, batch.number, 1)


async def _learned(
    policy: Policy[Any], batch: Batch, case: Case, journal: dict[str, Event]
) -> Trial:
    def begin() -> Steps[None]:
        return policy.learn(batch, settings_of(policy, case))

    episode = learning_id(SCOPE, batch.number)
    run = Run(episode, dict(journal), batch.seed, batch.memory, "learning", Bounded(), case.world())
    try:
        await steered(begin, case, run, Ledger.of(Limits()))
    except OutOfLimit as limit:
        raise Broken(case, f"learn met a limit of {limit.which} that nobody set") from limit
    return Trial(case, run.journal, Conclusion(answer=None, ended_by="learned"))
