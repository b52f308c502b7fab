"""The central claim on a page: what batches brought, drawn once for all who look, and served as files of ours."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from state.folds.grades import GradesFold
from streams.interfaces.dashboard.live_log import LiveLog
from streams.interfaces.dashboard.words import link
from streams.research.analysis.plots import (
    MISSING,
    SHAPES,
    THEMES,
    Panels,
    Shape,
    Theme,
    can_draw,
    drawn,
    sources,
)
from streams.research.analysis.progress import SHOWN, Batch, figures, picture
from streams.telemetry.figures import BatchFigures, Figures

RIGHT: Final[Mapping[str, bool]] = {"right": True, "wrong": False, "withheld": False}
KEPT: Final = 64
"""Drawings that are kept: of the scopes that are looked at, for both themes and shapes."""
drawn_once: Final = lru_cache(maxsize=KEPT)(drawn)
DRAWING: Final = threading.Lock()
"""Matplotlib's settings are one for all threads."""
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "cache-control": "private, max-age=3600",
}
"""Of a drawing: it carries its own style and nothing else, and its address changes with what it shows."""


def steps(batches: Sequence[BatchFigures], grades: GradesFold) -> list[dict[str, Any]]:
    """What came batch by batch, with intervals, as an analysis of the log says it."""
    # What nobody graded is unknown and not wrong, or the line would fall
    # where nobody has looked yet.
    found = [
        Batch(
            each.number,
            tuple(RIGHT.get(grades.outcome(episode)) for episode, _ in each.each),
            tuple(spent.calls for _, spent in each.each),
            tuple(spent.known_tokens for _, spent in each.each),
            each.lessons,
        )
        for each in batches
    ]
    return figures(found)


def shown(figures_now: Figures, scope: str) -> dict[str, Any] | None:
    """The picture of a scope as a template shows it; nothing before there is a batch."""
    panels = _panels(figures_now, scope)
    if panels is None:
        return None
    # Browsers keep a drawing for an hour: its address is another as soon as
    # it would show anything else.
    version = sha256(repr(panels).encode()).hexdigest()[:12]
    files: dict[tuple[Shape, Theme], str] = {
        (shape, theme): link("/progress.svg", scope=scope, theme=theme, shape=shape, v=version)
        for shape in SHAPES
        for theme in THEMES
    }
    return {"sources": sources(files), "alt": panels.told, "missing": "" if can_draw() else MISSING}


def _panels(figures_now: Figures, scope: str) -> Panels | None:
    mine = [each for each in figures_now.worked if each.scope == scope]
    if not mine:
        return None
    found = steps(mine[-SHOWN:], figures_now.grades)
    return picture(f"{scope}, batch by batch", found)


def newest(batches: Sequence[BatchFigures]) -> tuple[str, list[str]]:
    """The scope that closed a batch last, and the others; no name before there is one."""
    names = list(dict.fromkeys(each.scope for each in reversed(batches)))
    return (names[0], names[1:]) if names else ("", [])


def file(live_log: LiveLog, asked: Mapping[str, str]) -> bytes | None:
    """The drawing that is asked for; nothing where there is none, or nothing to draw it with."""
    shape, theme = asked.get("shape", "wide"), asked.get("theme", "light")
    if shape not in SHAPES or theme not in THEMES or not can_draw():
        return None
    # What is drawn is taken under the lock, and drawn without it: a drawing
    # takes a good part of a second.
    with live_log.lock:
        panels = _panels(live_log.counts.figures, asked.get("scope", ""))
    if panels is None:
        return None
    with DRAWING:
        return drawn_once(panels, theme, shape=shape)
