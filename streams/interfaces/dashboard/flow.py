"""The topology as a drawing: each stage and topic has a place, and lines show the flow between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from streams.core.topology import STAGES, TOPICS

WIDTH, HEIGHT = 132, 56
COLUMN, ROW, MARGIN = 168, 92, 12
# What there is comes from the topology itself; only places are said here. A stage or topic without
# one is an error at the first look, and not a box that is missing without a word.
PLACES: Final[Mapping[str, tuple[float, float]]] = {
    "produce": (0, 1),
    "problems": (1, 1),
    "feedback": (1, 2),
    "dead-letters": (1, 0),
    "intake": (2, 1),
    "events": (3, 1),
    "driver": (3, 0),
    "relay": (4, 1),
    "learning": (3, 2),
    "learner": (2, 2),
    "answers": (5, 1),
    "projector": (4, 2),
    "consume": (6, 1),
}
"""Column and row of every stage and topic."""
BESIDE: Final = 6
"""How far lines that meet at one side of a box keep apart."""
BELOW: Final = 18
"""Room under the last row, for lines that would cross boxes."""
SIZE: Final = (
    7 * COLUMN - (COLUMN - WIDTH) + 2 * MARGIN,
    2 * ROW + HEIGHT + 2 * MARGIN + BELOW,
)


@dataclass(frozen=True, slots=True)
class Box:
    """A stage or topic in the drawing, and what it shows."""

    name: str
    about: str
    stage: bool
    x: float
    y: float
    count: int | None = None
    rate: float | None = None
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from one box to another, as an SVG path."""

    source: str
    target: str
    path: str
    moving: bool


def boxes(
    counts: Mapping[str, int], rates: Mapping[str, float | None], lags: Mapping[str, int]
) -> list[Box]:
    """Topics with what they hold and how fast they grow; stages with how far they are behind."""
    topics = [
        Box(t.name, t.about, False, *_at(t.name), counts.get(t.name, 0), rates.get(t.name))
        for t in TOPICS
    ]
    stages = [Box(s.name, s.about, True, *_at(s.name), lag=lags.get(s.name)) for s in STAGES]
    return [*stages, *topics]


def edges(rates: Mapping[str, float | None], lags: Mapping[str, int]) -> list[Edge]:
    """Every line; one moves while something comes to its topic and its stage is at work."""
    # A stage that reads is at work while its lag is known: a worker tells it. One that only writes
    # tells nothing, and is at work while its topic grows.
    at_work = {
        stage.name
        for stage in STAGES
        if (stage.name in lags if stage.reads else rates.get(stage.writes[0]))
    }
    return [
        Edge(
            source,
            target,
            _path(source, target),
            bool(rates.get(topic)) and not at_work.isdisjoint((source, target)),
        )
        for source, target, topic in _pairs()
    ]


def _pairs() -> Iterator[tuple[str, str, str]]:
    for stage in STAGES:
        yield from ((topic, stage.name, topic) for topic in stage.reads)
        yield from ((stage.name, topic, topic) for topic in stage.writes)


def _at(name: str) -> tuple[float, float]:
    column, row = PLACES[name]
    return MARGIN + column * COLUMN, MARGIN + row * ROW


def _path(source: str, target: str) -> str:
    """From side to side; up or down where one stands above the other, else around underneath."""
    (x1, y1), (x2, y2) = _at(source), _at(target)
    if abs(x2 - x1) > COLUMN and y1 != y2:
        # Straight across it would run through boxes that it has nothing to do with.
        under = SIZE[1] - BELOW / 2
        return f"M{x1 + WIDTH / 2:g} {y1 + HEIGHT:g}V{under:g}H{x2 + WIDTH / 2:g}V{y2 + HEIGHT:g}"
    if x1 == x2:
        below = y1 < y2
        side = WIDTH / 2 + 2 * BESIDE * (1 if below else -1)
        top, bottom = y1 + (HEIGHT if below else 0), y2 + (0 if below else HEIGHT)
        return f"M{x1 + side:g} {top:g}V{bottom:g}"
    # Lines leave and enter a box a little apart, or two that meet at one side
    # could not be told apart.
    right = x1 < x2
    start, end = x1 + (WIDTH if right else 0), x2 + (0 if right else WIDTH)
    middle, up, down = (start + end) / 2, y1 + HEIGHT / 2, y2 + HEIGHT / 2
    if y1 == y2:
        # Where a line comes back as well, the two lie beside each other instead of on one another.
        up += BESIDE * (-1 if right else 1) if (target, source) in PAIRS else 0
        return f"M{start:g} {up:g}H{end:g}"
    lean = 2 * BESIDE * (1 if y1 < y2 else -1)
    up, down = up + lean, down - lean
    return f"M{start:g} {up:g}C{middle:g} {up:g} {middle:g} {down:g} {end:g} {down:g}"


PAIRS: Final = frozenset((source, target) for source, target, _ in _pairs())
