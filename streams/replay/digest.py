"""One SHA-256 over what a log means: two runs that mean the same print the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

import orjson

from schemas.events.union import ANSWER_KINDS, FACT_KINDS
from schemas.identity import address_order, canonical
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.rows import by_episode

NAMED = (
    "problem.admitted",
    "episode.opened",
    "episode.closed",
    "trace.taken",
    "reflected",
    "graded",
    "batch.closed",
    "memory.versioned",
)
MEANT = ANSWER_KINDS | FACT_KINDS | frozenset(NAMED)
INCIDENTAL = frozenset(
    {
        *("seconds", "attempts", "cached_tokens", "offset", "partition"),
        *("backbones", "model", "stamps"),
    }
)
"""Times, latencies, places, transport and who answered: they differ between runs that mean the same."""


def meaning(body: Any) -> Any:
    """The body without what is incidental, at its top and in its usage."""
    kept = {key: value for key, value in body.items() if key not in INCIDENTAL}
    if isinstance(kept.get("usage"), dict):
        # One level down and no further: nothing deeper holds what is incidental.
        kept["usage"] = meaning(kept["usage"])
    return kept


def meant(log: SqliteLog) -> Iterator[tuple[str, str, Any]]:
    """Episode, address and meaning of every record that counts, in canonical order."""
    # By episode and not by the order of the log: that hangs on who was quicker, and means nothing.
    for episode, group in groupby(by_episode(log), key=attrgetter("episode")):
        # Claims, texts and bookkeeping say who worked and how, and differ from run to run.
        counted = [each for each in group if each.kind in MEANT]
        for each in sorted(counted, key=lambda each: address_order(each.address)):
            yield episode, each.address, meaning(orjson.loads(each.body))


def log_digest(log: SqliteLog) -> str:
    """The digest of a log."""
    total = hashlib.sha256()
    for each in meant(log):
        total.update(canonical(each))
        total.update(b"\n")
    return total.hexdigest()
