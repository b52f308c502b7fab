"""Stamps each closing of a commit with its episode's records: those on the log, and those of the same commit.

A writer remembers the stamps of the episodes that it began, so that their records need not be read again when they
close. Under another claim somebody may work on the same episode, and of two records at one address the log keeps
the first. So what is remembered is dropped as soon as anybody else wrote a record, or one of ours was not the first.
"""

from __future__ import annotations

import sqlite3
from typing import Any, TypeAlias

from msgspec import structs

from schemas.events.codec import decode
from schemas.events.episode import EpisodeClosed
from schemas.stamps import FIRST, Stamp, is_stamped, stamp_of, stamps_of

RECORDED = "select address, at_ms, body from records where episode = ? order by offset"
Row: TypeAlias = tuple[Any, ...]


class Stamps:
    """Stamps of the records of open episodes that one writer began."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Stamp]] = {}
        self.begun: dict[str, dict[str, Stamp]] = {}
        """Episodes that begin with the commit that is being made: whether they are ours is known after it."""
        self.end: int | None = None
        """The offset of the last record when our last commit was made."""

    def put(self, db: sqlite3.Connection, rows: list[Row], end: int | None) -> None:
        """Put its stamps into every closing among rows that are about to follow the record at offset ``end``."""
        if end != self.end:
            self.known.clear()
        known, begun = self.known, self.begun
        for place, row in enumerate(rows):
            _, _, _, episode, address, kind, at_ms, body = row
            if kind == "episode.closed":
                rows[place] = self._closed(db, rows[:place], row)
                continue
            stated = known.get(episode)
            if stated is None:
                stated = begun.get(episode)
            if stated is None:
                if FIRST.get(episode[:2]) != address:
                    continue
                stated = begun[episode] = {}
            if address not in stated and is_stamped(address):
                stated[address] = stamp_of(address, at_ms, body)

    def _closed(self, db: sqlite3.Connection, before: list[Row], row: Row) -> Row:
        episode, kind, at_ms, body = row[3], *row[5:]
        closed = decode(kind, body)
        if not isinstance(closed, EpisodeClosed):
            return row
        self.begun.pop(episode, None)
        stated = self.known.pop(episode, None)
        if stated is None:
            # What the log holds comes first, for there the first record of an address counts.
            ours = ((each[4], *each[6:]) for each in before if each[3] == episode)
            records = (*db.execute(RECORDED, (episode,)), *ours)
            stamps = stamps_of((stamp_of(*each) for each in records), at_ms)
        else:
            stamps = stamps_of(stated.values(), at_ms)
        return (*row[:7], structs.replace(closed, stamps=stamps).to_json().decode())

    def made(self, end: int, *, all_new: bool) -> None:
        """The commit is made, and ``end`` is the offset of its last record; whether the log took all of it as new."""
        if all_new:
            self.known |= self.begun
        else:
            self.known.clear()
        self.begun.clear()
        self.end = end
