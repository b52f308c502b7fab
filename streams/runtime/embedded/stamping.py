"""Stamps each closing of a commit with its episode's records: those on the log, and those of the same commit."""

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
    closings = [(place, row) for place, row in enumerate(rows) if row[5] == "episode.closed"]
    if not closings:
        return
    # Most commits close nothing, and one that does closes few: only of these the log is read again.
    ending = {row[3] for _, row in closings}
    stated: defaultdict[str, list[Stamp]] = defaultdict(list)
    for _, _, _, episode, address, _, at_ms, body in rows:
        if episode in ending:
            stated[episode].append(stamp_of(address, at_ms, body))
    for place, row in closings:
        episode, kind, at_ms, body = row[3], *row[5:]
        closed = decode(kind, body)
        if isinstance(closed, EpisodeClosed):
            known = (stamp_of(*record) for record in db.execute(RECORDED, (episode,)))
            found = stamps_of([*known, *stated[episode]], at_ms)
            rows[place] = (*row[:7], structs.replace(closed, stamps=found).to_json().decode())
