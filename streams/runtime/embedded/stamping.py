"""Stamps each closing of a commit with its episode's records: those on the log, and those before it in the commit.

A writer takes the stamps of what it begins as it goes, while replies are waited for, so that a thousand episodes
which end at once need not be read again then. Under another claim somebody may write to the same episode, and of
two records at one address the log keeps the first: whoever is in doubt reads the log.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

from msgspec import structs

from schemas.events.codec import decode
from schemas.events.episode import EpisodeClosed
from schemas.identity import json_digest
from schemas.stamps import FIRST, Stamp, stamp_of, stamps_of

RECORDED = "select address, at_ms, body from records where episode = ? order by offset"
HOW_MANY = "select count(*) from main.records where episode = ?"
MOST = 4096
"""Episodes whose stamps are remembered; those of any more are read again when they close."""
AT_ONCE = 128
"""Records whose stamps are taken at once: by twos, after each commit, a step of a lone episode took a fifth more."""
Row: TypeAlias = tuple[Any, ...]


class Stamps:
    """Stamps of the records of open episodes that one writer began."""

    def __init__(self) -> None:
        self.known: dict[str, list[Stamp]] = {}
        """Every record that was stated of an episode, from its first one, but for those that wait."""
        self.waiting: list[Row] = []
        """Records whose stamps are still to be taken."""

    def put(self, db: sqlite3.Connection, rows: list[Row]) -> None:
        """Put its stamps into every closing among rows that are about to be inserted."""
        ending = {row[3] for row in rows if row[5] == "episode.closed"}
        if not ending:
            self.waiting += rows
            if len(self.waiting) >= AT_ONCE:
                self._take()
            return
        self._take()
        here: Counter[str] = Counter()
        for place, row in enumerate(rows):
            if row[5] == "episode.closed":
                rows[place] = self._closed(db, rows[:place], here[row[3]], row)
            else:
                self._remember((row,))
                here[row[3]] += 1

    def _take(self) -> None:
        self._remember(self.waiting)
        self.waiting.clear()

    def _remember(self, rows: Iterable[Row]) -> None:
        known = self.known
        for _, _, _, episode, address, _, at_ms, body in rows:
            stated = known.get(episode)
            if stated is None:
                if FIRST.get(episode[:2]) != address or len(known) >= MOST:
                    continue
                stated = known[episode] = []
            stated.append((address, at_ms, json_digest(body)))

    def _closed(self, db: sqlite3.Connection, before: list[Row], here: int, row: Row) -> Row:
        episode, kind, at_ms, body = row[3], *row[5:]
        stated = self.known.pop(episode, None)
        closed = decode(kind, body)
        if not isinstance(closed, EpisodeClosed):
            return row
        # All of its records are known only if the log holds as many as were stated before this commit.
        if stated is None or db.execute(HOW_MANY, (episode,)).fetchone()[0] + here != len(stated):
            # What the log holds comes first, for there the first record of an address counts.
            ours = ((each[4], *each[6:]) for each in before if each[3] == episode)
            records = (*db.execute(RECORDED, (episode,)), *ours)
            stated = [stamp_of(*each) for each in records]
        stamps = stamps_of(stated, at_ms)
        return (*row[:7], structs.replace(closed, stamps=stamps).to_json().decode())

    def doubt(self) -> None:
        """Forget what was stated: some of it is not on the log, or was not the first at its address."""
        self.known.clear()
        self.waiting.clear()
