"""Graph memory: the sums that the paper prints, from its own cells; and how our sample is split."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import streams.research.bench
from streams.support.datasets import hotpotqa, open_source
from tests.data import shared

RECIPES = Path(streams.research.bench.__file__).parent / "recipes"
CELLS = ("NQ", "TriviaQA", "PopQA", "HotpotQA", "2wiki", "Musique", "Bamboogle")
CHANGE = re.compile(r"(\d\.\d+)\s*\((?:([↑↓])([\d.]+)%|-|0\.0%)\)")


def rows() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every row of tables 1 to 4 with all seven cells: table, row, value by column."""
    for number in range(1, 5):
        recipe = yaml.safe_load((RECIPES / f"gm-tab-0{number}.yaml").read_text(encoding="utf-8"))
        for table in recipe["tables"]:
            for name, row in table["rows"].items():
                said = dict(zip(table["columns"], row["paper"], strict=True))
                average = next((c for c in said if c.startswith("Avg")), None)
                if average is not None and {*CELLS} <= said.keys():
                    yield f"{number} {table['model']}", name, {**said, "Avg": said[average]}


ROWS = list(rows())


@pytest.mark.claim("gm-averages")
def test_every_row_is_looked_at() -> None:
    assert len(ROWS) == 14 + 10 + 4 + 4


@pytest.mark.claim("gm-averages")
@pytest.mark.parametrize(("table", "name", "said"), ROWS)
def test_seven_cells_average_to_the_printed_one(
    table: str, name: str, said: dict[str, Any]
) -> None:
    mean = sum(float(said[cell]) for cell in CELLS) / len(CELLS)
    printed = float(str(said["Avg"]).partition("(")[0])
    assert printed == pytest.approx(mean, abs=0.001001)


@pytest.mark.claim("gm-averages")
def test_printed_changes_are_those_of_the_rounded_averages() -> None:
    base: dict[str, float] = {}
    checked = 0
    for table, _, said in ROWS:
        found = CHANGE.match(str(said["Avg"]))
        if found is None:
            continue
        average = float(found[1])
        first = base.setdefault(table, average)
        sign = {"↑": 1, "↓": -1, None: 0}[found[2]]
        change = 100 * (average - first) / first
        assert change == pytest.approx(sign * float(found[3] or 0), abs=0.06)
        checked += 1
    assert checked == 24


def hotpotqa_files() -> tuple[Path, Path]:
    """The distractor items and the closed-book questions."""
    folder = shared() / "hotpotqa"
    return folder / "dev_distractor_100.jsonl", folder / "dev_closedbook_1000.jsonl"


@pytest.mark.claim("gm-data")
def test_the_splits_are_disjoint_and_no_question_of_the_graph_is_evaluated() -> None:
    items, closed = hotpotqa_files()
    taken = [list(positions) for positions in hotpotqa.SPLITS.values()]
    assert [at for each in taken for at in each] == list(range(1, 101))
    assert [len(each) for each in taken] == [20, 50, 30]
    known = {record["problem"] for record in open_source("hotpotqa_open", path=str(items))}
    kept = {record["problem"] for record in hotpotqa.evaluable(closed, items)}
    assert len(kept) == 1000 - 14
    assert not kept & known
