"""What batches brought: figures with intervals, and one picture of them for a desk and a phone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.research.analysis.plots import (
    SHAPES,
    THEMES,
    Panels,
    Shape,
    Theme,
    drawn,
    in_page,
    sources,
)
from streams.research.analysis.progress import SHOWN, Batch, figures, picture

MEMBERS = st.lists(
    st.tuples(
        st.sampled_from([True, False, None]),
        st.integers(0, 60),
        st.none() | st.integers(0, 90_000),
    ),
    max_size=12,
)


def batch(number: int, right: int, of: int = 10, **values: Any) -> Batch:
    said: dict[str, Any] = {"calls": (4,) * of, "tokens": (1200,) * of, "lessons": 20} | values
    return Batch(number, tuple(at < right for at in range(of)), **said)


@given(MEMBERS)
def test_each_mean_lies_in_its_interval_and_unknown_is_no_number(
    members: list[tuple[bool | None, int, int | None]],
) -> None:
    outcomes, calls, tokens = zip(*members, strict=True) if members else ((), (), ())
    (said,) = figures([Batch(3, outcomes, calls, tokens, 5)])
    known = [each for each in outcomes if each is not None]
    assert (said["members"], said["graded"], said["right"]) == (
        len(members),
        len(known),
        sum(known),
    )
    assert (said["accuracy"] is None) == (not known)
    assert (said["tokens"] is None) == all(each is None for each in tokens)
    assert said["tokens_unknown"] == tokens.count(None)
    for name in ("accuracy", "calls", "tokens"):
        if said[f"{name}_interval"] is not None:
            low, high = said[f"{name}_interval"]
            assert low - 1e-6 <= said[name] <= high + 1e-6, name


def texts(svg: bytes) -> list[str]:
    """The words of a drawing."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg.decode())


@pytest.mark.parametrize("shape", SHAPES)
def test_the_picture_has_axes_numbers_and_the_lessons_after_their_batch(shape: Any) -> None:
    found = figures(
        [batch(1, 3, calls=tuple(range(1, 11))), batch(2, 8, lessons=17), batch(3, 9, lessons=31)]
    )
    shown = picture("d", found)
    said = texts(drawn(shown, shape=shape))
    assert {"30", "80", "90", "5.5", "1.2k", "17", "31", "batch"} <= set(said)
    for panel in (
        "right answers in %",
        "calls a problem",
        "tokens a problem",
        "lessons that it left",
    ):
        assert any(each.startswith(panel) for each in said), panel
    accuracy, *_, lessons = shown.panels
    assert [point[0] for point in accuracy.points] == [1.0, 2.0, 3.0]
    assert [point[0] for point in lessons.points] == [1.5, 2.5, 3.5]
    assert all(len(point) == 4 for point in accuracy.points), "each has its interval"


def test_what_nobody_graded_or_counted_is_left_out_and_not_drawn_as_nothing() -> None:
    blind = Batch(2, (None,) * 4, (2,) * 4, (None,) * 4, 0)
    accuracy, calls, tokens, _ = picture("d", figures([batch(1, 3), blind])).panels
    assert [point[0] for point in accuracy.points] == [1.0]
    assert [point[0] for point in tokens.points] == [1.0]
    assert [point[0] for point in calls.points] == [1.0, 2.0]
    only = picture("d", figures([blind]))
    assert not any(each.startswith("right answers") for each in texts(drawn(only)))


def test_of_many_batches_the_newest_are_drawn_and_numbers_do_not_lie_on_each_other() -> None:
    found = figures([batch(n, n % 11) for n in range(1, SHOWN + 31)])
    shown = picture("d", found)
    assert f"the newest {SHOWN} of {SHOWN + 30}" in shown.x
    assert len(shown.panels[0].points) == SHOWN
    numbered = [each for each in texts(drawn(shown)) if each == "1.2k"]
    assert len(numbered) <= 4


def test_equal_figures_make_equal_bytes() -> None:
    shown = picture("d", figures([batch(1, 3), batch(2, 5)]))
    assert drawn(shown) == drawn(shown)


def test_a_page_shows_one_picture_by_screen_and_by_colours() -> None:
    (page,) = in_page([picture("d", figures([batch(1, 3), batch(2, 5)]))])
    media = re.findall(r'media="([^"]*)"', page)
    assert media == [
        "(max-width: 40rem) and (prefers-color-scheme: dark)",
        "(max-width: 40rem)",
        "(prefers-color-scheme: dark)",
    ]
    assert 'alt="d. Accuracy, calls and tokens' in page
    files: dict[tuple[Shape, Theme], str] = {
        (shape, theme): f"{shape}-{theme}" for shape in SHAPES for theme in THEMES
    }
    assert [file for _, file in sources(files)] == [
        "narrow-dark",
        "narrow-light",
        "wide-dark",
        "wide-light",
    ]


def test_nothing_is_drawn_of_no_batch() -> None:
    assert in_page([Panels("d", "batch", (), "d")]) == []
    assert picture("d", []).told == "d"
