"""What is said of a series: it is opened, its members reflect and are graded, its gaps are voided."""

from __future__ import annotations

from msgspec import convert

from schemas.events.learning import (
    Graded,
    PositionVoided,
    Reflected,
    SeriesOpened,
)
from schemas.usage import NOTHING


def opened(series: str, size: int, window: int, ahead: bool | None = None) -> SeriesOpened:
    return SeriesOpened(
        scope="s",
        series=series,
        size=size,
        window=window,
        timing="barrier",
        policy="p",
        policy_version="1",
        profile="paper",
        settings={},
        seed=1,
        walk=1,
        ahead=ahead,
    )


def reflected(
    series: str | None, position: int | None, labelled: bool, domain: str = "d", version: int = 0
) -> Reflected:
    return Reflected(
        scope="s",
        policy="p@1",
        problem_id="x",
        domain=domain,
        problem="x",
        problem_digest="x",
        profile="paper",
        learning={},
        series=series,
        position=position,
        labelled=labelled,
        status="answered",
        usage=NOTHING,
        memory_version=version,
        summary={},
    )


def graded(by: str) -> Graded:
    return convert({"scope": "s", "outcome": "right", "grader": "g@1", "by": by}, Graded)


def voided(series: str, position: int) -> PositionVoided:
    return PositionVoided(scope="s", series=series, position=position, reason="refused")
