"""The first page: the topology with rates and lag, figures, what runs, what was answered last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from state.folds.budgets import BudgetsFold, DaySpent
from streams.interfaces.dashboard import flow, listing, progress
from streams.interfaces.dashboard.live_log import LiveLog
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import counts as held
from streams.runtime.embedded.queries import episodes

SHOWN: Final = 8
TENANTS: Final = 20


@dataclass(frozen=True, slots=True)
class Running:
    """An episode under way."""

    episode: str
    name: str
    sort: str
    policy: str
    since_ms: int
    calls: int
    call_limit: int | None
    last_ms: int | None


def running(under_way: Mapping[str, int], log: SqliteLog) -> list[Running]:
    """Episodes under way, each with when it began, those first that began last."""
    # The newest: an episode that hangs for hours is on the list of all that
    # run, and would fill this one.
    latest = sorted(under_way.items(), key=lambda each: -each[1])[:SHOWN]
    sorts = {"p": "problem", "b": "learning", "q": "probe"}
    found: list[Running] = []
    for episode, since_ms in latest:
        # Calls are counted for those that are shown: there may be a thousand under way.
        done = episodes.progress(log, episode)
        one = Running(
            episode=episode,
            name=listing.name_of(episode),
            sort=sorts.get(episode[:1], "episode"),
            policy=done.policy or "",
            since_ms=since_ms,
            calls=done.calls,
            call_limit=done.call_limit,
            last_ms=done.last_ms,
        )
        found.append(one)
    return found


def page(live_log: LiveLog, log: SqliteLog) -> dict[str, Any]:
    """What the first page shows."""
    figures, counts = live_log.counts.figures, live_log.topics()
    rates = {name: live_log.rates.of(name) for name in counts}
    lags, batches = live_log.counts.lags(), figures.worked
    # Who waits for a person is at work on nothing, and may be for days.
    asking = figures.asking.keys() & live_log.open.keys()
    under_way = {name: since for name, since in live_log.open.items() if name not in asking}
    # The scope that moved last is drawn; the others are a click away, for
    # each drawing takes its time.
    scope, others = progress.newest(batches)
    return {
        "figures": figures,
        "counts_of": counts,
        "boxes": flow.boxes(counts, rates, lags),
        "edges": flow.edges(rates, lags),
        "size": flow.SIZE,
        "running": running(under_way, log),
        "under_way": len(under_way),
        # The list of episodes that run has problems alone.
        "problems_under_way": sum(name.startswith("p/") for name in under_way),
        "asking": len(asking),
        "answers": listing.answers(log, live_log.state, "", listing.NEWEST).lines[:SHOWN],
        "statuses": live_log.counts.answers,
        "progress": progress.shown(figures, scope),
        "progress_scope": scope,
        "other_scopes": others,
        "batches": batches,
        "latest_ms": held.latest_ms(log),
        "models": models(log),
        "tenants": tenants(live_log.budgets),
        "caught_up": live_log.caught_up,
    }


def tenants(fold: BudgetsFold) -> list[tuple[str, str, DaySpent]]:
    """What tenants spent on the newest days: whose, day and sums."""
    return list(islice(fold.days(), TENANTS))


def models(log: SqliteLog) -> str | None:
    """Which models answered lately."""
    # Lately, and not ever: the whole log would be read for each look at the first page.
    event = None
    for record in log.records(kinds=("episode.opened",), after=max(log.end() - 5_000, 0)):
        event = record.event
    return getattr(event, "backbones", None)
