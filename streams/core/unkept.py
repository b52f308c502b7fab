"""Records that a log refuses for their size: the episode ends, and its closing says so.

Nothing is recorded at the place of what was too large. The closing names the record, its place, its size and what
the log takes, so that a replay meets the same end there, on any log and by any build that derives the same record.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import structs

from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import Completed, EpisodeClosed, QuestionAbandoned

AT_THE_END: Final = "closed"
"""The place of what an episode leaves when it ends."""
# These words of a closing are all that tells of the refusal, and replays read them back. Whoever
# changes them makes such episodes of older logs diverge.
_SAID: Final = re.compile(
    r"error: too large: ([\w.]+) at ([\w.]+) comes to (\d+) bytes, its log takes (\d+)"
)


class Unkept(Exception):
    """A record is larger than its log takes. Raised where it was to be recorded, and wherever it is replayed."""

    def __init__(self, kind: str, address: str, size: int, room: int) -> None:
        super().__init__(kind, address, size, room)
        self.kind, self.address, self.size, self.room = kind, address, size, room

    def __str__(self) -> str:
        """Say what was too large, where, and how much the log takes."""
        what = f"{self.kind} at {self.address} comes to {self.size} bytes"
        return f"too large: {what}, its log takes {self.room}"

    @property
    def ended_by(self) -> str:
        """The end that an episode states which ends for this."""
        return f"error: {self}"

    def again(self, address: str, event: Event) -> bool:
        """Whether this is what was too large there."""
        size = len(event.to_json())
        here = (self.kind, self.address, self.size) == (event.kind, address, size)
        return here and size > self.room


def is_unkept(ended_by: str) -> bool:
    """Whether an end says that something was too large."""
    return _SAID.fullmatch(ended_by) is not None


def unkept_of(closed: Event | None) -> Unkept | None:
    """Return what an episode's closing says was too large, if it does."""
    if not isinstance(closed, EpisodeClosed):
        return None
    found = _SAID.fullmatch(closed.ended_by)
    return None if found is None else Unkept(found[1], found[2], int(found[3]), int(found[4]))


def refused_by(unkept: Unkept | None) -> dict[str, Unkept]:
    """Return the records that a replay must not find, by address."""
    return {} if unkept is None or unkept.address == AT_THE_END else {unkept.address: unkept}


def room_by(unkept: Unkept | None) -> int | None:
    """Return what the log takes of an end that was too large for it."""
    return unkept.room if unkept is not None and unkept.address == AT_THE_END else None


def shortened(answer: AnswerEvent, unkept: Unkept) -> AnswerEvent:
    """An answer that its log takes: a reply without its end, or of another kind that it was given up."""
    if not isinstance(answer, Completed):
        return QuestionAbandoned(asked=answer.asked, reason=str(unkept))
    # The room is what remains beside everything else that the record says. What the model thought
    # is worth less than its reply, so it gets what the reply leaves over.
    bare = structs.replace(answer, text="", thought=None, truncated=True)
    left = unkept.room - len(bare.to_json()) - len('"thought":"",')
    text = beginning(answer.text, left)
    thought = beginning(answer.thought or "", left - _bytes(text))
    return structs.replace(bare, text=text, thought=thought or None)


def beginning(text: str, room: int) -> str:
    """As much of a text's beginning as its JSON has room for."""
    # JSON writes some characters as one byte and others as six, so the length has to be tried.
    # Halving keeps the time close to linear, as must be for text from outside.
    fits, fails = 0, len(text) + 1
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if _bytes(text[:middle]) <= room:
            fits = middle
        else:
            fails = middle
    return text[:fits]


def _bytes(text: str) -> int:
    return len(msgspec.json.encode(text)) - 2
