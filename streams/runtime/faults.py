"""Faults in messages of others, in words: the field, and what is wrong with it."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from schemas.faults import first_fault
from schemas.identity import canonical


def told(error: Exception, read: BaseModel | None = None) -> str:
    """An error of reading in one line. ``read`` is what was understood, if only its values are at fault."""
    if isinstance(error, ValidationError):
        field, what = first_fault(error)
    else:
        field, what = "", str(error)[:200]
        fields = {} if read is None else read.model_dump(mode="json")
        # A value may have no canonical JSON, such as a huge number: then no name can be made of it.
        for name, value in fields.items():
            try:
                canonical(value)
            except (TypeError, ValueError):
                field = name
                break
    return f"{field}: {what}" if field else what
