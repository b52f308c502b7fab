"""Closing memory versions again where no worker is at work: what a worker would do at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handlers.policies.base import Policy
from schemas.problem import Limits
from streams.core.drive import World
from streams.engine.learner import Learner
from streams.engine.scopes import Scope
from streams.runtime.embedded.batches import Batches
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.records import LogRecords


async def close_again(
    log: SqliteLog, find: Callable[[str], Policy[Any]], world: World | None, name: str
) -> tuple[list[str], list[str]]:
    """Close every owed version again, in order; names of what was closed, and scopes that must wait.

    A scope waits for a worker where a batch of it was closed and never learned from. The log's worker
    lock is held by who calls.
    """
    writer, learner = log.claim(name), Learner(find, LogRecords(log))
    for record in log.records("learning"):
        learner.feed(record.episode, record.address, record.event)
    batches = Batches(log, writer, learner, world, Limits(), _anywhere)
    done: list[str] = []
    for scope in learner.scopes.values():
        while scope.memory.forgetting.owed and (await _closed(batches, scope)):
            done.append(f"{scope.id}@{_last(scope)}")
            await writer.commit()
    waiting = [s.id for s in learner.scopes.values() if s.memory.forgetting.owed]
    return done, waiting


def _anywhere(scope: str, series: str, position: int) -> bool:
    """Whether a place is taken: nothing is settled here."""
    return True


async def _closed(batches: Batches, scope: Scope) -> bool:
    """Whether the next owed version could be closed again."""
    closed = scope.unfinished
    if closed is None:
        due = scope.window.due()
        if due is None:
            return False
        closed = batches.close(scope, due)
    if closed.revision is None:
        return False
    await batches.learn(scope, closed)
    return True


def _last(scope: Scope) -> str:
    owed, versions = scope.memory.forgetting.owed, scope.memory.versions
    return versions[owed[0] - 1].name if owed else versions.latest.name
