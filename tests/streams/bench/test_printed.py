"""A paper's figure read as a number, and how far ours is from it."""

from __future__ import annotations

from math import hypot
from typing import Any

import pytest

from streams.research.bench.printed import difference, read_printed
from streams.research.bench.recipe import load, names
from streams.research.bench.tables import shown


@pytest.mark.parametrize(
    ("figure", "value", "low", "high"),
    [
        (84.13, 84.13, 84.13, 84.13),
        (0, 0, 0, 0),
        ("12,808", 12_808, 12_808, 12_808),
        ("88.67 ± 8.72", 88.67, 79.95, 97.39),
        ("0.035 [0.026, 0.045]", 0.035, 0.026, 0.045),
        ("18.3 %", 18.3, 18.3, 18.3),
        ("+10.5", 10.5, 10.5, 10.5),
        ("−1.34", -1.34, -1.34, -1.34),
        ("0.352 (↑5.4%)", 0.352, 0.352, 0.352),
        ("0.365(↑9.3%)", 0.365, 0.365, 0.365),
    ],
)
def test_a_printed_figure_is_a_number_with_its_interval(
    figure: Any, value: float, low: float, high: float
) -> None:
    found = read_printed(figure)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high))


@pytest.mark.parametrize(
    "figure",
    [None, "–", "< 0.001", "about 84", "~98 %", "highest", "29–33 % less", "$0.015", "-0.43s"],
)
def test_what_is_printed_roughly_or_in_words_is_no_number(figure: Any) -> None:
    assert read_printed(figure) is None
    assert difference(figure, ours(50.0)) is None


def ours(value: float, interval: Any = None, half_width: float | None = None) -> dict[str, Any]:
    return {
        "value": value, "interval": interval, "half_width": half_width, "places": 2, "known": 10,
        "unknown": 0, "seeds": 1, "seeds_unknown": 0,
    }  # fmt: skip


def test_a_difference_has_the_uncertainty_of_both_sides() -> None:
    exact = difference(50, ours(60.0, (55.0, 66.0)))
    assert exact == {"value": 10.0, "interval": (5.0, 16.0), "places": 2}
    both = difference("50 ± 12", ours(60.0, (55.0, 66.0)))
    assert both is not None
    assert both["interval"] == pytest.approx((10 - hypot(5, 12), 10 + hypot(6, 12)))
    uneven = difference("50 [49, 53]", ours(60.0, (55.0, 66.0)))
    assert uneven is not None
    assert uneven["interval"] == pytest.approx((10 - hypot(5, 3), 10 + hypot(6, 1)))
    over_seeds = difference(50, ours(60.0, None, 3.0))
    assert over_seeds is not None
    assert over_seeds["interval"] == (7.0, 13.0)
    assert difference(50, ours(60.0)) == {"value": 10.0, "interval": None, "places": 2}
    assert difference(50, None) is None, "what is not measured is no difference from anything"


def test_a_column_has_a_difference_where_the_paper_prints_a_number() -> None:
    mine = ours(60.0, (55.0, 66.0))
    each: dict[str, Any] = {
        "title": "Table 1", "model": "m", "note": "", "columns": ["right", "place"],
        "rows": [
            {"name": "a", "cells": [
                {"paper": 50, "ours": mine, "difference": difference(50, mine)},
                {"paper": "highest", "ours": mine, "difference": None},
            ]},
            {"name": "b", "cells": [
                {"paper": None, "ours": None, "difference": None},
                {"paper": "–", "ours": None, "difference": None},
            ]},
        ],
    }  # fmt: skip
    table = shown(each)
    assert table.head == ["", "right: paper", "ours", "difference", "place: paper", "ours"]
    assert table.rows == [
        ["a", "50", "60.00 [55.00, 66.00]", "+10.00 [5.00, 16.00]", "highest", "60.00 [55.00, 66.00]"],
        ["b", "–", "not measured", "–", "–", "not measured"],
    ]  # fmt: skip


def test_most_figures_of_our_recipes_are_numbers() -> None:
    """A way of printing that is not known would take the difference from every table that has it."""
    printed = [
        paper
        for name in names()
        for table in load(name).tables
        for row in table.rows.values()
        for paper in row.paper
        if paper not in (None, "–")
    ]
    unread = {str(paper) for paper in printed if read_printed(paper) is None}
    assert unread <= {
        "< 0.001", "higher", "worst loss", "about 84", "~98 %", "~97 %", "~95 %", "~94 %", "about 20 %", "< 3 %",
        "-0.43s (-2.3%)", "-0.9s (-2.1%)", "highest", "29–33 % less", "$0.015", "$0.125",
        "comparatively low", "consistently higher", "high",
    }  # fmt: skip
