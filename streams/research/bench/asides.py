"""Side runs of a recipe: a run that goes on with another's episodes, and audits of what searches pruned.

They are made when all other episodes are closed. What is on the log already costs nothing; none is on the record of
an episode, and none is an episode of its own in any figure but the one that asks for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
from msgspec import structs

from handlers.policies.baselines.trusted import SPARE
from handlers.policies.cot2_meta import COT2_META
from handlers.policies.cot2_meta.diagnose import oracle_gap
from handlers.policies.cot2_meta.settings import Cot2Settings
from handlers.policies.cot2_meta.trace import tree_of
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened
from schemas.identity import address_order, is_numbered
from schemas.problem import Limits
from streams.engine.policies import find
from streams.replay.change import Change
from streams.replay.fork import forked_work, run_fork
from streams.research.analysis.cases import Case
from streams.research.analysis.mechanisms import LOST
from streams.research.analysis.shadow import audit
from streams.research.analysis.trees import failed_as, rivals, under
from streams.research.bench.recipe import Recipe, Runs
from streams.research.bench.results import Episode, Results

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
    room = asyncio.Semaphore(AT_ONCE)

    async def one(case: Case, run: Runs) -> None:
        async with room:
            await _go_on(log, case, run, world)

    beside = [one(case, run) for case, run in _wanted(recipe, results)]
    await asyncio.gather(*beside)
    pruned = [
        each.case
        for (name, _), group in results.groups.items()
        if recipe.runs[name].audit
        for each in group
    ]
    return len(beside) + len(await audit(log, pruned, world))


def _wanted(recipe: Recipe, results: Results) -> Iterator[tuple[Case, Runs]]:
    for run in recipe.runs.values():
        for (name, _), group in results.groups.items():
            if name == run.beside:
                yield from (
                    (each.case, run) for each in group if each.case.closed.answer is not None
                )


async def _go_on(log: SqliteLog, case: Case, run: Runs, world: World) -> None:
    """One side run: the episode's own record to its end, then what its policy does there."""
    granted = case.opened.limits.calls
    last = max(filter(is_numbered, log.journal(case.episode)), key=address_order)
    change = Change(
        at=last,
        settings={**case.problem.settings, **run.settings, **_own_calls(case)},
        policy=run.policy,
        limits=Limits() if granted is None else Limits(calls=granted + SPARE),
        purpose=PURPOSE,
    )
    work, record = forked_work(log, find, case.episode, change, world.description, world.grant)
    await run_fork(log, work, change, record, world)


def _own_calls(case: Case) -> dict[str, int]:
    """A search of ours takes what is left as its own: so it is told what it had."""
    if case.opened.policy != COT2_META.name:
        return {}
    settings = Cot2Settings.resolve(case.problem.profile, case.problem.settings)
    most = (settings.primary_calls, case.opened.limits.calls, 1 << 20)
    return {"primary_calls": min(x for x in most if x is not None)}


# ── Reading ──────────────────────────────────────────────────────────────────────────────────


def complete(results: Results, recipe: Recipe, text: Callable[[str], str | None]) -> None:
    """Add what side runs tell: the groups of runs that are beside others, and what searches failed by.

    ``text`` gives an episode's settings by their digest.
    """
    results.beside = frozenset(n for n, run in recipe.runs.items() if run.beside is not None)
    forks = _forks(results.reading.journals)
    for name in results.beside:
        run = recipe.runs[name]
        for (other, data), group in [*results.groups.items()]:
            if other == run.beside:
                results.groups[name, data] = [_said(each, run, forks, text) for each in group]
    _class_failures(results, recipe)


def _forks(
    journals: Mapping[str, Mapping[str, Event]],
) -> dict[str, list[tuple[EpisodeOpened, EpisodeClosed]]]:
    """Closed side runs of ours by the episode that they went on with, in the order of the log."""
    found: dict[str, list[tuple[EpisodeOpened, EpisodeClosed]]] = {}
    for journal in journals.values():
        opened, closed = journal.get("opened"), journal.get("closed")
        if not isinstance(opened, EpisodeOpened) or not isinstance(closed, EpisodeClosed):
            continue
        if opened.purpose == PURPOSE and opened.parent is not None:
            found.setdefault(opened.parent, []).append((opened, closed))
    return found


def _said(
    one: Episode,
    run: Runs,
    forks: Mapping[str, Sequence[tuple[EpisodeOpened, EpisodeClosed]]],
    text: Callable[[str], str | None],
) -> Episode:
    """The episode with the confidence of its side run; without one the confidence is unknown."""
    confidence: float | None = None
    for opened, closed in forks.get(one.case.episode, ()):
        put: Mapping[str, Any] = orjson.loads(text(opened.settings) or "{}")
        if opened.policy == run.policy and run.settings.items() <= put.items():
            confidence = closed.confidence
    closed = structs.replace(one.case.closed, confidence=confidence)
    return replace(one, case=replace(one.case, closed=closed, calibrated=None))


def _class_failures(results: Results, recipe: Recipe) -> None:
    """What each search that came out wrong failed by, of the runs whose prunes are audited."""
    everything = [each.case for group in results.groups.values() for each in group]
    others = rivals(everything)
    for (name, data), group in results.groups.items():
        if recipe.runs[name].audit:
            results.groups[name, data] = [
                replace(each, case=_classed(each.case, others, results)) for each in group
            ]


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
