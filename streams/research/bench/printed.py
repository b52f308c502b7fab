"""A paper's figure as it is printed, read as a number, and how far ours is from it.

What a paper prints only roughly (``about 84``, ``< 0.001``) or in words is no number, and nothing is
taken from it. An interval that it prints is part of the difference's; without one its figure is taken as
exact, which makes the difference look surer than it is.

Source: Zou & Donner 2008 (interval of a difference from those of its sides).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

from streams.research.bench.recipe import Figure

_SIGNED = r"[+\-−]?\d[\d,]*(?:\.\d+)?"
_PRINTED = re.compile(
    rf"({_SIGNED})(?: ?%)?(?: ?± ?(\d[\d,]*(?:\.\d+)?)| ?\[({_SIGNED}), ({_SIGNED})\])?(?: ?%)?(?: ?\(.*\))?"
)


@dataclass(frozen=True, slots=True)
class Printed:
    """A paper's figure with the interval that it prints; both ends are the figure where it prints none."""

    value: float
    low: float
    high: float


def read_printed(figure: Figure) -> Printed | None:
    """``88.67 ± 8.72``, ``0.035 [0.026, 0.045]``, ``18.3 %`` or ``0.352 (↑5.4%)``; nothing where it is no number."""
    if figure is None or isinstance(figure, bool):
        return None
    if not isinstance(figure, str):
        return Printed(float(figure), float(figure), float(figure))
    # The whole text or nothing: of "about 84" the number
    # could be taken, and would be held to be exact.
    found = _PRINTED.fullmatch(figure.strip())
    if found is None:
        return None
    value = _number(found[1])
    if found[2] is not None:
        return Printed(value, value - _number(found[2]), value + _number(found[2]))
    if found[3] is not None:
        return Printed(value, _number(found[3]), _number(found[4]))
    return Printed(value, value, value)


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def difference(figure: Figure, ours: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Ours less the paper's, with the interval of that; nothing where either is no number.

    Ours is uncertain over problems, or over seeds where it has no interval over problems; with neither
    the difference has none.
    """
    theirs = read_printed(figure)
    if theirs is None or ours is None:
        return None
    value, spread, half = ours["value"] - theirs.value, ours["interval"], ours["half_width"]
    if spread is None and half is not None:
        spread = (ours["value"] - half, ours["value"] + half)
    if spread is None:
        return {"value": round(value, 6), "interval": None, "places": ours["places"]}
    # The two were measured apart, so what either end strays adds up by squares; each end by itself,
    # because a share's interval reaches further to one side.
    low = value - sqrt((ours["value"] - spread[0]) ** 2 + (theirs.high - theirs.value) ** 2)
    high = value + sqrt((spread[1] - ours["value"]) ** 2 + (theirs.value - theirs.low) ** 2)
    interval = (round(low, 6), round(high, 6))
    return {"value": round(value, 6), "interval": interval, "places": ours["places"]}
