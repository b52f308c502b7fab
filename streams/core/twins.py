"""Twins: lanes that share their seed_address, so that nothing but what they are told sets them apart.

Source: trainable graph memory, Algorithm 2 (both sides of a pair under the same seed).
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas.events.base import Event
from schemas.events.episode import Forked


def seed_address(journal: Mapping[str, Event], address: str) -> str:
    """The address under which a call draws its seed: a twin's place stands for its first sibling's.

    In ``7.1.3`` the parts are in turn a place and a lane: the call is the fourth of lane 1 at 7.
    """
    # Nearly every call stands outside of lanes, and needs no search.
    if "." not in address:
        return address
    parts = address.split(".")
    shared = list(parts)
    for lane in range(1, len(parts), 2):
        forked = journal.get(".".join(parts[:lane]))
        if isinstance(forked, Forked) and forked.twins:
            # Only this fork's lanes share their luck. Forks around it or within it keep
            # their lanes apart.
            shared[lane] = "0"
    return ".".join(shared)
