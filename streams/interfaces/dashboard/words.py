"""How pages say numbers and times, and how what a model wrote is made safe to look at."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from schemas.events.codec import plain
from schemas.identity import is_taken
from streams.views.facts import headline
from streams.views.words import (
    amount,
    clean,
    count,
    counted,
    graded,
    kilo,
    one_line,
    plural,
    stamp,
    two,
)

# Unknown is never shown as 0: a dash or a word stands for it in every column.
# What a model or a client wrote is escaped by templates; `clean` takes out what
# could steer a terminal or hide in a browser.
UNKNOWN = "unknown"
EXCERPT = 160
"""Characters of a text that a line of a list shows."""


def ago(at_ms: int | None) -> str:
    """``3 s ago``, ``4 min ago``, ``2 h ago``, ``5 d ago``."""
    if at_ms is None or stamp(at_ms) == UNKNOWN:
        return UNKNOWN
    # A clock that was set back must not make a record come from the future.
    seconds = max(time.time() - at_ms / 1000, 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def lasted(begin_ms: int | None, end_ms: int | None) -> str:
    """How long something took, or has taken so far."""
    if begin_ms is None:
        return "–"
    until_ms = end_ms if end_ms is not None else time.time() * 1000
    return seconds(
        max(until_ms - begin_ms, 0) / 1000
    )  # a clock that was set back makes nothing negative


def seconds(value: float | None) -> str:
    """``0.8 s``, ``4 min 5 s``; a dash for what is unknown."""
    if value is None:
        return "–"
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(int(value), 60)
    return f"{minutes} min {rest} s"


def share(value: float | None, digits: int = 0) -> str:
    """A share in per cent; a dash for what is unknown."""
    return "–" if value is None else f"{value:.{digits}%}"


def points(value: float | None) -> str:
    """Points of accuracy with their sign; that it is unknown."""
    return UNKNOWN if value is None else f"{value:+.1f}".replace("-", "\N{MINUS SIGN}")


def known(value: bool | None) -> str:
    """Right or wrong, where anybody can judge."""
    return "not judged" if value is None else "right" if value else "wrong"


def excerpt(text: str) -> str:
    """The beginning of a text, for one line of a list: fifty whole ones would be megabytes each second."""
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT].rstrip()}…"


def plainly(value: Any) -> str:
    """Any value as JSON, which is what is on record."""
    return clean(json.dumps(value, ensure_ascii=False, default=str))


def rate(value: float | None) -> str:
    """So many a second."""
    if value is None:
        return "–"
    return "0/s" if value < 0.05 else f"{value:,.1f}/s"


def cost(value: float | None) -> str:
    """An amount, or that it is unknown."""
    return UNKNOWN if value is None else amount(value)


def size(value: int) -> str:
    """Bytes for people."""
    for step, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= step:
            return f"{value / step:.1f} {unit}"
    return f"{value} B"


def link(path: str, **query: Any) -> str:
    """An address of ours with what it is asked for; empty values are left out."""
    # Addresses are read and passed on by people: one says what was chosen, and not what was not.
    said = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(said)}" if said else path


def page_of(episode: str) -> str:
    """The address of an episode's page, or of the page of another tool's trace."""
    return link("/case" if is_taken(episode) else "/episode", id=episode)


def scope_parts(name: str) -> tuple[str, str, str, str]:
    """Domain, policy, walk and digest of a scope's settings; what it does not have is empty."""
    # A name of more parts is none that can be read so: it is shown whole instead of cut.
    domain, policy, walk, digest = (*name.split("/"), "", "", "", "")[:4]
    return (domain, policy, walk, digest) if name.count("/") < 4 else (name, "", "", "")


FILTERS: Mapping[str, Callable[..., str]] = {
    "ago": ago,
    "stamp": stamp,
    "seconds": seconds,
    "share": share,
    "two": two,
    "points": points,
    "known": known,
    "graded": graded,
    "excerpt": excerpt,
    "plainly": plainly,
    "rate": rate,
    "cost": cost,
    "size": size,
    "kilo": kilo,
    "count": count,
    "clean": clean,
    "one_line": one_line,
    "headline": headline,
}
GLOBALS: Mapping[str, Callable[..., Any]] = {
    "counted": counted,
    "link": link,
    "page_of": page_of,
    "lasted": lasted,
    "plural": plural,
    "scope_parts": scope_parts,
    "recorded": plain,
}


def number_in(said: str) -> int | None:
    """The whole number that a part of an address is; nothing where it is none, or longer than SQLite's are."""
    return int(said) if said.isdecimal() and len(said) < 19 else None
