"""Small plots as inline SVG: curves over the unit square, and bars of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

SIDE, EDGE = 220, 34
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#888", "#a52a2a")


def curves(
    title: str, series: Mapping[str, Sequence[Sequence[float]]], *, diagonal: bool = False
) -> str:
    """Lines through points of the unit square."""
    parts = [_frame(title)]
    if diagonal:
        parts.append(_line([[0, 0], [1, 1]], "#8888", "4"))
    for at, (name, points) in enumerate(series.items()):
        colour = COLOURS[at % len(COLOURS)]
        parts.append(_line(points, colour))
        place = EDGE + 14 * (at + 1)
        parts.append(f'<text x="{EDGE + 6}" y="{place}" fill="{colour}">{escape(name)}</text>')
    return _figure(parts, SIDE + 2 * EDGE)


def bars(title: str, counts: Mapping[str, int]) -> str:
    """A bar a name, as long as its share of the largest."""
    most = max(counts.values(), default=0) or 1
    parts = [f'<text x="0" y="14" font-weight="bold">{escape(title)}</text>']
    for at, (name, count) in enumerate(counts.items()):
        y, width = 22 + 20 * at, 140 * count / most
        parts.append(f'<text x="0" y="{y + 13}">{escape(name)}</text>')
        parts.append(f'<rect x="84" y="{y}" width="{width:.1f}" height="16" fill="{COLOURS[0]}"/>')
        parts.append(f'<text x="{88 + width:.1f}" y="{y + 13}">{count}</text>')
    return _figure(parts, 30 + 20 * len(counts))


def plot(
    title: str,
    series: Mapping[str, Sequence[Sequence[float]]],
    *,
    joined: bool = True,
    dots: bool = True,
) -> str:
    """Points of any size, as dots, joined by lines, or both, with the ends of both axes."""
    points = [point for each in series.values() for point in each]
    if not points:
        return ""
    x, y = _ends([p[0] for p in points]), _ends([0.0, *(p[1] for p in points)])
    parts = [_box(title), *_axis(x, y)]
    for at, (name, each) in enumerate(series.items()):
        colour = COLOURS[at % len(COLOURS)]
        placed = [[(p[0] - x[0]) / (x[1] - x[0]), (p[1] - y[0]) / (y[1] - y[0])] for p in each]
        parts.append(_line(placed, colour) if joined else "")
        parts += [_dot(point, colour, name) for point in placed if dots]
        parts.append(
            f'<text x="{EDGE + SIDE + 6}" y="{EDGE + 14 * (at + 1)}" fill="{colour}">{escape(name)}</text>'
        )
    return _figure(
        parts, max(SIDE + 2 * EDGE, EDGE + 14 * (len(series) + 2)), SIDE + 2 * EDGE + 200
    )


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low, low + 1)


def _axis(x: tuple[float, float], y: tuple[float, float]) -> list[str]:
    far = EDGE + SIDE
    return [
        f'<text x="{EDGE}" y="{far + 16}">{x[0]:,.4g}</text>',
        f'<text x="{far}" y="{far + 16}" text-anchor="end">{x[1]:,.4g}</text>',
        f'<text x="{EDGE - 3}" y="{far}" text-anchor="end">{y[0]:,.3g}</text>',
        f'<text x="{EDGE - 3}" y="{EDGE + 8}" text-anchor="end">{y[1]:,.3g}</text>',
    ]


def _dot(point: Sequence[float], colour: str, name: str) -> str:
    x, y = EDGE + SIDE * point[0], EDGE + SIDE * (1 - point[1])
    title = f"<title>{escape(name)}</title>"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">{title}</circle>'


def _frame(title: str) -> str:
    far = EDGE + SIDE
    marks = "".join(
        f'<text x="{EDGE + SIDE * n / 4 - 8:.0f}" y="{far + 16}">{n / 4:g}</text>'
        f'<text x="2" y="{far - SIDE * n / 4 + 4:.0f}">{n / 4:g}</text>'
        for n in range(5)
    )
    return _box(title) + marks


def _box(title: str) -> str:
    box = f'<rect x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#8888"/>'
    return f'<text x="{EDGE}" y="20" font-weight="bold">{escape(title)}</text>{box}'


def _line(points: Sequence[Sequence[float]], colour: str, dash: str = "") -> str:
    path = " ".join(f"{EDGE + SIDE * x:.1f},{EDGE + SIDE * (1 - y):.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'


def _figure(parts: Sequence[str], height: int, width: int = SIDE + 2 * EDGE) -> str:
    return (
        f'<figure><svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-size="11" fill="currentColor" role="img">{"".join(parts)}</svg></figure>'
    )
