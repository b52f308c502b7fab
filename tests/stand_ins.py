"""What stands in for somebody else's function: it says the same whatever it is asked, or notes that it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def always(said: Any) -> Callable[..., Any]:
    """A function that says this, whatever it is given."""

    def says(*_: Any, **__: Any) -> Any:
        return said

    return says


def noting(kept: list[Any], alone: bool = False) -> Callable[..., None]:
    """A function that notes what it is given, as a tuple or ``alone``, and says nothing."""

    def notes(*given: Any, **_: Any) -> None:
        kept.append(given[0] if alone else given)

    return notes
