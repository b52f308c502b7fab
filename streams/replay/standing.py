"""Whether records stand where they may: by their kind, behind what their episode begins with, none missing between.

This holds whoever's policies are installed, and is read through SQL: no event is made of most records.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.asking import Diverged
from schemas.events.codec import decode
from schemas.events.union import KINDS
from schemas.identity import is_taken
from schemas.places import EVENTS, LEARNING, PLACES, Place, stands
from streams.replay.claimed import Sort
from streams.replay.left_out import Leftovers
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import order
from streams.runtime.embedded.queries.rows import address_at

ONE_TOPIC: dict[Sort, dict[str, str]] = {
    "file": {"partition.claimed": EVENTS, "text.kept": EVENTS, "episode.adopted": LEARNING},
    "kafka": {"episode.adopted": EVENTS},
    "part": {},
}
"""Where a kind stands on one sort of log that may stand elsewhere on another."""


def misplaced(log: SqliteLog, sort: Sort, left: Leftovers) -> Iterator[Diverged]:
    """Records that stand where none of their kind does."""
    for shape in order.shapes(log):
        topic, kind, name, head, count = shape
        if kind not in KINDS:
            left.add(f"records of kind {kind}", "this build does not know it", count)
        # The topics of a few kinds hang on the sort of the log, since one file has no broker to
        # keep them apart.
        elif (topic, name, head) not in _SHAPES[kind] or ONE_TOPIC[sort].get(kind, topic) != topic:
            for episode, address in order.of_shape(log, shape):
                yield Diverged(episode, address, "place", f"{kind} on {topic}", _where(kind))
    # Shapes are counted by SQL, which knows no events; of the few kinds whose event says where its record
    # stands each record is read. What has the wrong shape was told above.
    for kind in _EXACT:
        for topic, episode, address, body in order.of_kind(log, kind):
            event = decode(kind, body)
            place = (topic, episode[:2], _headed(address))
            if place in _SHAPES[kind] and not stands(episode, address, event, topic):
                yield Diverged(episode, address, "place", f"{kind} on {topic}", _where(kind))


def _where(kind: str) -> str:
    places = PLACES[KINDS[kind]]
    return " or ".join(f"{p.topic}: {_episodes(p)} at {p.address}" for p in places)


def _episodes(place: Place) -> str:
    return place.episode if isinstance(place.episode, str) else "b/SCOPE/BATCH"


def _headed(address: str) -> str:
    head, dot, _ = address.partition(".")
    return f"{head}.*" if dot else head


_SHAPES = {
    kind: frozenset((p.topic, _episodes(p)[:2], _headed(p.address)) for p in PLACES[model])
    for kind, model in KINDS.items()
}
"""Topic, first letters of the episode's name and the address as ``HEAD`` says it."""
_EXACT = tuple(
    kind
    for kind, model in KINDS.items()
    if any(not isinstance(p.episode, str) or "{" in p.episode + p.address for p in PLACES[model])
)
"""Kinds whose event says where its record stands."""


# ── Beginnings ───────────────────────────────────────────────────────────────────────────────


def headless(log: SqliteLog, *, whole: bool = True) -> Iterator[Diverged]:
    """Episodes with something on record, but without what comes before it.

    A part of a log may hold reflections whose episodes are in another part, and what was said of these.
    """
    for (
        episode,
        admitted,
        opened,
        closed,
        reflected,
        batch,
        series,
        taken,
        first,
        own,
    ) in order.beginnings(log):
        match episode[:2]:
            # A case from another tool was never admitted or opened here: it begins with what was
            # taken in.
            case "p/" if is_taken(episode):
                if not taken and whole:
                    yield _missing(episode, "taken", first)
            case "p/" if not admitted and (whole or own):
                yield _missing(episode, "admitted", first)
            case "p/" if not opened and (closed or first[0].isdigit()):
                yield _missing(episode, "opened", first)
            case "p/" if reflected and not closed and (whole or admitted):
                yield _missing(episode, "closed", "reflected")
            case "s/" | "q/" if not opened:
                yield _missing(episode, "opened", first)
            case "b/" if not batch and not episode.endswith("/0"):
                yield _missing(episode, "batch", first)
            case "n/" if not series and not episode.endswith("/-"):
                yield _missing(episode, "series", first)
            case _:
                pass


def _missing(episode: str, address: str, first: str) -> Diverged:
    return Diverged(episode, address, address, "nothing", f"a record before {first}")


# ── Order ────────────────────────────────────────────────────────────────────────────────────


def disordered(log: SqliteLog) -> Iterator[Diverged]:
    """Records that stand before what they follow from."""
    for episode, a, o, n, m, c, v in order.disordered(log):
        wrong = next(
            (late, early)
            for late, early in ((m, c), (a, o), (o, n), (a, n), (o, c), (m, v), (c, v))
            if late is not None and early is not None and late > early
        )
        address, before = (address_at(log, offset) for offset in wrong)
        yield Diverged(episode, address, "order", f"behind {before}", f"before {before}")


def gaps(log: SqliteLog) -> Iterator[Diverged]:
    """Places between records, or between messages, where something is gone: a log in one file has none."""
    for found, what in ((order.gaps(log), "record"), (order.message_gaps(log), "message")):
        for offset, episode, address, before in found:
            said = f"{offset - before - 1} missing before {what} {offset}"
            yield Diverged(episode, address, "offset", said, f"{what} {before + 1}")
