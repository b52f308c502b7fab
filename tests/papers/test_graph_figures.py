"""Graph memory: the sums that the paper prints, from its own cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import streams.bench

RECIPES = Path(streams.bench.__file__).parent / "recipes"
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
