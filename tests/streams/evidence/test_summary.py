"""The first table of a page repeats figures of the others, and none that somebody typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.research.analysis.sampling import Sampled
from streams.research.evidence.figures import Bank, Beside
from streams.research.evidence.segments import BadSegment
from streams.research.evidence.summary import table_of
from tests.streams.cli.calling import ROOT, call

RULE = Sampled("vote of 10", 10.0, 4_000.0, 0.7, (0.6, 0.8), 0.066, (0.05, 0.082), 2.0)
RUN = Sampled("cot C=8", 1.0, 400.0, 0.5, None, -0.1914, (-0.2576, 0.0), 0.199)
UNKNOWN = Sampled("io", 1.0, None, 0.5, None)
BANKS = {"bank": [Bank("chains", None, 9, 0, (RULE,), ())]}
BESIDE = {"runs": [Beside("chains", None, ((RUN, 9), (UNKNOWN, 9)))]}


def told(file: Path, text: str) -> list[str]:
    file.write_text(text)
    return table_of(file, BANKS, BESIDE).splitlines()


def test_figures_are_those_of_runs_and_rules_by_the_folder_they_are_shown_of(
    tmp_path: Path,
) -> None:
    rows = told(
        tmp_path / "summary.yaml",
        'columns: [one, two]\nrows:\n'
        '  - {name: ten, figures: ["bank: vote of 10", "bank: vote of 10"]}\n'
        '  - {name: cot, figures: ["runs: cot C=8", null]}\n'
        '  - {name: both, figures: ["runs: cot C=8", "bank: vote of 10"]}\n'
        '  - {name: io, figures: [null, "runs: io"]}\n',
    )  # fmt: skip
    assert rows == [
        "|  | one | two | tokens |",
        "|---|---:|---:|---:|",
        "| ten | +6.6 (5.0 to 8.2) | +6.6 (5.0 to 8.2) | 200 % |",
        "| cot | −19.1 (−25.8 to 0.0) | – | 20 % |",
        "| both | −19.1 (−25.8 to 0.0) | +6.6 (5.0 to 8.2) | 20, 200 % |",
        "| io | – | – | – |",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('columns: [a]\nrows: [{name: x, figures: ["runs: vote of 10"]}]', "no such run or rule"),
        ('columns: [a]\nrows: [{name: x, figures: ["nowhere: cot C=8"]}]', "no such run or rule"),
        ("columns: [a]\nrows: [{name: x, figures: []}]", "x: 1 figures"),
        ("columns: [a]\nrows: [{name: x}]", "rows"),
        ("columns: [a]", "rows"),
        ("columns: [a\n", "summary.yaml"),
    ],
)
def test_what_cannot_be_shown_is_named(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(BadSegment, match=fault):
        told(tmp_path / "summary.yaml", text)
    with pytest.raises(BadSegment, match=r"none\.yaml"):
        table_of(tmp_path / "none.yaml", BANKS, BESIDE)


def test_a_page_with_a_summary_is_written_and_held_to_it(tmp_path: Path) -> None:
    log, page = tmp_path / "run.db", tmp_path / "page.md"
    for put in (
        ("game24:901-906", "--policy", "self_consistency", "--set", "samples=8"),
        ("game24:901-906", "--policy", "cot"),
    ):
        assert call("produce", *put, "--log", log).code == 0
    worked = ("--backbone", "rehearsal:seed=7", "--until-idle")
    assert call("worker", "--log", log, *worked).code == 0
    assert call("log", "pack", tmp_path / "one", "--log", log).code == 0
    page.write_text(
        "<!-- evidence: top.yaml -->\n<!-- evidence: end -->\n<!-- evidence: one -->\n<!-- evidence: end -->\n"
    )
    top = 'columns: [all]\nrows: [{name: one chain, figures: ["one: cot"]}]\n'
    (tmp_path / "top.yaml").write_text(top)
    done = call("evidence", page, "--write")
    assert done.code == 0
    assert done.lines[-1] == f"1 log, every figure of {page} derived again, 0 model calls"
    text = page.read_text()
    [row] = [line for line in text.splitlines() if line.startswith("| one chain |")]
    [run] = [line for line in text.splitlines() if line.startswith("| `cot` | 6 | 1.00 |")]
    gain = run.split(" | ")[6]
    assert row.split(" | ")[1].startswith(f"{gain.replace('-', '−')} (")
    page.write_text(text.replace(row, row.replace(" (", "1 (")))
    assert call("evidence", page).code == 3
    (tmp_path / "top.yaml").write_text(top.replace("one: cot", "one: mc2"))
    refused = call("evidence", page)
    assert refused.code == 3
    assert "no such run or rule" in refused.err


def test_the_page_of_this_project_types_no_figure_of_its_first_table() -> None:
    text = (ROOT / "deploy/docs/evidence.md").read_text(encoding="utf-8")
    top = text[text.index("## On one screen") : text.index("## Twelve word problems")]
    before, _, after = top.partition("<!-- evidence: evidence.yaml -->")
    assert "\n|" not in before
    assert "\n|" not in after.partition("<!-- evidence: end -->")[2]
