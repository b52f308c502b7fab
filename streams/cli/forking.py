"""The `fork` and `diff` commands."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING

from streams.backbones.port import BackboneError
from streams.cli.common import open_log, out, out_json, pairs
from streams.cli.errors import FAILED, OK, SPENT, usage
from streams.cli.finding import find_episode
from streams.cli.setup import Models, as_cli, need_prices, world_of
from streams.policies import find
from streams.replay.fork import CannotFork, Forked, first_difference, forked_work, run_fork
from streams.replay.verify import before

if TYPE_CHECKING:
    from schemas.events.base import Event
    from schemas.problem import Limits
    from streams.runtime.embedded.log import SqliteLog


def fork(
    url: str | None,
    wanted: str,
    at: str,
    models: Models,
    *,
    settings: list[str],
    limits: Limits,
    json: bool,
) -> int:
    """Fork an episode at an address and run it to its end."""
    log = open_log(url)
    parent = find_episode(log, wanted)
    world = world_of(models, patient=False)
    if limits.cost is not None:
        need_prices(world, "--cost-limit")
    try:
        changed = pairs(settings, "--set")
        work, record = forked_work(
            log, find, parent, at, changed, limits, world.description, world.grant
        )
        done = asyncio.run(world.during(run_fork(log, work, record, world)))
    except CannotFork as error:
        raise usage(str(error), field="EPISODE") from error
    except BackboneError as error:
        raise as_cli(error) from error
    _tell(done, json)
    return SPENT if done.closed.status == "exhausted" else OK


def _tell(done: Forked, json: bool) -> None:
    closed = done.closed
    if json:
        body = closed.model_dump(mode="json", exclude={"kind", "version"})
        out_json(
            {"episode": done.episode, "kept_calls": done.kept, "reused_calls": done.reused, **body}
        )
        return
    out(done.episode)
    out(f"{closed.status} {closed.answer or 'no answer'}   ended by {closed.ended_by}")
    out(f"kept {done.kept} calls, reused {done.reused}, made {closed.usage.calls - done.reused}")


def whole(log: SqliteLog, episode: str) -> dict[str, Event]:
    """An episode's record; for a fork, with its parent's before it."""
    from schemas.events.episode import EpisodeOpened

    journal = log.journal(episode)
    opened = journal.get("opened")
    if isinstance(opened, EpisodeOpened) and opened.parent and opened.at:
        return before(whole(log, opened.parent), opened.at) | journal
    return journal


def diff(url: str | None, left: str, right: str, *, json: bool) -> int:
    """Say where two episodes part; exit code 1 when they do."""
    log = open_log(url)
    a, b = find_episode(log, left), find_episode(log, right)
    found = first_difference(whole(log, a), whole(log, b))
    if json:
        out_json({"left": a, "right": b, "difference": None if found is None else asdict(found)})
    elif found is None:
        out("no difference")
    else:
        out(f"first difference at {found.address}: {found.part}")
        out(f"  {a}: {found.left[:200]}  ({found.left_calls} calls from there)")
        out(f"  {b}: {found.right[:200]}  ({found.right_calls} calls from there)")
    return OK if found is None else FAILED
