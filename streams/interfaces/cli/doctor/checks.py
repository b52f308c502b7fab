"""One thing that was looked at, and what to do where it is not in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streams.interfaces.cli.errors import OK, SETUP


# Only a failure ends with a code that is not 0: what a person should merely know must not stop a
# script that asks the doctor before it begins.
@dataclass(frozen=True, slots=True)
class Check:
    """A check and its finding. ``todo`` says what to do; ``exit`` is the code of a failure."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    todo: str = ""
    exit: int = OK


def ok(name: str, detail: str) -> Check:
    """In order."""
    return Check(name, "ok", detail)


def warn(name: str, detail: str, todo: str = "") -> Check:
    """Works, but a person should know."""
    return Check(name, "warn", detail, todo)


def fail(name: str, detail: str, todo: str = "", exit: int = SETUP) -> Check:
    """Does not work."""
    return Check(name, "fail", detail, todo, exit)
