"""Stamps each closing of a commit with its episode's records: those on the log, and those before it in the commit."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from typing import Any

from msgspec import structs

from schemas.events.codec import decode
from schemas.events.episode import EpisodeClosed
from schemas.stamps import Stamp, stamp_of, stamps_of

RECORDED = "select address, at_ms, body from records where episode = ? order by offset"


def stamp(db: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> None:
    """Put its stamps into every closing among rows that are about to be inserted."""
    # Most commits close nothing, and one that does closes few: only of these the log is read again. A writer
    # that remembered the stamps of what it states was tried: it was no faster, and slower for one episode alone.
    ending = {row[3] for row in rows if row[5] == "episode.closed"}
    if not ending:
        return
    stated: defaultdict[str, list[Stamp]] = defaultdict(list)
    for place, row in enumerate(rows):
        _, _, _, episode, address, kind, at_ms, body = row
        if episode not in ending:
            continue
        closed = decode(kind, body) if kind == "episode.closed" else None
        if isinstance(closed, EpisodeClosed):
            # What the log holds comes first, for there the first record of an address counts.
            known = (stamp_of(*record) for record in db.execute(RECORDED, (episode,)))
            stamps = stamps_of((*known, *stated[episode]), at_ms)
            rows[place] = (*row[:7], structs.replace(closed, stamps=stamps).to_json().decode())
        else:
            stated[episode].append(stamp_of(address, at_ms, body))
