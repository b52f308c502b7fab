"""What every event is: frozen, strict, past tense, self-describing, and free of time and place.

The envelope (episode, address, offset, epoch, time) is not part of an event: an event says what
happened, the record says where. ``act`` sorts events for those who draw them.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from schemas.struct import Struct, always, to_json

Act: TypeAlias = Literal["generated", "assessed", "decided", "recalled", "learned", "kept"]


class Event(Struct, tag_field="kind"):
    """One immutable thing that happened."""

    # Subclasses say these of themselves, and none of it is written: a record's kind tells its
    # class.
    act: ClassVar[Act] = "kept"
    later: ClassVar[tuple[str, ...]] = ()
    """Fields that records of earlier builds lack; this build always says the first of them."""
    latest: ClassVar[tuple[str, ...]] = ()
    """Fields that only this build says, where there is something to say."""
    version: Literal[1] = always(1)

    @property
    def kind(self) -> str:
        """Its name on the log; of a class with a tag, an attribute (``schemas.struct``)."""
        return str(self.__struct_config__.tag)

    def to_json(self) -> bytes:
        """The event's JSON, unknown fields left out (absent means unknown, never zero)."""
        return to_json(self)


class AnswerEvent(Event):
    """What the world answered to a question; ``asked`` is the question's fingerprint."""

    asked: str
