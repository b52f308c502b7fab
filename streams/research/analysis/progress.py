"""What learning brings, batch by batch: accuracy, calls and tokens a problem, and the lessons that came between.

A batch is solved with what was learned from those before it. So its lessons stand between it and the next one:
where accuracy rises, or calls and tokens fall, one sees after which lessons it did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streams.research.analysis.intervals import Spread, mean_interval, share_interval
from streams.research.analysis.plots import Panel, Panels

SHOWN: Final = 60
"""Batches of a picture at most: the newest."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One closed batch of a scope: how its members came out, what each spent, how many lessons it left."""

    number: int
    outcomes: tuple[bool | None, ...]
    """Of each member whether it is right; unknown where nobody has said."""
    calls: tuple[int, ...]
    tokens: tuple[int | None, ...]
    lessons: int


def figures(batches: Sequence[Batch]) -> list[dict[str, Any]]:
    """Each batch with its means and their 95 % intervals; unknown is null.

    Accuracy is of the members that were graded, tokens are of those whose tokens are known.
    """
    found: list[dict[str, Any]] = []
    for batch in batches:
        right = [float(each) for each in batch.outcomes if each is not None]
        tokens = [float(each) for each in batch.tokens if each is not None]
        found.append(
            {
                "batch": batch.number,
                "members": len(batch.outcomes),
                "graded": len(right),
                "right": int(sum(right)),
                "tokens_unknown": len(batch.tokens) - len(tokens),
                "lessons": batch.lessons,
                **_mean("accuracy", right, share_interval),
                **_mean("calls", [float(each) for each in batch.calls], mean_interval),
                **_mean("tokens", tokens, mean_interval),
            }
        )
    return found


def _mean(name: str, values: Sequence[float], spread: Spread) -> dict[str, Any]:
    found = spread([(value, 1) for value in values])
    mean = sum(values) / len(values) if values else None
    return {name: mean, f"{name}_interval": None if found is None else list(found)}


def picture(title: str, found: Sequence[Mapping[str, Any]]) -> Panels:
    """The central claim, drawn: is more of a later batch right, for fewer calls and tokens, and after which lessons?"""
    # The newest: whoever looks at a long run wants to see whether it still learns.
    shown = found[-SHOWN:]
    # Accuracy has a top of its own: it shall not look better for being drawn on a shorter axis.
    panels = (
        _line(shown, "accuracy", "right answers in %, with 95 % intervals", 100.0, most=100.0),
        _line(shown, "calls", "calls a problem"),
        _line(shown, "tokens", "tokens a problem"),
        Panel(
            "lessons that it left, which serve from the next batch on",
            # Between two batches, where they came about: a bar under its own batch would say that
            # this batch had been solved with them.
            tuple((each["batch"] + 0.5, float(each["lessons"])) for each in shown),
            tuple(f"{each['lessons']:,}" for each in shown),
            bars=True,
        ),
    )
    axis = (
        f"batch (the newest {len(shown)} of {len(found)})" if len(shown) < len(found) else "batch"
    )
    told = title
    if shown:
        ends: list[str] = []
        for each in (shown[0], shown[-1]):
            left = each["members"] - each["graded"]
            graded = f", {left} not graded" if left else ""
            ends.append(f"batch {each['batch']}: {each['right']} of {each['graded']} right{graded}")
        first, last = ends
        told += f". Accuracy, calls and tokens a problem with 95 % intervals, and lessons, from {first}, to {last}"
    return Panels(title, axis, panels, told)


def _line(
    shown: Sequence[Mapping[str, Any]],
    name: str,
    y: str,
    by: float = 1.0,
    most: float | None = None,
) -> Panel:
    known = [each for each in shown if each[name] is not None]
    points = tuple(
        (
            float(each["batch"]),
            by * each[name],
            *(by * bound for bound in each[f"{name}_interval"] or ()),
        )
        for each in known
    )
    return Panel(y, points, tuple(_short(by * each[name]) for each in known), most=most)


def _short(value: float) -> str:
    """A number that has little room."""
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    if value >= 1000:
        return f"{value / 1000:.1f}k"
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
