"""Events to bytes and back. Unknown kinds and versions are kept as they are, never dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import orjson
from pydantic import ValidationError

from schemas.events.base import Event
from schemas.events.union import KINDS
from schemas.events.upcasts import UPCASTS, upcast


def _validator(kind: str, model: type[Event]) -> Callable[[bytes | str], Event]:
    """What makes an event of a body; old versions climb the ladder first, where there is one."""
    validate: Callable[[bytes | str], Event] = model.__pydantic_validator__.validate_json
    if all(kind != each for each, _ in UPCASTS):
        return validate
    return lambda body: validate(orjson.dumps(upcast(orjson.loads(body))))


VALIDATORS = {kind: _validator(kind, model) for kind, model in KINDS.items()}
"""What makes an event of a body, by kind: for loops over whole logs; ``decode`` says what is wrong with one."""


class UnknownEvent(Event, frozen=True):
    """An event of a kind that this build does not know; its body is kept as it came."""

    kind: str
    version: Literal[1] = 1
    body: str

    def to_json(self) -> bytes:
        return self.body.encode()


class BadEvent(ValueError):
    """A record's body is not a valid event of its kind."""


def encode(event: Event) -> bytes:
    """The event's JSON in UTF-8."""
    return event.to_json()


def decode(kind: str, body: bytes | str) -> Event:
    """The event of this kind. Raises ``BadEvent`` naming the first field that is wrong."""
    validate = VALIDATORS.get(kind)
    if validate is None:
        return UnknownEvent(kind=kind, body=body if isinstance(body, str) else body.decode())
    try:
        return validate(body)
    except ValidationError as error:
        if _is_of_another_version(error):
            return UnknownEvent(kind=kind, body=body if isinstance(body, str) else body.decode())
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "(whole)"
        raise BadEvent(f"{kind}: {where}: {first['msg']}") from error


def _is_of_another_version(error: ValidationError) -> bool:
    wrong = (each for each in error.errors(include_url=False) if each["loc"] == ("version",))
    return any(type(each["input"]) is int for each in wrong)


def plain(event: Event) -> dict[str, Any]:
    """The event as plain JSON values."""
    value: dict[str, Any] = orjson.loads(encode(event))
    return value
