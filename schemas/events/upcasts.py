"""The ladder from old event versions to the present one: one pure step a version, applied in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Upcast: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTS: Mapping[tuple[str, int], Upcast] = {}
"""(kind, version) to the step that makes it version + 1. Empty: every event is still at version 1."""


def upcast(
    body: dict[str, Any], ladder: Mapping[tuple[str, int], Upcast] = UPCASTS
) -> dict[str, Any]:
    """The body at its newest version."""
    # Step by step, so that each knows two neighbouring versions alone and none is ever touched
    # again.
    while (step := ladder.get((body["kind"], body.get("version", 1)))) is not None:
        body = step(body)
    return body
