"""Side runs of a recipe: a run that goes on with another's episodes, and audits of what searches pruned.

They are made when all other episodes are closed. What is on the log already costs nothing; none is on the record of
an episode, and none is an episode of its own in any figure but the one that asks for it.
"""

# `run_asides` comes after the worker, because a side run forks an episode that has ended.
# `complete` comes after the log is read, and changes nothing on it. Both may be interrupted: a side
# run is named by what it changes, so the same one is never made twice.

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
from msgspec import structs

from handlers.policies.baselines.trusted import SPARE
from handlers.policies.cot2_meta import COT2_META
from handlers.policies.cot2_meta.diagnose import oracle_gap
from handlers.policies.cot2_meta.settings import Cot2Settings
from handlers.policies.cot2_meta.trace import tree_of
from schemas.events.episode import EpisodeClosed, EpisodeOpened
from schemas.identity import address_order, is_numbered
from schemas.problem import Limits
from schemas.settings import BadSetting, PolicySettings
from streams.engine.policies import find
from streams.replay.change import Change
from streams.replay.fork import forked_work, run_fork
from streams.research.analysis.cases import Case
from streams.research.analysis.mechanisms import LOST
from streams.research.analysis.shadow import audit
from streams.research.analysis.trees import failed_as, rivals, under
from streams.research.bench.recipe import Recipe, Runs
from streams.research.bench.results import Episode, Results
from streams.runtime.embedded.records import learned

if TYPE_CHECKING:
    from streams.answering.world import World
    from streams.runtime.embedded.log import SqliteLog

PURPOSE = "beside"
AT_ONCE = 8


def has_asides(recipe: Recipe) -> bool:
    """Whether the recipe asks for side runs at all."""
    return any(run.beside is not None or run.audit for run in recipe.runs.values())


async def run_asides(log: SqliteLog, recipe: Recipe, results: Results, world: World) -> int:
    """Make what is not on the log yet; how many side runs there are."""
    room, learner = asyncio.Semaphore(AT_ONCE), learned(log, find)

    async def one(case: Case, run: Runs) -> None:
        async with room:
            change = _going_on(log, case, run)
            work, record = forked_work(log, find, case.episode, change, world, learner)
            await run_fork(log, work, change, record, world)

    beside = [
        one(each.case, run)
        for run in recipe.runs.values()
        for (name, _), group in results.groups.items()
        for each in group
        # Nobody is sure of an answer that was withheld, so there is nothing to ask.
        if name == run.beside and each.case.closed.answer is not None
    ]
    await asyncio.gather(*beside)
    pruned = [
        each.case
        for (name, _), group in results.groups.items()
        if recipe.runs[name].audit
        for each in group
    ]
    return len(beside) + len(await audit(log, pruned, world))


def _going_on(log: SqliteLog, case: Case, run: Runs) -> Change:
    """One side run: the episode's own record to its end, then what the run's policy does there."""
    granted = case.opened.limits.calls
    last = max(filter(is_numbered, log.journal(case.episode)), key=address_order)
    return Change(
        at=last,
        settings=_put(case, run),
        policy=run.policy,
        limits=Limits() if granted is None else Limits(calls=granted + SPARE),
        purpose=PURPOSE,
    )


def _put(case: Case, run: Runs) -> dict[str, Any]:
    """The settings that a side run is given: the episode's own, and over them the run's."""
    own: dict[str, int] = {}
    if case.opened.policy == COT2_META.name:
        # A search of ours takes what is left as its own. Under the side run's limit it would take more
        # than it had, and go another way before it comes to its end: so it is told what it had.
        settings = Cot2Settings.resolve(case.problem.profile, case.problem.settings)
        most = (settings.primary_calls, case.opened.limits.calls, 1 << 20)
        own = {"primary_calls": min(x for x in most if x is not None)}
    return {**case.problem.settings, **run.settings, **own}


# ── Reading ──────────────────────────────────────────────────────────────────────────────────


def complete(results: Results, recipe: Recipe, text: Callable[[str], str | None]) -> None:
    """Add what side runs tell: the groups of runs that are beside others, and what searches failed by.

    ``text`` gives an episode's settings by their digest.
    """
    results.beside = frozenset(n for n, run in recipe.runs.items() if run.beside is not None)
    forks: dict[str, list[tuple[EpisodeOpened, EpisodeClosed]]] = {}
    for journal in results.reading.journals.values():
        opened, closed = journal.get("opened"), journal.get("closed")
        if not isinstance(opened, EpisodeOpened) or not isinstance(closed, EpisodeClosed):
            continue
        if opened.purpose == PURPOSE and opened.parent is not None:
            forks.setdefault(opened.parent, []).append((opened, closed))
    for name in results.beside:
        run = recipe.runs[name]
        for (other, data), group in [*results.groups.items()]:
            if other == run.beside:
                told = [_said(one, run, forks.get(one.case.episode, ()), text) for one in group]
                results.groups[name, data] = told
    # Baselines are all other runs of the recipe, so
    # every group must be there before one is classed.
    others = rivals(each.case for group in results.groups.values() for each in group)
    for (name, data), group in results.groups.items():
        if recipe.runs[name].audit:
            results.groups[name, data] = [
                replace(each, case=_classed(each.case, others, results)) for each in group
            ]


def _said(
    one: Episode,
    run: Runs,
    forks: Sequence[tuple[EpisodeOpened, EpisodeClosed]],
    text: Callable[[str], str | None],
) -> Episode:
    """The episode with the confidence of its side run; without one the confidence is unknown."""
    confidence: float | None = None
    for opened, closed in forks:
        # Several runs may ask the same episode, each in a way of its own; of equal ones the newest
        # counts. What a run leaves at its default has to be at its default there.
        put = text(opened.settings)
        if opened.policy == run.policy and put and _alike(run, orjson.loads(put), one):
            confidence = closed.confidence
    closed = structs.replace(one.case.closed, confidence=confidence)
    # A calibrated chance was fitted to another confidence, and says nothing of this one.
    return replace(one, case=replace(one.case, closed=closed, calibrated=None))


def _alike(run: Runs, put: Mapping[str, Any], one: Episode) -> bool:
    """Whether a side run of an episode was put as a run puts it."""
    settings, profile = find(run.policy).settings, one.case.problem.profile
    try:
        # A log of an earlier build names fewer settings: the others are at their defaults there.
        told: list[PolicySettings] = [
            settings.resolve(profile, each) for each in (put, _put(one.case, run))
        ]
        return told[0] == told[1]
    except BadSetting:
        return False


def _classed(case: Case, others: Mapping[tuple[str, int | None], bool], results: Results) -> Case:
    """With what its shadow runs say of what it pruned, and of a wrong one what it failed by."""
    tree, shadows = tree_of(case.trace), results.reading.shadows(case.episode)
    if shadows:
        relaxed = tree_of(shadows[0].trace)
        spared = tuple(under(case, shadow) for shadow in shadows)
        most = Cot2Settings.resolve(case.problem.profile, case.problem.settings).audit_leaves
        apart = oracle_gap([(tree, relaxed)], [case.judged], most)
        case = replace(case, spared=spared, gap=apart)
    if case.outcome not in LOST:
        return case
    found = failed_as(case, tree, others, lambda _: shadows)
    return replace(case, failed_as=found)
