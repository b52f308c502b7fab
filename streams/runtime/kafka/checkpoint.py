"""Checkpoints: an owner notes from where a fresh worker must read its partition, and whether anything can move."""

from __future__ import annotations

from dataclasses import astuple
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from schemas.identity import digest
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.place import checkpoint_bytes
from streams.runtime.kafka.sizes import Sizes

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker


def checkpoint_of(worker: KafkaWorker, owned: Owned, waiting: list[str]) -> dict[str, Any]:
    """The checkpoint of a partition.

    ``from`` is the lowest offset that an open or unrelayed episode needs, ``claim`` the one in force
    there, ``asked_from`` the lowest offset of `problems` that such an episode has, ``source`` the highest that
    was admitted. The rest says how far the owner is (`learning` and `feedback` over all partitions) and what is
    still under way.
    """
    fold = owned.fold
    start, asked_from = owned.needed(), fold.needed_from()
    parked = owned.parked()
    waiting = [*waiting, *owned.unanswered()]
    # What waits for a version or a person does not move by itself, and must not keep a worker from being idle.
    still = len(waiting) + len(parked) - len(owned.shelf)
    moving = len(fold.open) - len(fold.sets) - still + len(owned.queue) + len(owned.adopted)
    gathered = worker.schedule.sets.gathered_in(owned.index)
    closed = [owned.admitted(each) for each in owned.unanswered()]  # these have no seat any more
    places = ((each.scope, each.problem.series, each.problem.position) for each in closed)
    came = worker.schedule.came(owned.index, places)
    assert owned.events is not None
    spent = owned.spent.rows()
    return {
        **({"spent": spent} if spent else {}),
        "partition": owned.index,
        "epoch": owned.events.epoch,
        "from": start,
        "claim": fold.fence.in_force(start),
        "asked_from": owned.source + 1 if asked_from is None else asked_from,
        "source": owned.source,
        "problems": owned.position,
        "events": fold.upto,
        "learning": sum(worker.view.upto),
        "feedback": sum(worker.view.feedback_upto),
        "moving": moving,
        "due": worker.idle.due(owned.index),
        "owing": worker.idle.owing(owned.index),
        "held": sorted(waiting)[:20],
        "gathered": sorted(gathered),
        "came": sorted(came),
        "parked": [[episode, *astuple(parked[episode])] for episode in sorted(parked)],
        "digest": digest(sorted(fold.open)),
    }


def fitted(noted: dict[str, Any], sizes: Sizes) -> dict[str, Any]:
    """A checkpoint that its topic takes: who reads on from it reads the rest of the parked episodes again."""
    # Without a checkpoint that fits there would be none at all, and each take-over would read everything.
    room, parked = sizes.room, list(noted["parked"])
    while parked and len(checkpoint_bytes({**noted, "parked": parked})) > room:
        del parked[len(parked) // 2 :]
    if len(parked) == len(noted["parked"]):
        return noted
    first = min(noted["parked"][len(parked) :], key=itemgetter(4))
    if first[4] >= noted["from"]:
        return {**noted, "parked": parked}
    # Which problem that one was is not noted: of none is it said that it was done with.
    return {**noted, "parked": parked, "from": first[4], "claim": first[5], "asked_from": 0}
