"""The page of another tool's trace: a lesson's evidence leads here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException

from schemas.events.traces import TraceTaken
from streams.interfaces.cli.finding import find_episode
from streams.interfaces.cli.show.taken import known_of
from streams.interfaces.dashboard.live_log import LiveLog


def case_page(live_log: LiveLog, asked: Mapping[str, str]) -> dict[str, Any]:
    """A case with its steps, where it came from and how it was judged."""
    # The page of an episode could not show it: it has no policy, no addresses
    # and no memory of ours.
    with live_log.looking() as log:
        name = find_episode(log, asked.get("id") or "-")
        journal = log.journal(name)
    taken = journal.get("taken")
    if not isinstance(taken, TraceTaken):
        raise HTTPException(404, f"{name} is no trace of another tool")
    return {
        "title": taken.problem_id,
        "case": taken,
        "known": known_of(name, journal),
        "name": name,
    }
