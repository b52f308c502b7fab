"""How long to wait before the next attempt."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from schemas.identity import hash01
from streams.answering.backbones.openai.rates import hold_back, number


def asked_pause(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the server asks us to wait, as ``Retry-After`` says or dates them, or its limits do.

    A date is counted from the server's own clock where it tells that (``Date``): ours may be hours off.
    """
    # The finer one first: whole seconds of a server that counts in milliseconds waste what it would
    # have borne.
    millis = number(headers.get("retry-after-ms", ""))
    if millis is not None:
        return millis / 1000
    said = headers.get("retry-after", "").strip()
    seconds = number(said)
    if seconds is None and (date := _date(said)) is not None:
        server_now = _date(headers.get("date", "")) or now
        seconds = max(0.0, (date - server_now).total_seconds())
    return hold_back(headers) if seconds is None else seconds


def _date(said: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(said)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def pause_before(
    attempt: int, seed: int, *, asked: float | None, base_s: float, longest_s: float
) -> float:
    """Seconds before attempt number ``attempt`` (the first retry is 1).

    At least what the server asked, but never above ``longest_s``; else twice as long each time. A
    share of it hangs on the seed, so that calls refused together do not come back together.
    """
    share = hash01(seed, "pause", attempt)
    if asked is not None:
        return min(longest_s, asked + base_s * share)
    # Behind thirty doublings the longest pause decides anyway, and a float would overflow one day.
    return min(longest_s, base_s * 2.0 ** min(attempt - 1, 30)) * (0.5 + 0.5 * share)
