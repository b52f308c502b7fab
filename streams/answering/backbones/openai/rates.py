"""Limits that a server states beside a reply: they tell how long to hold back before it has to refuse.

``x-ratelimit-*`` is the official endpoint's: its reset is when everything is back, so that one request
is there after a share of it. ``ratelimit-*`` is the draft of the IETF: nothing is back before its reset.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# Possessive, and no number behind a digit: the header is a stranger's text, and must be read in one
# go.
_PART = re.compile(r"(?<![\d.])(\d++(?:\.\d++)?)(ms|s|m|h|d)")
_SPAN = re.compile(rf"(?:{_PART.pattern})+")


def hold_back(headers: Mapping[str, str]) -> float | None:
    """Seconds before the next request is worth sending; nothing while some are left."""
    if number(headers.get("x-ratelimit-remaining-requests", "")) == 0:
        most = number(headers.get("x-ratelimit-limit-requests", "")) or 1.0
        whole = span(headers.get("x-ratelimit-reset-requests", ""))
        return None if whole is None else whole / max(most, 1.0)
    if number(headers.get("ratelimit-remaining", "")) == 0:
        return number(headers.get("ratelimit-reset", ""))
    return None


def number(said: str) -> float | None:
    """A finite number that is not negative."""
    try:
        value = float(said)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def span(said: str) -> float | None:
    """Seconds of a span such as ``6m0s``, ``1.2s``, ``20ms`` or a plain number."""
    if _SPAN.fullmatch(said):
        return sum(float(value) * _UNITS[unit] for value, unit in _PART.findall(said))
    return number(said)
