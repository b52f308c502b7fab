"""Tables for an appendix, read back: CSV by ``csv``, LaTeX by its own structure."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest

from streams.research.analysis.plots import (
    COLOURS,
    THEMES,
    Plot,
    bars,
    curves,
    drawn,
    files,
    in_page,
    without,
)
from streams.research.bench.exports import exports, latex, spelt, table_csv
from streams.research.bench.tables import Shown, shown
from tests.streams.bench.test_printed import ours

AWKWARD = 'a, "b" & 50% of $x_1$ #2 {~^\\} <|> [c] *\nλ ≤ 0.5 → MC² ± – --'
MINE = ours(60.0, (55.0, 66.0), 1.5)
CELL = {
    "paper": "50 ± 2",
    "ours": MINE,
    "difference": {"value": 10.0, "interval": (4.0, 16.0), "places": 2},
}
NOTHING = {
    "paper": None,
    "ours": None,
    "why": "not measured: d, its set, is not here",
    "difference": None,
}
TABLE: dict[str, Any] = {
    "title": f"Table 1: {AWKWARD}",
    "model": "GPT_4 & co",
    "note": "",
    "columns": [AWKWARD, "calls"],
    "rows": [
        {"name": AWKWARD, "cells": [CELL, {**NOTHING, "paper": 3}]},
        {"name": "[b]", "cells": [NOTHING, NOTHING]},
    ],
    "used": {"a_b": {"calls": 9.5, "granted": 16}},
}
PAIR: dict[str, Any] = {
    "run": AWKWARD, "over": "b", "only_run": 3, "only_over": 1, "p": 0.625, "left_out": 0,
    "accuracy": MINE, "calls": MINE, "tokens": None,
}  # fmt: skip
METRICS = {"accuracy": MINE, "tokens": None}


def made() -> dict[str, Any]:
    outcomes = {"commission": 0, "omission": 1, "undecided": 2, "not_graded": 0}
    named = ("coverage", "calls", "ece", "aurc", "f1")
    one: dict[str, Any] = {
        "data": "d, e", "run": AWKWARD, "episodes": 3, "outcomes": outcomes, "accuracy_interval": None,
        "metrics": METRICS | dict.fromkeys(named), "learning": {"calls": 0, "consolidations": {}},
    }  # fmt: skip
    beside: dict[str, Any] = {"pairs": [PAIR]}
    return {
        "tables": [TABLE, TABLE],
        "ours": [TABLE],
        "measured": [one],
        "comparisons": {"d, e": beside},
    }


def test_each_table_has_both_files_in_the_papers_order() -> None:
    names = [name for name, _ in exports(made())]
    tables = [f"table-{at}.{ending}" for at in (1, 2, 3) for ending in ("csv", "tex")]
    assert names == [*tables, "measured.csv", "measured.tex", "pairs.csv", "pairs.tex"]


def test_a_pair_is_read_back_with_both_of_its_directions_and_an_unknown_gain_is_not_zero() -> None:
    text = dict(exports(made()))["pairs.csv"]
    [row] = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    assert (row["run"], row["over"]) == (AWKWARD, "b")
    assert (row["only_run"], row["only_over"], row["p"]) == ("3", "1", "0.625")
    assert (row["accuracy"], row["accuracy_low"], row["accuracy_high"]) == ("60.0", "55.0", "66.0")
    assert (row["tokens"], row["tokens_low"], row["tokens_known"]) == ("", "", "")
    heads = checked(dict(exports(made()))["pairs.tex"])[0]
    assert "tokens more" not in heads


def test_a_table_is_read_back_from_csv_and_what_is_unknown_is_empty() -> None:
    rows = [*csv.DictReader(io.StringIO(table_csv(TABLE), newline=""), strict=True)]
    assert [(row["row"], row["column"]) for row in rows] == [
        (AWKWARD, AWKWARD), (AWKWARD, "calls"), ("[b]", AWKWARD), ("[b]", "calls"),
    ]  # fmt: skip
    first, second = rows[0], rows[1]
    assert (first["paper"], first["table"], first["model"]) == (
        "50 ± 2",
        TABLE["title"],
        "GPT_4 & co",
    )
    figures = ("ours", "half_width", "low", "high", "known", "difference", "difference_low")
    assert [float(first[name]) for name in figures] == [60.0, 1.5, 55.0, 66.0, 10, 10.0, 4.0]
    empty = {name for name, text in second.items() if text == ""}
    assert empty == {*figures, "unknown", "seeds", "seeds_unknown", "difference_high"}
    assert (second["paper"], second["why"]) == ("3", NOTHING["why"])
    assert rows[2]["paper"] == ""


def test_what_was_measured_is_read_back_and_an_unknown_metric_is_not_zero() -> None:
    text = dict(exports(made()))["measured.csv"]
    rows = {row["metric"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}
    assert (float(rows["accuracy"]["value"]), rows["accuracy"]["data"]) == (60.0, "d, e")
    assert rows["tokens"]["value"] == rows["tokens"]["known"] == rows["ece"]["value"] == ""


# ── LaTeX ────────────────────────────────────────────────────────────────────────────────────

COMMAND = re.compile(r"\\(?:[a-zA-Z]+|.)", re.DOTALL)


def checked(text: str) -> list[list[str]]:
    """The rows of a table's text. Fails where a group or an environment is open, or a sign is taken as a command."""
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", "\n".join(lines)):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    for line in lines:
        depth = 0
        for sign in COMMAND.sub("", re.sub(r"\\ensuremath\{[^{}]*\}", "", line)):
            depth += {"{": 1, "}": -1}.get(sign, 0)
            assert depth >= 0, line
            assert sign not in "%$#_^~", line
        assert depth == 0, line
    [spec] = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", text)
    body = [line.removesuffix(r" \\") for line in lines if line.endswith(r" \\")]
    rows = [re.split(r"(?<!\\)&", line) for line in body]
    for row in rows:
        spans = [
            int(found[1]) if (found := re.search(r"\\multicolumn\{(\d+)\}", cell)) else 1
            for cell in row
        ]
        assert sum(spans) == len(spec), row
        assert not row[0].lstrip().startswith("["), "the end of the row before would take it"
    return rows


def test_latex_is_whole_however_awkward_its_words_are() -> None:
    rows = checked(latex(shown(TABLE)))
    assert len(rows) == 4
    assert [cell.strip() for cell in rows[1]] == [
        "",
        "paper",
        "ours",
        "difference",
        "paper",
        "ours",
        "difference",
    ]
    assert rows[2][2].strip() == r"60.00 \ensuremath{\pm} 1.50 {[}55.00, 66.00{]}"
    assert rows[2][3].strip() == "+10.00 {[}4.00, 16.00{]}"
    assert [cell.strip() for cell in rows[3][1:4]] == [
        r"\textendash{}",
        "not measured",
        r"\textendash{}",
    ]
    assert r"\par Calls used in the mean: a\_b 9.5 of 16." in latex(shown(TABLE))
    heads = checked(dict(exports(made()))["measured.tex"])[0]
    assert heads[0].strip() == "data"


def test_a_table_has_a_second_head_only_where_columns_have_parts() -> None:
    plain = Shown("T", (("a", ()), ("b", ())), [["x", "1", "2"]], "Under.", "run")
    assert latex(plain).splitlines() == [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"\caption{T}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"run & a & b \\",
        r"\midrule",
        r"x & 1 & 2 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par Under.",
        r"\end{table}",
    ]
    parts = Shown(
        "T", (("a", ("paper", "ours")), ("b", ("ours",)), ("c", ())), [["x", "1", "2", "3", "4"]]
    )
    assert latex(parts).splitlines()[3:] == [
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r" & \multicolumn{2}{c}{a} & b & c \\",
        r" & paper & ours & ours &  \\",
        r"\midrule",
        r"x & 1 & 2 & 3 & 4 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    assert parts.head == ["", "a: paper", "ours", "b: ours", "c"]


def test_the_check_sees_what_is_not_escaped() -> None:
    """So that the test above can fail."""
    whole = latex(shown(TABLE))
    for wrong in (
        whole.replace(r"\_", "_"),
        whole.replace(r"\&", "&"),
        whole.replace(r"\end{tabular}", ""),
        whole.replace(r"\}", "}"),
        whole.replace("{[}b", "[b"),
    ):
        with pytest.raises(AssertionError):
            checked(wrong)


def test_signs_are_spelt_one_by_one() -> None:
    assert spelt("50% & a_b") == r"50\% \& a\_b"
    assert spelt("--audit") == "-{}-audit"
    assert spelt("\\frac{1}{2}") == r"\textbackslash{}frac\{1\}\{2\}"
    assert spelt("λ\n≤ 1") == r"\ensuremath{\lambda} \ensuremath{\le} 1"


# ── Plots ────────────────────────────────────────────────────────────────────────────────────

LINES = Plot(
    "d: right % by calls <&>",
    {"a_$1": [[1, 50, 40, 60], [2, 60]], "b": [[1, 20, 10, 35]]},
    "calls",
    "%",
)


def test_a_plot_is_the_same_bytes_each_time_in_both_themes() -> None:
    light, dark = drawn(LINES), drawn(LINES, "dark")
    assert light == drawn(LINES)
    assert light != dark
    for theme, text in zip(THEMES, (light.decode(), dark.decode()), strict=True):
        assert "a_$1" in text
        assert "&lt;&amp;&gt;" in text
        for colour in COLOURS[theme][:2]:
            assert colour in text
        assert COLOURS[theme][2] not in text
        assert "dc:date" not in text
    assert drawn(LINES, form="png").startswith(b"\x89PNG")
    assert drawn(LINES, form="png") == drawn(LINES, form="png")


def test_twelve_lines_are_told_apart_by_more_than_their_colour() -> None:
    many = curves("many", {str(at): [[0.0, 0.0], [1.0, at / 12]] for at in range(12)})
    text = drawn(many).decode()
    assert text.count("stroke-dasharray") >= 4


def test_files_are_named_by_what_they_show_and_what_is_empty_is_not_drawn() -> None:
    made = files([LINES, Plot("none", {"a": []}), bars("flow", {"correct": 3, "wrong": 1})], "svg")
    assert [name for name, _ in made] == [
        "figure-1-d-right-by-calls-light.svg", "figure-1-d-right-by-calls-dark.svg",
        "figure-2-flow-light.svg", "figure-2-flow-dark.svg",
    ]  # fmt: skip
    [page] = in_page([LINES, Plot("none", {})])
    assert page.count("data:image/svg+xml;base64,") == 2
    assert "prefers-color-scheme: dark" in page
    assert 'alt="d: right % by calls &lt;&amp;&gt;: a_$1, b"' in page


def test_without_matplotlib_a_page_says_so_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("streams.research.analysis.plots.can_draw", lambda: False)
    assert not in_page([LINES])
    assert not files([LINES], "svg")
    assert "pip install" in without()[0]


def test_points_at_one_place_stand_beside_each_other_on_axes_that_show_them() -> None:
    """The runs of one budget hid each other."""
    at_one = {f"run {n}": [(12.0, 50.0, 20.0, 80.0)] for n in range(3)}
    drawing = drawn(Plot("d", at_one, "calls", "right %", joined=False)).decode()
    marks = re.findall(r'<use xlink:href="#m[^"]*" x="([0-9.]+)" y="([0-9.]+)"', drawing)
    assert len({x for x, _ in marks}) >= 3
    assert len({y for _, y in marks}) >= 1
    said = re.findall(r"<text[^>]*>([^<]*)</text>", drawing)
    assert {"12.0", "20", "80"} & set(said), "the axes show where they are"


def test_many_names_stand_below_the_plot() -> None:
    many = {f"run {n}": [(float(n), 50.0)] for n in range(30)}
    few = {name: many[name] for name in list(many)[:5]}
    sizes = [
        re.search(rb'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', drawn(Plot("d", each, joined=False)))
        for each in (few, many)
    ]
    heights = [float(found[2]) for found in sizes if found is not None]
    assert heights[1] > heights[0] + 30
