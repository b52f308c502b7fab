"""Plots of a report, drawn by Matplotlib: lines, points and bars, light and dark, as SVG or PNG.

What is to be drawn is plain data, so that a report can be made where Matplotlib (the extra ``plots``) is
not installed: it then says so in the plots' place. Matplotlib is loaded with the first plot that is drawn.
Equal data make equal bytes, for a report that is made again is the same report.
"""

# Callers make `Plot` and `Panels`, plain values that say what is to be seen; `in_page` and `files`
# draw them. `drawn` alone touches Matplotlib, and imports it when it is first called, for most
# commands draw nothing. Reports are compared byte by byte, so no date, no random name and no
# setting of the reader's own may get into a file.

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
from typing import Any, Literal, TypeAlias

from streams.support.extras import install

Points: TypeAlias = Sequence[Sequence[float]]
"""``(x, y)`` each, or ``(x, y, low, high)`` where y has an interval."""
Theme: TypeAlias = Literal["light", "dark"]
Form: TypeAlias = Literal["svg", "png"]
Shape: TypeAlias = Literal["wide", "narrow"]
"""For a desk or a phone: what is drawn for one cannot be read on the other."""
THEMES: tuple[Theme, ...] = ("light", "dark")
SHAPES: tuple[Shape, ...] = ("wide", "narrow")
NARROW = "(max-width: 40rem)"
DARK = "(prefers-color-scheme: dark)"
FORMS: tuple[Form, ...] = ("svg", "png")
MISSING = f"Plots need Matplotlib: {install('plots')}."


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
    powers: bool = False
    """Whether both axes go by powers of ten, where a power of x is a straight line."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity over an axis that it shares with others: points with intervals, or bars."""

    y: str
    points: tuple[tuple[float, ...], ...]
    """As ``Points``; what is unknown is left out."""
    numbers: tuple[str, ...]
    """What stands beside each point."""
    bars: bool = False
    most: float | None = None
    """The top of its axis, where that is given."""


@dataclass(frozen=True, slots=True)
class Panels:
    """Several quantities over one axis, one above the other."""

    title: str
    x: str
    panels: tuple[Panel, ...]
    told: str
    """The same in words, for those who cannot see it."""


Drawing: TypeAlias = Plot | Panels


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


def in_page(plots: Iterable[Drawing]) -> list[str]:
    """The plots in HTML, each light or dark as the reader's screen is, with nothing loaded from elsewhere."""
    made: list[str] = []
    for plot in _filled(plots):
        # A lone plot can be read on a phone; panels are drawn again for it, with fewer numbers.
        shapes, kind = (SHAPES, ' class="wide"') if isinstance(plot, Panels) else (SHAPES[:1], "")
        inside: dict[tuple[Shape, Theme], str] = {
            (shape, theme): "data:image/svg+xml;base64,"
            + b64encode(drawn(plot, theme, shape=shape)).decode()
            for shape in shapes
            for theme in THEMES
        }
        made.append(f"<figure{kind}>{picture(inside, told(plot))}</figure>")
    return made


def _filled(plots: Iterable[Drawing]) -> list[Drawing]:
    """Those that show something; none where none can be drawn."""
    if not can_draw():
        return []
    return [
        plot
        for plot in plots
        if any(
            [panel.points for panel in plot.panels]
            if isinstance(plot, Panels)
            else plot.series.values()
        )
    ]


def picture(files: Mapping[tuple[Shape, Theme], str], alt: str) -> str:
    """One picture of several files: by the reader's screen, and by whether it is dark."""
    # A browser takes the first source that fits: the narrowest conditions come first.
    *others, (_, usual) = sources(files)
    said = "".join(f'<source srcset="{escape(file)}" media="{when}">' for when, file in others)
    return f'<picture>{said}<img src="{escape(usual)}" alt="{escape(alt)}"></picture>'


def sources(files: Mapping[tuple[Shape, Theme], str]) -> list[tuple[str, str]]:
    """When which file is to be shown, as media queries; the last is shown where no other is."""
    return [
        (
            " and ".join([*[NARROW] * (shape == "narrow"), *[DARK] * (theme == "dark")]),
            files[shape, theme],
        )
        for shape in reversed(SHAPES)
        for theme in reversed(THEMES)
        if (shape, theme) in files
    ]


def told(plot: Drawing) -> str:
    """The plot for those who cannot see it; the tables hold its numbers."""
    return plot.told if isinstance(plot, Panels) else f"{plot.title}: {', '.join(plot.series)}"


def files(plots: Iterable[Drawing], form: Form) -> list[tuple[str, bytes]]:
    """Name and content of a light and a dark file for each plot; none where Matplotlib is not installed."""
    made: list[tuple[str, bytes]] = []
    for at, plot in enumerate(_filled(plots), 1):
        # Numbered, because titles may be alike once they are cut to what every file system takes.
        plain = re.sub(r"[^a-z0-9]+", "-", plot.title.casefold()).strip("-")[:60].strip("-")
        made += [
            (f"figure-{at}-{plain}-{theme}.{form}", drawn(plot, theme, form)) for theme in THEMES
        ]
    return made


# ── Drawing ──────────────────────────────────────────────────────────────────────────────────

PAPER: Mapping[Theme, str] = {"light": "#ffffff", "dark": "#191d22"}
INK: Mapping[Theme, str] = {"light": "#1e2328", "dark": "#e4e7ea"}
RULE: Mapping[Theme, str] = {"light": "#dedad2", "dark": "#3a414a"}
"""Surface, ink and lines of the pages that plots stand on (``style.css``)."""
COLOURS: Mapping[Theme, tuple[str, ...]] = {
    "light": ("#0072b2", "#d55e00", "#007a59", "#b0508a", "#946200", "#2f8fc4", "#6a6a6a", "#a52a2a"),
    "dark": ("#6cb8e6", "#ff9b57", "#3fcf9f", "#e6a0c8", "#e9bb4a", "#a6d8f5", "#b8b8b8", "#e88a8a"),
}  # fmt: skip
"""Told apart by the colour-blind too; beyond eight, marks and dashes differ."""
MARKS, DASHES = "osD^vPX*", ("-", "--", "-.", ":")
INCHES, DOTS_AN_INCH = (6.4, 3.6), 150
ACROSS: Mapping[Shape, float] = {"wide": 9.6, "narrow": 3.9}
"""Inches of a drawing of panels from left to right."""
NUMBERED: Mapping[Shape, int] = {"wide": 24, "narrow": 10}
"""Points of a panel that can each bear a number; of more than these only the first, the last and the extremes do."""
BESIDE, ROOM = 5.0, 48.0
"""How far apart points are drawn that stand at one place, and how far all of them together, in points of the page."""
FEW = 12
"""Names of a legend beside a plot; more of them stand below it."""
SALT = "metalogue"
"""What Matplotlib names the parts of an SVG by, in place of chance."""


def drawn(
    plot: Drawing, theme: Theme = "light", form: Form = "svg", shape: Shape = "wide"
) -> bytes:
    """The plot as a file. Raises ``ModuleNotFoundError`` where Matplotlib is not installed.

    Not in two threads at once: Matplotlib's settings are one for all.
    """
    matplotlib: Any = import_module("matplotlib")
    kept = io.BytesIO()
    dated = {"Date": None} if form == "svg" else {"Software": None}
    with matplotlib.rc_context(_style(theme)), warnings.catch_warnings():
        figure = _panelled(plot, shape) if isinstance(plot, Panels) else _plotted(plot)
        # a name in a script that its own font lacks; readers of an SVG see it in theirs
        warnings.filterwarnings("ignore", message="Glyph ")
        figure.savefig(kept, format=form, dpi=DOTS_AN_INCH, metadata=dated)
    return kept.getvalue()


def _plotted(plot: Plot) -> Any:
    """A figure of one plot; a long legend stands below it, where the figure grows for it."""
    wide, high = INCHES
    below = 0.1 * max(0, len(plot.series) - FEW) / 3 + 0.5 if len(plot.series) > FEW else 0.0
    # `Figure` itself and not `pyplot`, which keeps every figure until somebody closes it.
    figure: Any = import_module("matplotlib.figure").Figure(
        figsize=(wide, high + below * (not plot.bars)), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.set_title(plot.title, fontsize=10, loc="left")
    axes.grid(visible=True, axis="x" if plot.bars else "both", linewidth=0.6)
    axes.set_axisbelow(True)
    if plot.bars:
        names, counts = [*plot.series], [points[0][1] for points in plot.series.values()]
        axes.bar_label(axes.barh(range(len(names)), counts, color="C0"), fmt="%g", padding=3)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()  # the first name is read first
    else:
        _lines(axes, plot)
    return figure


def _style(theme: Theme) -> dict[str, Any]:
    """Everything that the reader's own matplotlibrc could set otherwise and that would be seen."""
    paper, ink, rule = PAPER[theme], INK[theme], RULE[theme]
    marked: Any = import_module("cycler").cycler
    # After each round of the colours the next dash tells lines apart. A single point has none: so that it has a
    # look of its own too, marks go on by one with each round.
    colours = [*COLOURS[theme]] * len(DASHES)
    marks = [mark for turn in range(len(DASHES)) for mark in MARKS[turn:] + MARKS[:turn]]
    dashes = [dash for dash in DASHES for _ in COLOURS[theme]]
    return {
        "axes.prop_cycle": marked(color=colours, marker=marks, linestyle=dashes),
        "figure.facecolor": paper, "axes.facecolor": paper, "savefig.facecolor": paper,
        "text.color": ink, "axes.labelcolor": ink, "xtick.color": ink, "ytick.color": ink,
        "axes.edgecolor": rule, "grid.color": rule, "axes.spines.top": False, "axes.spines.right": False,
        "font.family": "sans-serif", "font.size": 9, "legend.frameon": False, "legend.fontsize": 8,
        "svg.fonttype": "none", "svg.hashsalt": SALT, "axes.unicode_minus": False, "text.parse_math": False,
    }  # fmt: skip


def _lines(axes: Any, plot: Plot) -> None:
    if plot.diagonal:
        axes.plot([0, 1], [0, 1], color="#888888", linewidth=0.8, linestyle=":", marker="")
    shown = [(name, points) for name, points in plot.series.items() if points]
    for at, (name, points) in enumerate(shown):
        shape: dict[str, Any] = {} if plot.dots else {"marker": ""}
        if not plot.joined:
            shape |= {"linestyle": ""}
        x, y = [p[0] for p in points], [p[1] for p in points]
        spread = _spread(points)
        made = axes.errorbar(
            x, y, yerr=spread, label=name, markersize=4, linewidth=1.6, capsize=3, **shape
        )
        if not plot.joined:
            # Points at one place are drawn beside each other, so that none hides another. They are
            # moved on the page and not in the data: the axes stay as the values want them.
            step = (at - (len(shown) - 1) / 2) * min(BESIDE, ROOM / len(shown)) / 72
            transforms: Any = import_module("matplotlib.transforms")
            move = transforms.ScaledTranslation(step, 0, axes.figure.dpi_scale_trans)
            for part in made.get_children():
                part.set_transform(axes.transData + move)
    axes.set(xlabel=plot.x, ylabel=plot.y)
    if plot.powers:
        axes.set(xscale="log", yscale="log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:,.12g}")
            axis.set_minor_formatter("")
    elif plot.share:
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    else:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    beside: dict[str, Any] = {"bbox_to_anchor": (1.0, 1.0)}
    below: dict[str, Any] = {
        "bbox_to_anchor": (0.0, -0.2), "ncols": 3, "fontsize": 6, "labelspacing": 0.2,
    }  # fmt: skip
    if len(shown) > 1:
        axes.legend(loc="upper left", **(beside if len(shown) <= FEW else below))


def _spread(points: Points) -> list[list[float]] | None:
    """How far intervals reach below and above; nothing where none of the points has one."""
    # Not even zeros: bars of no length would be drawn as little caps.
    if not any(len(point) > 2 for point in points):
        return None
    below = [max(0.0, p[1] - p[2]) if len(p) > 2 else 0.0 for p in points]
    return [below, [max(0.0, p[3] - p[1]) if len(p) > 2 else 0.0 for p in points]]


# ── Panels ───────────────────────────────────────────────────────────────────────────────────


def _panelled(plot: Panels, shape: Shape) -> Any:
    """A figure of panels, the first one the highest."""
    shown = [panel for panel in plot.panels if panel.points]
    # The first panel is the one that matters: it has the room to show its intervals.
    heights = [2.0, *([1.2] * (len(shown) - 1))]
    figure: Any = import_module("matplotlib.figure").Figure(
        figsize=(ACROSS[shape], sum(heights) + 0.9), layout="constrained"
    )
    rows = figure.subplots(len(shown), 1, sharex=True, squeeze=False, height_ratios=heights)
    figure.suptitle(plot.title, fontsize=10, x=0.01, ha="left")
    for at, (axes, panel) in enumerate(zip(rows[:, 0], shown, strict=True)):
        axes.grid(visible=True, axis="y", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.margins(x=0.03)
        _panel(axes, panel, f"C{at}", shape)
    last = rows[-1, 0]
    last.set_xlabel(plot.x)
    last.xaxis.set_major_locator(import_module("matplotlib.ticker").MaxNLocator(integer=True))
    return figure


def _panel(axes: Any, panel: Panel, colour: str, shape: Shape) -> None:
    x, y = [p[0] for p in panel.points], [p[1] for p in panel.points]
    # The upper ends of intervals too, or they would be cut off where the axis ends.
    tops = [max(p[1:]) for p in panel.points]
    most = panel.most if panel.most is not None else max([*tops, 1.0])
    if panel.bars:
        axes.bar(x, y, width=0.4, color=colour)
    else:
        axes.errorbar(
            x, y, yerr=_spread(panel.points), color=colour, ecolor=(colour, 0.45), linestyle="-",
            marker="o", markersize=4, linewidth=1.6, elinewidth=1.2, capsize=3,
        )  # fmt: skip
    axes.set_ylim(0 if panel.bars else -0.04 * most, most * 1.14)
    axes.yaxis.set_major_locator(
        import_module("matplotlib.ticker").MaxNLocator(
            4, integer=most >= 4, steps=[1, 2, 2.5, 5, 10]
        )
    )
    axes.set_title(panel.y, fontsize=8.5, loc="left", pad=3)
    axes.tick_params(labelsize=8)
    ground = {"facecolor": axes.get_facecolor(), "edgecolor": "none", "alpha": 0.75, "pad": 0.4}
    numbered = {*range(len(y))}
    if len(y) > NUMBERED[shape]:
        numbered = {0, len(y) - 1, y.index(min(y)), y.index(max(y))}
    for at in sorted(numbered):
        place = (0, 2) if panel.bars else (5, 5)
        axes.annotate(
            panel.numbers[at], (x[at], y[at]), xytext=place, textcoords="offset points",
            ha="center" if panel.bars else "left", fontsize=7.5, annotation_clip=False, bbox=ground,
        )  # fmt: skip
