"""Shadow runs: at each prune the episode again, from there on with nothing pruned and calls of its own.

Source: CoT2-Meta § H.2 (pruning audit); design/cot2_meta.md D11.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from handlers.policies.cot2_meta.settings import Cot2Settings
from schemas.events.search import NodePruned
from schemas.problem import Limits
from streams.core.grants import NO_GRANT
from streams.engine.learner import Learner
from streams.engine.policies import find
from streams.replay.change import Change, as_chosen
from streams.replay.fork import Forked, forked_work, run_fork
from streams.runtime.embedded.records import learned

if TYPE_CHECKING:
    from streams.answering.world import World
    from streams.research.analysis.cases import Case
    from streams.runtime.embedded.log import SqliteLog


AT_ONCE = 8


async def shadow(
    log: SqliteLog, case: Case, at: str, node: str, world: World, learner: Learner | None = None
) -> Forked:
    """The shadow run of one prune. The prefix is recorded; only what is new is spent."""
    settings = Cot2Settings.resolve(case.problem.profile, case.problem.settings)
    granted = case.opened.limits.calls
    # A search without a limit takes `primary_calls` as its own; one with neither gets a bound that
    # no run comes near, because a shadow run that never ends would say nothing.
    own = min(x for x in (settings.primary_calls, granted, 1 << 20) if x is not None)
    values = {"shadow_from": node, "primary_calls": own} | as_chosen(world, case.problem.settings)
    # Twice: what the episode had spent up to the prune
    # is on its record, and counts against the limit.
    limits = Limits(calls=2 * own + settings.fallback_samples)
    change = Change(at=at, settings=values, limits=limits)
    work, record = forked_work(log, find, case.episode, change, world, learner, NO_GRANT)
    return await run_fork(log, work, change, record, world)


async def audit(log: SqliteLog, cases: list[Case], world: World) -> list[Forked]:
    """A shadow run for every prune of these episodes; those on the log already cost nothing."""
    # An episode may have dozens of prunes, and a server does not take all of them at once.
    room, learner = asyncio.Semaphore(AT_ONCE), learned(log, find)

    async def one(case: Case, at: str, node: str) -> Forked:
        async with room:
            return await shadow(log, case, at, node, world, learner)

    pruned = [
        one(case, at, event.node)
        for case in cases
        for at, event in case.trace.events
        if isinstance(event, NodePruned)
    ]
    return list(await asyncio.gather(*pruned))
