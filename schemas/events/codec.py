"""Events to bytes and back. Unknown kinds and versions are kept as they are, never dropped."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

import orjson
from msgspec import DecodeError, structs, to_builtins
from msgspec.json import Decoder

from schemas.events.base import Event
from schemas.events.union import KINDS
from schemas.events.upcasts import UPCASTS, upcast
from schemas.problem import finite
from schemas.struct import model_within, plain_within, to_json

E = TypeVar("E", bound=Event)
Refused = (DecodeError, UnicodeError, RecursionError)
"""What a reader in ``READERS`` raises on what is no event of its kind."""


def _reader(kind: str, model: type[Event]) -> Callable[[bytes | str], Event]:
    """What makes an event of a body; old versions climb the ladder first, where there is one."""
    read: Callable[[bytes | str], Event] = Decoder(model, dec_hook=model_within).decode
    # Almost every kind has no older version, and is read in one pass from bytes to struct.
    if all(kind != each for each, _ in UPCASTS):
        return read
    return lambda body: read(orjson.dumps(upcast(orjson.loads(body))))


READERS = {kind: _reader(kind, model) for kind, model in KINDS.items()}
"""What makes an event of a body, by kind: for loops over whole logs; ``decode`` says what is wrong with one."""


# It is kept byte for byte. A log that passes through an older build must lose nothing of a newer
# one.
class UnknownEvent(Event):
    """An event of a kind that this build does not know; its body is kept as it came."""

    named: str
    body: str

    @property
    def kind(self) -> str:
        return self.named

    def to_json(self) -> bytes:
        return self.body.encode()


class BadEvent(ValueError):
    """A record's body is not a valid event of its kind."""


def encode(event: Event) -> bytes:
    """The event's JSON in UTF-8."""
    return event.to_json()


def as_written(event: E) -> E:
    """The event as every reader of its record will find it: nothing is written that cannot be read.

    Raises ``BadEvent`` naming the first field that is of another type than declared, or that holds a
    number which JSON cannot say.
    """
    try:
        # A struct is not checked when it is made, so it is read back before it is written: what
        # nobody could read again must never reach a log, where it would stop every reader.
        again = decode(event.kind, event.to_json())
    except (BadEvent, TypeError, UnicodeError, RecursionError):
        _refuse_what_json_cannot_say(event)
        raise
    # Two events may differ in a number that JSON cannot say, such as one that is not finite;
    # otherwise what was read is what every reader will find, and it is used from here on.
    if again != event:
        _refuse_what_json_cannot_say(event)
    return cast("E", again)


def _refuse_what_json_cannot_say(event: Event) -> None:
    for field in structs.fields(event):
        value = getattr(event, field.name)
        try:
            to_json(value)
            finite(to_builtins(value, enc_hook=plain_within))
        except (ValueError, TypeError, RecursionError) as error:
            raise BadEvent(f"{event.kind}: {field.name}: {error}") from error


def decode(kind: str, body: bytes | str) -> Event:
    """The event of this kind. Raises ``BadEvent`` naming the first field that is wrong."""
    read = READERS.get(kind)
    if read is None:
        return _unknown(kind, body)
    try:
        return read(body)
    except Refused as error:
        # A version is looked for only where reading failed, because this costs a second pass.
        if _is_of_another_version(body):
            return _unknown(kind, body)
        # JSON has one kind of number; other writers spell a whole one with a point.
        try:
            return read(orjson.dumps(_whole(orjson.loads(body))))
        except (*Refused, ValueError, TypeError):
            raise BadEvent(f"{kind}: {what(error)}") from error


def _whole(value: Any) -> Any:
    """The value with ``12.0`` as 12, which is the same number to JSON and its schemas."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in cast("dict[str, Any]", value).items()}
    return [_whole(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def _unknown(kind: str, body: bytes | str) -> UnknownEvent:
    return UnknownEvent(named=kind, body=body if isinstance(body, str) else body.decode())


def _is_of_another_version(body: bytes | str) -> bool:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        # Anything else under that name is a fault of the body and not a version.
        return False
    said = cast("dict[str, Any]", value).get("version") if isinstance(value, dict) else None
    return type(said) is int and said != 1


# These are the words of the library's messages; where a new one says it otherwise, the whole text
# is told.
_AT = " - at `$"
_NAMED = re.compile(r"Object (?P<what>.*) field `(?P<where>\w+)`")


def what(error: Exception) -> str:
    """The field that is wrong, and what is wrong with it."""
    text = str(error)
    what, at, where = text.rpartition(_AT)
    if at and where.endswith("`"):
        return f"{where[:-1].removeprefix('.')}: {what}"
    said = _NAMED.fullmatch(text)
    return f"{said['where']}: {said['what']}" if said else f"(whole): {text}"


def plain(event: Event) -> dict[str, Any]:
    """The event as plain JSON values."""
    value: dict[str, Any] = orjson.loads(encode(event))
    return value
