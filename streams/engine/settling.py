"""Settling: what a learner says of a scope so that nothing waits for what will never come. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from schemas.events.base import Event
from schemas.events.learning import PositionVoided, TickPassed
from streams.engine.scopes import Scope

Statement = tuple[str, str, Event]
"""Episode, address and event."""


def owing(scope: Scope, is_taken: Callable[[str, int], bool]) -> Iterator[Statement]:
    """Voids of places that nobody fills, or a tick for a part window; whoever asks whether there is any, makes one.

    ``is_taken(series, position)`` says whether an episode holds a place and may still fill it.
    """
    # Said only when a worker has nothing left to do, since that is the nearest thing to "never"
    # that can be known without a clock. It is recorded, so whoever reads the log later need not
    # guess again.
    window, series = scope.window, scope.window.current
    if series is not None:
        why = "never arrived"
        for p in series.missing():
            if not is_taken(series.id, p):
                void = PositionVoided(scope=scope.id, series=series.id, position=p, reason=why)
                yield f"n/{scope.id}/{series.id}", f"void.{p}", void
    # One tick for each window: a second one would close a batch without members.
    elif (window.stream or window.late) and window.ticked <= window.closed:
        tick = TickPassed(scope=scope.id, batch=window.closed + 1)
        yield f"n/{scope.id}/-", f"tick.{tick.batch}", tick
