"""Tables of a report as rows of text: which columns they have, and how a figure says what it rests on."""

from __future__ import annotations

from typing import Any

import pytest

from streams.research.bench.tables import (
    ABOUT_PAIRS,
    Shown,
    apart,
    filled,
    measured_table,
    ours,
    pairs_table,
    paper_tables,
    shown,
)


def of(value: float, *, places: int = 1, **more: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {"half_width": None, "interval": None, "known": 4, "unknown": 0}
    return {"value": value, "places": places, **plain, "seeds_unknown": 0, **more}


def cell(
    paper: Any, figure: dict[str, Any] | None = None, difference: Any = None
) -> dict[str, Any]:
    return {"paper": paper, "ours": figure, "difference": difference}


def table(*rows: tuple[str, list[dict[str, Any]]], **more: Any) -> dict[str, Any]:
    columns = [f"c{at}" for at in range(len(rows[0][1]))]
    made = [{"name": name, "cells": cells} for name, cells in rows]
    return {"title": "T", "model": "", "note": "", "columns": columns, "rows": made, **more}


# ── A cell ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        (None, "not measured"),
        (of(1234.56), "1,234.6"),
        (of(50.0, half_width=1_000.25), "50.0 ± 1,000.2"),
        (of(50.0, interval=(-1_000.0, 75.55), places=2), "50.00 [-1,000.00, 75.55]"),
        (of(50.0, half_width=2, interval=(40, 60)), "50.0 ± 2.0 [40.0, 60.0]"),
        (of(50.0, known=1_000, unknown=2_000), "50.0, 1,000 of 3,000"),
        (of(50.0, seeds_unknown=2), "50.0, 2 seeds without"),
        (of(50.0, unknown=1, seeds_unknown=2, places=0), "50, 4 of 5, 2 seeds without"),
    ],
)
def test_a_figure_says_how_far_it_can_be_trusted(figure: dict[str, Any] | None, said: str) -> None:
    assert ours(cell(1, figure)) == said


@pytest.mark.parametrize(
    ("found", "said"),
    [(None, "–"), (of(1234.5), "+1,234.5"), (of(-2.0, interval=(-3, 0.04)), "-2.0 [-3.0, 0.0]")],
)
def test_a_difference_has_its_sign(found: dict[str, Any] | None, said: str) -> None:
    assert apart(found) == said


# ── A table of a paper ───────────────────────────────────────────────────────────────────────


def test_columns_have_the_parts_that_some_row_has() -> None:
    gap = {"value": 1.5, "interval": None, "places": 1}
    made = table(
        ("x", [cell(None, of(1)), cell("about 5", of(2)), cell(3, of(4.5), gap)]),
        ("y", [cell(None), cell(None, of(3)), cell("–", None)]),
    )
    found = shown(made)
    assert found == Shown(
        "T",
        (("c0", ("ours",)), ("c1", ("paper", "ours")), ("c2", ("paper", "ours", "difference"))),
        [
            ["x", "1.0", "about 5", "2.0", "3", "4.5", "+1.5"],
            ["y", "not measured", "–", "3.0", "–", "not measured", "–"],
        ],
    )
    assert found.head == ["", "c0: ours", "c1: paper", "ours", "c2: paper", "ours", "difference"]


def test_a_table_in_which_no_paper_prints_anything_has_plain_columns() -> None:
    found = shown(table(("x", [cell(None, of(1)), cell(None)]), model="M", note="Noted."))
    assert found == Shown("T (M): Noted.", (("c0", ()), ("c1", ())), [["x", "1.0", "not measured"]])
    assert found.head == ["", "c0", "c1"]
    unlike = {"paper": None, "ours": None}
    assert shown(table(("x", [unlike]))).rows == [["x", "not measured"]]


def test_calls_and_simplified_methods_stand_under_a_table() -> None:
    used = {"a": {"calls": 1_234.5, "granted": 2_000}, "b": {"calls": 3, "granted": 16}}
    simple = {"m": "ReST, simplified", "n": "other"}
    found = shown(table(("x", [cell(1)]), used=used, simplified=simple))
    assert found.under == (
        "Calls used in the mean: a 1,234.5 of 2,000; b 3.0 of 16. m: ReST, simplified. n: other."
    )
    assert shown(table(("x", [cell(1)]), simplified=simple)).under.startswith("m: ReST")
    assert shown(table(("x", [cell(1)]))).under == ""


def test_the_paper_s_tables_come_before_ours() -> None:
    made = [table(("x", [cell(1)]), title=name) for name in "abc"]
    assert [each.title for each in paper_tables({"tables": made[:2], "ours": made[2:]})] == [*"abc"]


# ── What was measured ────────────────────────────────────────────────────────────────────────


def measured(run: str, **more: Any) -> dict[str, Any]:
    names = ("accuracy", "coverage", "calls", "tokens", "ece", "aurc", "f1")
    said = {"commission": 2, "omission": 3, "undecided": 4, "not_graded": 5}
    plain: dict[str, Any] = {
        "data": "d",
        "run": run,
        "episodes": 14,
        "metrics": dict.fromkeys(names),
        "outcomes": said,
        "accuracy_interval": None,
        "learning": {"calls": 0, "consolidations": {}},
    }
    return plain | more


def test_each_run_has_a_row_in_which_what_is_unknown_is_a_dash() -> None:
    metrics = {
        "accuracy": of(62.25), "coverage": of(90), "calls": of(3.25), "tokens": of(1_234.5, unknown=1),
        "ece": of(0.1234, unknown=2, seeds_unknown=1), "aurc": of(0.5), "f1": None,
    }  # fmt: skip
    learning = {"calls": 1_200, "consolidations": {"fallback": 1_001, "said": 2}}
    one = measured("a", metrics=metrics, accuracy_interval=(50, 75.06), learning=learning)
    found = measured_table({"measured": [one, measured("b")]})
    assert found.title == "Measured"
    assert found.head == [
        "data", "run", "n", "right %", "95 %", "graded %", "wrong", "withheld", "undecided", "not graded", "calls",
        "tokens", "learning", "ECE", "AURC",
    ]  # fmt: skip
    assert found.rows == [
        ["d", "a", "14", "62.2", "50.0–75.1", "90.0", "2", "3", "4", "5", "3.2", "1,234, 4 of 5",
         "1,200 calls, 1,001 of 1,003 consolidations by fallback", "0.123, 4 of 6, 1 seeds without", "0.500"],
        ["d", "b", "14", "–", "–", "–", "2", "3", "4", "5", "–", "–", "0 calls", "–", "–"],
    ]  # fmt: skip
    assert found.under == "Not known of any: F1."


def test_a_judge_has_columns_beside_the_others_where_one_was_asked() -> None:
    judge = {"accuracy": 0.75, "coverage": 1.0}
    found = measured_table({"measured": [measured("a", judge=judge), measured("b")]})
    assert found.head[-2:] == ["with a judge", "coverage with it"]
    assert [row[-2:] for row in found.rows] == [["75.0 %", "100.0 %"], ["–", "–"]]


def test_pairs_say_how_much_more_and_of_how_many() -> None:
    pair = {
        "run": "b", "over": "a", "only_run": 1_000, "only_over": 2, "p": 0.00012345, "left_out": 3_000,
        "accuracy": of(12.5, interval=(1, 24)), "calls": of(-2, unknown=1), "tokens": None,
    }  # fmt: skip
    found = pairs_table({"comparisons": {"d": {"pairs": [pair]}, "e": {"pairs": []}}})
    assert found == Shown(
        "Pairs",
        tuple((name, ()) for name in (
            "run", "over", "right % more", "only run", "only over", "McNemar's p", "not graded in both", "calls more",
        )),
        [["d", "b", "a", "+12.5 [1.0, 24.0]", "1,000", "2", "0.000123", "3,000", "-2.0, 4 of 5"]],
        f"{ABOUT_PAIRS} Not known of any: tokens more.",
        "data",
    )  # fmt: skip
    known = pairs_table({"comparisons": {"d": {"pairs": [pair | {"tokens": of(5)}]}}})
    assert known is not None
    assert known.under == ABOUT_PAIRS


def test_a_column_of_dashes_is_named_and_left_out_but_never_all_of_them() -> None:
    found = filled("T", ["a", "b", "c"], [["x", "–", "–"], ["y", "–", "1"]])
    assert found == Shown("T", (("c", ()),), [["x", "–"], ["y", "1"]], "Not known of any: b.", "a")
    assert filled("T", ["a", "b"], [["x", "1"]]).under == ""
    assert filled("T", ["a", "b"], []) == Shown("T", (), [], "", "a"), "of nothing nothing is said"
