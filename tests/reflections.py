"""What an episode left, of which a test says only what it is about."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from schemas.events.learning import Reflected
from schemas.usage import Usage

BLANK = Reflected(
    scope="s",
    policy="p@1",
    problem_id="",
    domain="d",
    problem="",
    problem_digest="",
    profile="paper",
    learning={},
    labelled=False,
    status="answered",
    usage=Usage(),
    memory_version=0,
    summary={},
)


def reflected(**said: Any) -> Reflected:
    """Blank but for what is said."""
    return structs.replace(BLANK, **said)
