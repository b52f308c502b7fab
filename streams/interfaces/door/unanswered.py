"""Why somebody who waits hears no answer, in words."""

from __future__ import annotations

from streams.interfaces.door.errors import Error
from streams.interfaces.door.mailbox import Awaited


def told_of(awaited: Awaited) -> str:
    """Say in words what is awaited."""
    if isinstance(awaited, str):
        return awaited
    return ", ".join(f"{name}={value}" for name, value in sorted(awaited))


def parked(episode: str, why: str) -> Error:
    """It waits for a person."""
    hint = f"A person decides: metalogue doctor --adopt or --void {episode}"
    return Error(f"parked: {why}", code="episode.parked", where=episode, hint=hint)


def cancelled(episode: str) -> Error:
    """A person took it out."""
    return Error("the episode was cancelled", code="cancelled", where=episode)
