"""Replies that were not read at once: cut off, asked for again, or refused in the end, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from schemas.spoken import spoken
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.unread import replies

How: TypeAlias = Literal["cut", "asked again", "refused"]


class Unread(NamedTuple):
    """One reply: where it stands, who was asked with which template, what became of it, its text."""

    episode: str
    at: str
    role: str
    template: str
    how: How
    reason: str
    finish: str
    text: str


def unread(log: SqliteLog) -> Iterator[Unread]:
    """The replies of a log that were not read at once, in the order of the log."""
    for episode, at, asked, finish, text, again, reason, parse, detail in replies(log):
        _, role, template, *_ = f"{asked}  ".split(" ")
        # Some servers say that a reply ended although it was cut within its thoughts.
        cut = finish == "length" or spoken(text).cut
        if again:
            yield Unread(episode, at, role, template, "asked again", reason or "", finish, text)
        elif parse is not None:
            why = "it was cut off before its end" if cut else f"no form that can be read ({parse})"
            yield Unread(episode, at, role, template, "refused", detail or why, finish, text)
        elif cut:
            yield Unread(episode, at, role, template, "cut", "it ended at its length", finish, text)
