"""What is wrong with what people wrote, in words: of all that a model finds, the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Most commands find no fault, and must not wait for pydantic at their start.
    from pydantic import ValidationError


def first_fault(error: ValidationError) -> tuple[str, str]:
    """The field, with dots between its parts and empty for the whole, and what is wrong with it."""
    # The first alone: the rest often follow from it.
    first = error.errors(include_url=False)[0]
    return ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
