"""What every event is: frozen, strict, past tense, self-describing, and free of time and place.

The envelope (episode, address, offset, epoch, time) is not part of an event: an event says what
happened, the record says where. ``act`` sorts events for those who draw them.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

Act: TypeAlias = Literal["generated", "assessed", "decided", "recalled", "learned", "kept"]


class Event(BaseModel, frozen=True):
    """One immutable thing that happened."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, protected_namespaces=())
    act: ClassVar[Act] = "kept"
    kind: str
    version: Literal[1] = 1

    def to_json(self) -> bytes:
        """The event's JSON, unknown fields left out (absent means unknown, never zero)."""
        return self.__pydantic_serializer__.to_json(self, exclude_none=True)


class AnswerEvent(Event, frozen=True):
    """What the world answered to a question; ``asked`` is the question's fingerprint."""

    asked: str
