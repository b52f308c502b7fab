"""Plots of a report, drawn by Matplotlib: lines, points and bars, light and dark, as SVG or PNG.

What is to be drawn is plain data, so that a report can be made where Matplotlib (the extra ``plots``) is
not installed: it then says so in the plots' place. Matplotlib is loaded with the first plot that is drawn.
Equal data make equal bytes, for a report that is made again is the same report.
"""

from __future__ import annotations

import io
import re
import warnings
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle
from typing import Any, Literal, TypeAlias

Points: TypeAlias = Sequence[Sequence[float]]
"""``(x, y)`` each, or ``(x, y, low, high)`` where y has an interval."""
Theme: TypeAlias = Literal["light", "dark"]
Form: TypeAlias = Literal["svg", "png"]
THEMES: tuple[Theme, ...] = ("light", "dark")
FORMS: tuple[Form, ...] = ("svg", "png")
MISSING = "Plots need Matplotlib: pip install 'metalogue[plots]'."


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot shows a line or points for each name, or a bar for each name."""

    title: str
    series: Mapping[str, Points]
    x: str = ""
    y: str = ""
    joined: bool = True
    dots: bool = True
    diagonal: bool = False
    """Whether a line shows where y would equal x."""
    share: bool = False
    """Whether both axes go from 0 to 1."""
    bars: bool = False
    """Whether each name has one point, whose y is the length of a bar."""


def curves(
    title: str,
    series: Mapping[str, Points],
    *,
    x: str = "",
    y: str = "",
    diagonal: bool = False,
    dots: bool = False,
) -> Plot:
    """Lines through points of the unit square."""
    return Plot(title, series, x, y, diagonal=diagonal, dots=dots, share=True)


def bars(title: str, counts: Mapping[str, int]) -> Plot:
    """A bar a name, as long as its count."""
    return Plot(title, {name: [(0.0, float(count))] for name, count in counts.items()}, bars=True)


# ── On a page and in files ───────────────────────────────────────────────────────────────────


def can_draw() -> bool:
    """Whether Matplotlib is installed."""
    return find_spec("matplotlib") is not None


def without() -> list[str]:
    """What a page says where plots cannot be drawn; nothing where they can."""
    return [] if can_draw() else [f"<p>{escape(MISSING)}</p>"]


def in_page(plots: Iterable[Plot]) -> list[str]:
    """The plots in HTML, each light or dark as the reader's screen is, with nothing loaded from elsewhere."""
    return [_picture(each) for each in _filled(plots)]


def _filled(plots: Iterable[Plot]) -> list[Plot]:
    """Those that show something; none where none can be drawn."""
    return [each for each in plots if any(each.series.values())] if can_draw() else []


def _picture(plot: Plot) -> str:
    light, dark = (_address(drawn(plot, theme)) for theme in THEMES)
    source = f'<source srcset="{dark}" media="(prefers-color-scheme: dark)">'
    image = f'<img src="{light}" alt="{escape(_told(plot))}">'
    return f"<figure><picture>{source}{image}</picture></figure>"


def _told(plot: Plot) -> str:
    """The plot for those who cannot see it; the tables hold its numbers."""
    return f"{plot.title}: {', '.join(plot.series)}"


def _address(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{b64encode(svg).decode()}"


def files(plots: Iterable[Plot], form: Form) -> list[tuple[str, bytes]]:
    """Name and content of a light and a dark file for each plot; none where Matplotlib is not installed."""
    return [
        (f"figure-{at}-{_plain(plot.title)}-{theme}.{form}", drawn(plot, theme, form))
        for at, plot in enumerate(_filled(plots), 1)
        for theme in THEMES
    ]


def _plain(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")[:60].strip("-")


# ── Drawing ──────────────────────────────────────────────────────────────────────────────────

PAPER: Mapping[Theme, str] = {"light": "#ffffff", "dark": "#17171b"}
INK: Mapping[Theme, str] = {"light": "#1f1f24", "dark": "#e8e8ec"}
RULE: Mapping[Theme, str] = {"light": "#d6d6dc", "dark": "#3c3c44"}
COLOURS: Mapping[Theme, tuple[str, ...]] = {
    "light": ("#0072b2", "#d55e00", "#007a59", "#b0508a", "#946200", "#2f8fc4", "#6a6a6a", "#a52a2a"),
    "dark": ("#6cb8e6", "#ff9b57", "#3fcf9f", "#e6a0c8", "#e9bb4a", "#a6d8f5", "#b8b8b8", "#e88a8a"),
}  # fmt: skip
"""Told apart by the colour-blind too; beyond eight, marks and dashes differ."""
MARKS, DASHES = "osD^vPX*", ("-", "--", "-.", ":")
INCHES, DOTS_AN_INCH = (6.4, 3.6), 150
SALT = "metalogue"
"""What Matplotlib names the parts of an SVG by, in place of chance."""


def drawn(plot: Plot, theme: Theme = "light", form: Form = "svg") -> bytes:
    """The plot as a file. Raises ``ModuleNotFoundError`` where Matplotlib is not installed."""
    matplotlib: Any = import_module("matplotlib")
    with matplotlib.rc_context(_style(theme)):
        figure: Any = import_module("matplotlib.figure").Figure(
            figsize=INCHES, layout="constrained"
        )
        axes = figure.add_subplot()
        axes.set_title(plot.title, fontsize=10, loc="left")
        axes.grid(visible=True, axis="x" if plot.bars else "both", linewidth=0.6)
        axes.set_axisbelow(True)
        if plot.bars:
            _bars(axes, plot)
        else:
            _lines(axes, plot)
        return _saved(figure, form)


def _saved(figure: Any, form: Form) -> bytes:
    kept = io.BytesIO()
    dated = {"Date": None} if form == "svg" else {"Software": None}
    with warnings.catch_warnings():
        # a name in a script that its own font lacks; readers of an SVG see it in theirs
        warnings.filterwarnings("ignore", message="Glyph ")
        figure.savefig(kept, format=form, dpi=DOTS_AN_INCH, metadata=dated)
    return kept.getvalue()


def _style(theme: Theme) -> dict[str, Any]:
    paper, ink, rule = PAPER[theme], INK[theme], RULE[theme]
    marked: Any = import_module("cycler").cycler
    colours = COLOURS[theme]
    some = [c for c, _ in zip(cycle(colours), range(len(colours) * len(DASHES)), strict=False)]
    marks = [m for m, _ in zip(cycle(MARKS), some, strict=False)]
    dashes = [dash for dash in DASHES for _ in colours]
    return {
        "axes.prop_cycle": marked(color=some, marker=marks, linestyle=dashes),
        "figure.facecolor": paper, "axes.facecolor": paper, "savefig.facecolor": paper,
        "text.color": ink, "axes.labelcolor": ink, "xtick.color": ink, "ytick.color": ink,
        "axes.edgecolor": rule, "grid.color": rule, "axes.spines.top": False, "axes.spines.right": False,
        "font.family": "sans-serif", "font.size": 9, "legend.frameon": False, "legend.fontsize": 8,
        "svg.fonttype": "none", "svg.hashsalt": SALT, "axes.unicode_minus": False, "text.parse_math": False,
    }  # fmt: skip


def _lines(axes: Any, plot: Plot) -> None:
    if plot.diagonal:
        axes.plot([0, 1], [0, 1], color="#888888", linewidth=0.8, linestyle=":", marker="")
    for name, points in plot.series.items():
        if not points:
            continue
        shape: dict[str, Any] = {} if plot.dots else {"marker": ""}
        shape |= {} if plot.joined else {"linestyle": ""}
        x, y = [p[0] for p in points], [p[1] for p in points]
        spread = _spread(points)
        axes.errorbar(
            x, y, yerr=spread, label=name, markersize=4, linewidth=1.6, capsize=3, **shape
        )
    axes.set(xlabel=plot.x, ylabel=plot.y)
    if plot.share:
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    else:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    if len(plot.series) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _spread(points: Points) -> list[list[float]] | None:
    """How far intervals reach below and above; nothing where none of the points has one."""
    if not any(len(point) > 2 for point in points):
        return None
    below = [max(0.0, p[1] - p[2]) if len(p) > 2 else 0.0 for p in points]
    return [below, [max(0.0, p[3] - p[1]) if len(p) > 2 else 0.0 for p in points]]


def _bars(axes: Any, plot: Plot) -> None:
    names, counts = [*plot.series], [points[0][1] for points in plot.series.values()]
    axes.bar_label(axes.barh(range(len(names)), counts, color="C0"), fmt="%g", padding=3)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
