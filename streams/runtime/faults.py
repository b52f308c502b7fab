"""Faults in messages of others, in words: the field, and what is wrong with it."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from schemas.identity import canonical


def told(error: Exception, read: BaseModel | None = None) -> str:
    """An error of reading in one line. ``read`` is what was understood, if only its values are at fault."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        field, what = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    else:
        field, what = "" if read is None else _unnameable(read), str(error)[:200]
    return f"{field}: {what}" if field else what


def _unnameable(read: BaseModel) -> str:
    """The field whose value has no canonical JSON, such as a huge number: no name can be made of it."""
    for field, value in read.model_dump(mode="json").items():
        try:
            canonical(value)
        except (TypeError, ValueError):
            return field
    return ""
