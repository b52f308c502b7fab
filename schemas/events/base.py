"""What every event is: frozen, strict, past tense, self-describing, and free of time and place.

The envelope (episode, address, offset, epoch, time) is not part of an event: an event says what
happened, the record says where. ``act`` sorts events for those who draw them.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict

Act: TypeAlias = Literal["generated", "assessed", "decided", "recalled", "learned", "kept"]


class Event(BaseModel, frozen=True):
    """One immutable thing that happened."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, protected_namespaces=())
    act: ClassVar[Act] = "kept"
    later: ClassVar[tuple[str, ...]] = ()
    """Fields that records of earlier builds lack; this build always says the first of them."""
    latest: ClassVar[tuple[str, ...]] = ()
    """Fields that only this build says, where there is something to say."""
    kind: str
    version: Literal[1] = 1

    @classmethod
    def trusted(cls, values: dict[str, Any]) -> Self:
        """An event from values that were just normalised: the same as validating them, at half the cost.

        For the driver's hot path only; everything that comes from outside is validated.
        """
        blank, names = _mould(cls)
        event = cls.__new__(cls)
        _put(event, "__dict__", blank | values)
        _put(event, "__pydantic_fields_set__", names)
        _put(event, "__pydantic_extra__", None)
        _put(event, "__pydantic_private__", None)
        return event

    def to_json(self) -> bytes:
        """The event's JSON, unknown fields left out (absent means unknown, never zero)."""
        return self.__pydantic_serializer__.to_json(self, exclude_none=True)


class AnswerEvent(Event, frozen=True):
    """What the world answered to a question; ``asked`` is the question's fingerprint."""

    asked: str


_put = object.__setattr__


@cache
def _mould(model: type[Event]) -> tuple[dict[str, Any], set[str]]:
    """Every field in order, with its default (``None`` where it has none), and their names."""
    fields = model.model_fields.items()
    blank = {name: None if field.is_required() else field.default for name, field in fields}
    return blank, set(blank)
