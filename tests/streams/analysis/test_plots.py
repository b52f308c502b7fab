"""What is seen of a plot: its axes, lines, intervals, names and colours, whoever draws it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import pytest

from streams.research.analysis import plots
from streams.research.analysis.plots import (
    COLOURS,
    DARK,
    INK,
    NARROW,
    PAPER,
    SHAPES,
    THEMES,
    Panel,
    Panels,
    Plot,
    bars,
    curves,
    drawn,
    files,
    in_page,
    picture,
    told,
    without,
)
from tests.stand_ins import noting

LINE = [(0.0, 1.0), (1.0, 3.0)]
See: TypeAlias = Callable[..., Any]


@pytest.fixture
def see(monkeypatch: pytest.MonkeyPatch) -> See:
    """Draws, and gives the figure as Matplotlib holds it just before it is written."""
    figure: Any = import_module("matplotlib.figure").Figure
    kept: list[Any] = []
    monkeypatch.setattr(figure, "savefig", noting(kept, alone=True))

    def draw(plot: Plot | Panels, **how: Any) -> Any:
        drawn(plot, **how)
        return kept[-1]

    return draw


def lines(axes: Any) -> list[Any]:
    """The lines with a name, in the order of their drawing."""
    return [each.lines[0] for each in axes.containers]


def legend(axes: Any) -> list[str] | None:
    found = axes.get_legend()
    return None if found is None else [each.get_text() for each in found.get_texts()]


# ── One plot ─────────────────────────────────────────────────────────────────────────────────


def test_a_plot_has_a_line_for_each_name_that_has_points(see: See) -> None:
    figure = see(Plot("t <1>", {"a": LINE, "none": [], "b": [(0.5, -2.0)]}, "x", "y"))
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "t <1>"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    assert legend(axes) == ["a", "b"]
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in lines(axes)] == [
        ([0.0, 1.0], [1.0, 3.0]),
        ([0.5], [-2.0]),
    ]
    assert {line.get_linestyle() for line in lines(axes)} == {"-"}
    assert [line.get_marker() for line in lines(axes)] == ["o", "s"]
    assert axes.get_ylim()[0] < -2, "what is below 0 is seen"
    assert [axis.get_scale() for axis in (axes.xaxis, axes.yaxis)] == ["linear", "linear"]
    assert len(axes.lines) == 2, "no line shows where y would equal x"


def test_an_axis_begins_at_nothing_where_all_is_above_it(see: See) -> None:
    (axes,) = see(Plot("t", {"a": [(0, 10.0), (1, 12.0)]})).axes
    assert axes.get_ylim()[0] == 0
    assert legend(axes) is None, "one name needs no telling apart"


def test_curves_fill_the_unit_square_with_a_diagonal_and_dots_where_they_are_wanted(
    see: See,
) -> None:
    (axes,) = see(curves("t", {"a": LINE}, x="x", y="y")).axes
    assert (axes.get_xlim(), axes.get_ylim()) == ((-0.02, 1.02), (-0.02, 1.02))
    assert [line.get_marker() for line in lines(axes)] in ([""], ["None"])
    (axes,) = see(curves("t", {"a": LINE}, diagonal=True, dots=True)).axes
    diagonal, line = axes.lines
    assert (list(diagonal.get_xdata()), list(diagonal.get_ydata())) == ([0, 1], [0, 1])
    assert (diagonal.get_linestyle(), diagonal.get_marker()) == (":", "")
    assert line.get_marker() == "o"


def intervals(axes: Any) -> list[list[tuple[float, float]]]:
    """From where to where the bars of each name's points reach."""
    found: list[list[tuple[float, float]]] = []
    for each in axes.containers:
        spans = [path[:, 1] for group in each.lines[2] for path in group.get_segments()]
        found.append([(round(float(y[0]), 6), round(float(y[-1]), 6)) for y in spans])
    return found


def test_an_interval_is_drawn_from_its_low_to_its_high_end_and_none_where_none_is_known(
    see: See,
) -> None:
    told_of: dict[str, Any] = {
        "a": [(0, 2.0, 1.5, 4.0), (1, 3.0), (2, 1.0, 1.25, 0.5)],
        "b": [(0, 1.0), (1, 2.0)],
    }
    (axes,) = see(Plot("t", told_of)).axes
    assert intervals(axes) == [[(1.5, 4.0), (3.0, 3.0), (1.0, 1.0)], []]


def test_points_that_are_not_joined_stand_beside_each_other_where_their_values_agree(
    see: See,
) -> None:
    names = {name: [(1.0, 2.0)] for name in "abc"}
    (axes,) = see(Plot("t", names, joined=False)).axes
    assert {line.get_linestyle() for line in lines(axes)} == {"None"}
    assert all(list(line.get_xdata()) == [1.0] for line in lines(axes)), "values stay"
    at = [line.get_transform().transform((1.0, 2.0)) for line in lines(axes)]
    left, middle, right = (float(x) for x, _ in at)
    assert left < middle < right
    assert right - middle == pytest.approx(middle - left)
    assert middle == pytest.approx(float(axes.transData.transform((1.0, 2.0))[0]))
    assert {round(float(y), 6) for _, y in at} == {
        round(float(axes.transData.transform((1.0, 2.0))[1]), 6)
    }
    dots_an_inch = axes.figure.dpi
    assert right - middle == pytest.approx(5 / 72 * dots_an_inch)
    many = {str(at): [(1.0, 2.0)] for at in range(25)}
    (axes,) = see(Plot("t", many, joined=False)).axes
    first, *_, last = (float(line.get_transform().transform((1, 2))[0]) for line in lines(axes))
    assert last - first == pytest.approx(24 / 25 * 48 / 72 * dots_an_inch), "all within one room"


def test_powers_are_drawn_on_axes_of_powers_with_plain_numbers(see: See) -> None:
    (axes,) = see(Plot("t", {"a": [(1.0, 10.0), (1000.0, 10000.0)]}, powers=True)).axes
    for axis in (axes.xaxis, axes.yaxis):
        assert axis.get_scale() == "log"
        assert axis.get_major_formatter()(10000, 0) == "10,000"
        assert axis.get_minor_formatter()(20, 0) == ""


def test_bars_are_as_long_as_their_counts_and_the_first_name_stands_on_top(see: See) -> None:
    (axes,) = see(bars("t", {"right": 12, "wrong": 3})).axes
    (shown,) = axes.containers
    assert [bar.get_width() for bar in shown] == [12, 3]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["right", "wrong"]
    assert {text.get_text() for text in axes.texts} == {"12", "3"}
    low, high = axes.get_ylim()
    assert low > high, "the first name is read first"
    assert axes.get_title(loc="left") == "t"
    assert legend(axes) is None
    grid = [axis.get_gridlines()[0].get_visible() for axis in (axes.xaxis, axes.yaxis)]
    assert grid == [True, False]


def test_many_names_stand_below_the_plot_which_grows_for_them(see: See) -> None:
    def high(names: int, plot: Callable[[dict[str, Any]], Plot]) -> float:
        height: float = see(plot({f"n{at:02}": LINE for at in range(names)})).get_figheight()
        return height

    def joined(series: dict[str, Any]) -> Plot:
        return Plot("t", series)

    assert high(12, joined) == high(1, joined) < high(13, joined) < high(16, joined)
    assert high(16, joined) - high(13, joined) == pytest.approx(0.1), "three names a row"
    assert high(13, lambda series: bars("t", dict.fromkeys(series, 1))) == high(1, joined)
    (few,) = see(Plot("t", {f"n{at}": LINE for at in range(12)})).axes
    (many,) = see(Plot("t", {f"n{at}": LINE for at in range(13)})).axes
    for axes in (few, many):
        axes.figure.draw_without_rendering()
    place = few.get_legend().get_window_extent(), many.get_legend().get_window_extent()
    assert place[0].x0 >= few.bbox.x1, "beside it"
    assert place[1].y1 <= many.bbox.y0, "below it"
    tops = {round(float(t.get_window_extent().y0)) for t in many.get_legend().get_texts()}
    assert len(tops) == 5, "thirteen names in rows of three"


def test_as_many_names_as_there_are_colours_marks_and_dashes_look_different(see: See) -> None:
    (axes,) = see(Plot("t", {str(at): LINE for at in range(32)}), theme="dark").axes
    looks = [(each.get_color(), each.get_marker(), each.get_linestyle()) for each in lines(axes)]
    assert len(set(looks)) == 32
    assert [colour for colour, *_ in looks[:8]] == list(COLOURS["dark"])
    assert len({mark for _, mark, _ in looks[:8]}) == 8
    assert len({(colour, mark) for colour, mark, _ in looks}) == 32, "a single point has no dash"
    assert {dash for *_, dash in looks[:8]} == {"-"}


@pytest.mark.parametrize("theme", THEMES)
def test_a_plot_has_the_colours_of_the_page_it_stands_on(see: See, theme: Any) -> None:
    colour: Any = import_module("matplotlib.colors").to_hex
    figure = see(Plot("t", {"a": LINE, "b": LINE}, "x", "y"), theme=theme)
    (axes,) = figure.axes
    assert colour(figure.get_facecolor()) == colour(axes.get_facecolor()) == PAPER[theme]
    words = [axes.xaxis.label, axes.yaxis.label, *axes.get_legend().get_texts()]
    assert {colour(each.get_color()) for each in words} == {INK[theme]}
    shown = {side: spine.get_visible() for side, spine in axes.spines.items()}
    assert shown == {"left": True, "bottom": True, "top": False, "right": False}


# ── Files ────────────────────────────────────────────────────────────────────────────────────


def test_a_reader_s_own_settings_change_no_byte() -> None:
    matplotlib: Any = import_module("matplotlib")
    plot = Plot("costs $5 to $9", {"a": [(0.0, -1.0), (1.0, 3.0)], "b": LINE}, "x", "y")
    usual = drawn(plot)
    assert ">costs $5 to $9</text>" in usual.decode(), "as text, and not as a formula"
    assert ">−" not in usual.decode(), "a minus that can be searched for"
    odd = {
        "font.size": 20, "axes.facecolor": "red", "text.color": "green", "svg.fonttype": "path",
        "axes.spines.top": True, "legend.frameon": True, "axes.unicode_minus": True, "grid.color": "blue",
    }  # fmt: skip
    with matplotlib.rc_context(odd):
        assert drawn(plot) == usual
    assert drawn(plot, "dark") != usual
    png = drawn(plot, "light", "png")
    assert png == drawn(plot, "light", "png")
    assert png.startswith(b"\x89PNG")
    assert b"Software" not in png
    assert b"<dc:date>" not in usual


def test_files_are_numbered_and_named_by_what_they_show(monkeypatch: pytest.MonkeyPatch) -> None:

    def named(_: Plot, theme: str, form: str) -> bytes:
        return f"{theme} {form}".encode()

    monkeypatch.setattr(plots, "drawn", named)
    long = Plot("x" * 59 + " yz", {"a": LINE})
    made = files([Plot("Risk, by COVERAGE!", {"a": LINE}), Plot("empty", {"a": []}), long], "png")
    assert made == [
        ("figure-1-risk-by-coverage-light.png", b"light png"),
        ("figure-1-risk-by-coverage-dark.png", b"dark png"),
        (f"figure-2-{'x' * 59}-light.png", b"light png"),
        (f"figure-2-{'x' * 59}-dark.png", b"dark png"),
    ]
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    assert files([long], "svg") == []
    assert in_page([long]) == []


def test_a_page_says_what_is_missing_where_nothing_can_be_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plots, "can_draw", lambda: True)
    assert without() == []
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    (said,) = without()
    assert said.startswith("<p>Plots need Matplotlib: ")
    assert "&#x27;" in said, "what stands in it is escaped"


def test_a_page_holds_a_plot_by_colours_and_panels_by_screen_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plots, "can_draw", lambda: True)

    def named(_: Plot, theme: str, shape: str) -> bytes:
        return f"{shape} {theme}".encode()

    monkeypatch.setattr(plots, "drawn", named)
    panels = Panels("p", "x", (Panel("y", ((1.0, 2.0),), ("2",)),), "told <so>")
    lone, both = in_page([Plot("t & u", {"a": LINE, "b": []}), panels, Panels("", "", (), "")])
    begun = "data:image/svg+xml;base64,"
    assert lone == (
        f'<figure><picture><source srcset="{begun}d2lkZSBkYXJr" media="{DARK}">'
        f'<img src="{begun}d2lkZSBsaWdodA==" alt="t &amp; u: a, b"></picture></figure>'
    )
    assert both.startswith(f'<figure class="wide"><picture><source srcset="{begun}')
    assert both.count("<source") == 3
    assert f'media="{NARROW} and {DARK}"' in both
    assert 'alt="told &lt;so&gt;"' in both
    assert told(panels) == "told <so>"
    alone = picture({("wide", "light"): "a&b.svg"}, "x<y")
    assert alone == '<picture><img src="a&amp;b.svg" alt="x&lt;y"></picture>'


# ── Panels ───────────────────────────────────────────────────────────────────────────────────


def panel(values: list[float], **more: Any) -> Panel:
    points = tuple((float(at), value) for at, value in enumerate(values, 1))
    return Panel("y", points, tuple(f"{value:g}" for value in values), **more)


def test_panels_stand_one_above_the_other_over_one_axis_of_whole_numbers(see: See) -> None:
    first = Panel("right", ((1.0, 40.0, 30.0, 60.0), (2.0, 50.0)), ("40", "50"), most=100.0)
    shown = (first, panel([]), panel([2.0, 4.0], bars=True), panel([0.25, 0.5]))
    figure = see(Panels("learning", "batch", shown, "told"))
    top, middle, below = figure.axes
    assert figure.get_suptitle() == "learning"
    assert [each.get_title(loc="left") for each in figure.axes] == ["right", "y", "y"]
    assert [each.get_xlabel() for each in figure.axes] == ["", "", "batch"]
    assert top.get_shared_x_axes().joined(top, below)
    assert all(tick == int(tick) for tick in below.get_xticks())
    assert intervals(top) == [[(30.0, 60.0), (50.0, 50.0)]]
    assert [bar.get_height() for bar in middle.patches] == [2.0, 4.0]
    assert [bar.get_x() + bar.get_width() / 2 for bar in middle.patches] == [1.0, 2.0]
    assert top.get_ylim() == pytest.approx((-4.0, 114.0)), "an accuracy's axis has a top of its own"
    assert middle.get_ylim() == pytest.approx((0.0, 4.56)), "bars stand on the axis"
    assert below.get_ylim() == pytest.approx((-0.04, 1.14))
    figure.draw_without_rendering()
    heights = [each.bbox.height for each in figure.axes]
    assert heights[0] > heights[1] == pytest.approx(heights[2])
    assert lines(top)[0].get_color() != lines(below)[0].get_color()
    assert all(tick == int(tick) for tick in middle.get_yticks()), "counts are whole"
    assert any(tick != int(tick) for tick in below.get_yticks())


def test_an_axis_reaches_to_the_upper_end_of_intervals(see: See) -> None:
    (axes,) = see(Panels("", "", (Panel("y", ((1.0, 2.0, 1.0, 50.0),), ("2",)),), "")).axes
    assert axes.get_ylim()[1] == pytest.approx(57.0)


@pytest.mark.parametrize(("shape", "room"), [("wide", 24), ("narrow", 10)])
def test_numbers_stand_at_all_points_or_at_the_ends_and_extremes(
    see: See, shape: Any, room: int
) -> None:
    values = [5.0] * (room - 3) + [1.0, 9.0, 5.0]
    (axes,) = see(Panels("", "", (panel(values),), ""), shape=shape).axes
    assert [text.get_text() for text in axes.texts] == [f"{each:g}" for each in values]
    (axes,) = see(Panels("", "", (panel([4.0, *values[:-1], 6.0]),), ""), shape=shape).axes
    said = [(text.xy, text.get_text(), text.get_ha()) for text in axes.texts]
    assert said == [
        ((1.0, 4.0), "4", "left"),
        ((room - 1, 1.0), "1", "left"),
        ((room, 9.0), "9", "left"),
        ((room + 1, 6.0), "6", "left"),
    ]


def test_a_number_stands_above_its_bar_and_beside_its_point(see: See) -> None:
    (axes,) = see(Panels("", "", (panel([3.0], bars=True),), "")).axes
    said = [(text.xy, text.get_ha(), text.xyann) for text in axes.texts]
    assert said == [((1.0, 3.0), "center", (0, 2))]
    wide, narrow = (see(Panels("", "", (panel([3.0]),), ""), shape=shape) for shape in SHAPES)
    assert wide.get_figwidth() > narrow.get_figwidth()
    assert wide.get_figheight() == narrow.get_figheight()


def test_what_is_read_off_lies_above_the_lines_that_help_to_read_it(see: See) -> None:
    """A grid lies behind everything, a number on a ground of its own, also where an axis ends."""
    colour: Any = import_module("matplotlib.colors").to_hex
    (lone,) = see(Plot("t", {"a": LINE})).axes
    (bar,) = see(bars("t", {"a": 1})).axes
    panels = see(
        Panels("", "", (panel([1.0, 2.0]), panel([3.0], bars=True)), ""), theme="dark"
    ).axes
    for axes in (lone, bar, *panels):
        assert axes.get_axisbelow() is True

    def grid(axes: Any) -> list[bool]:
        return [a.get_gridlines()[0].get_visible() for a in (axes.xaxis, axes.yaxis)]

    assert [grid(axes) for axes in (lone, bar, *panels)] == [
        [True, True],
        [True, False],
        [False, True],
        [False, True],
    ]
    number, *_ = panels[0].texts
    ground = number.get_bbox_patch()
    assert colour(ground.get_facecolor()) == PAPER["dark"]
    assert 0 < ground.get_alpha() < 1, "what lies below shines through"
    assert number.get_annotation_clip() is False
    assert number.anncoords == "offset points"
    heading = panels[0].yaxis.label.get_fontsize()
    assert number.get_fontsize() < heading, "it has little room"


def test_an_axis_has_a_few_round_numbers_and_whole_ones_where_it_counts(see: See) -> None:
    def ticks(values: list[float], **more: Any) -> list[float]:
        (axes,) = see(Panels("", "", (panel(values, **more),), "")).axes
        low, high = axes.get_ylim()
        return [float(tick) for tick in axes.get_yticks() if low <= tick <= high]

    assert ticks([30.0, 100.0], most=100.0) == [0, 50, 100]
    assert ticks([2.0, 4.0], bars=True) == [0, 2, 4]
    assert ticks([0.25, 0.5]) == [0, 0.5, 1], "an axis of less than one goes up to it"
    assert ticks([120.0, 900.0]) == [0, 500, 1000]
    assert ticks([7.0, 23.0]) == [0, 10, 20]


def test_a_picture_has_the_size_that_its_place_has(see: See) -> None:
    """Of a page: 6.4 by 3.6 inches, or panels of a desk's or a phone's width, one higher for each."""
    for plot in (Plot("t", {"a": LINE}), bars("t", {"a": 1})):
        assert see(plot).get_size_inches().tolist() == [6.4, 3.6]
    sizes = {
        (shape, count): see(
            Panels("", "", (panel([1.0]),) * count, ""), shape=shape
        ).get_size_inches()
        for shape in SHAPES
        for count in (1, 3)
    }
    assert {key: [round(float(each), 6) for each in size] for key, size in sizes.items()} == {
        ("wide", 1): [9.6, 2.9],
        ("wide", 3): [9.6, 5.3],
        ("narrow", 1): [3.9, 2.9],
        ("narrow", 3): [3.9, 5.3],
    }


def test_points_keep_clear_of_the_edges_and_bars_of_each_other(see: See) -> None:
    dots, lengths = see(Panels("", "", (panel([1.0, 2.0]), panel([1.0, 2.0], bars=True)), "")).axes
    low, high = dots.get_xlim()
    assert 0.5 < low < 1 < 2 < high < 2.5
    assert all(bar.get_width() <= 0.5 for bar in lengths.patches)
    assert [text.xyann for text in dots.texts] == [(5, 5)] * 2, (
        "a number stands right above its point"
    )


def test_a_png_is_sharp_on_a_screen() -> None:
    png = drawn(Plot("t", {"a": LINE}), "light", "png")
    assert [int.from_bytes(png[at : at + 4]) for at in (16, 20)] == [960, 540]
