"""Closing memory versions again where no worker is at work: what a worker would do at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handlers.policies.base import Policy
from schemas.problem import Limits
from streams.core.drive import World
from streams.runtime.embedded.batches import Batches
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.records import learned


async def close_again(
    log: SqliteLog, find: Callable[[str], Policy[Any]], world: World | None, name: str
) -> tuple[list[str], list[str]]:
    """Close every owed version again, in order; names of what was closed, and scopes that must wait.

    A scope waits for a worker where a batch of it was closed and never learned from. The log's worker
    lock is held by who calls.
    """
    # The claim is taken before the log is read: no other owner can add what this would not have
    # seen.
    writer = log.claim(name)
    learner = learned(log, find)
    batches = Batches(log, writer, learner, world, Limits())
    done: list[str] = []
    for scope in learner.scopes.values():
        while scope.memory.forgetting.owed:
            closed = scope.unfinished
            if closed is None and (due := scope.window.due()) is not None:
                closed = batches.close(scope, due)
            # Versions come in order. A batch that nobody ever learned from asks models, which is a worker's part.
            if closed is None or closed.revision is None:
                break
            await batches.learn(scope, closed)
            owed, versions = scope.memory.forgetting.owed, scope.memory.versions
            # Versions are closed again in order, so the one before the next that is owed was just made.
            newest = versions[owed[0] - 1] if owed else versions.latest
            done.append(f"{scope.id}@{newest.name}")
            # One commit a version: whoever is killed here closes the others when the command is given again.
            await writer.commit()
    waiting = [s.id for s in learner.scopes.values() if s.memory.forgetting.owed]
    return done, waiting
