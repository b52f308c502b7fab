"""`bench run NAME --plan` says of every recipe what it would do, before a call is paid, on data that are here."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from streams.research.bench.recipe import Data, Recipe, load, names
from tests.streams.cli.calling import call

ITEMS = 6


def item(reader: str, name: str, at: int, only: dict[str, str]) -> dict[str, Any]:
    """One problem of a set, as its reader wants it."""
    asked, answer = f"What is {at} more than {at} in {name}?", str(2 * at)
    match reader:
        case "gsm8k":
            return {"question": asked, "answer": f"Twice that.\n#### {answer}"}
        case "math500":
            level = int(only.get("level", "1").partition(",")[0])
            return {"problem": asked, "answer": answer, "level": level, "unique_id": f"{name}/{at}"}
        case "theoremqa":
            field = only.get("field", "Math")
            typed = {"Answer": 2 * at, "Answer_type": "integer", "Picture": None}
            return {
                "id": f"{at}",
                "Question": asked,
                **typed,
                "field": field,
                "subfield": "x",
                "theorem": "t",
            }
        case "scibench":
            return {
                "problem_text": asked,
                "answer_number": answer,
                "source": only["book"],
                "unit": " ",
            }
        case "hotpotqa" | "hotpotqa_open":
            pages = {"title": ["T"], "sentences": [["So it is."]]}
            return {"id": f"{name}{at}", "question": asked, "answer": answer, "context": pages}
        case _:
            return {"id": f"{name}{at}", "problem": asked, "answer": answer}


def made(folder: Path, name: str, data: Data) -> str:
    """A file of a few problems for a set."""
    reader = data.source.partition(":")[0]
    file = folder / f"{name}.jsonl"
    lines = [item(reader, name, at, data.only) for at in range(ITEMS)]
    if reader in ("theoremqa", "scibench"):
        file = file.with_suffix(".json")
        file.write_text(json.dumps(lines))
    else:
        file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return f"{name}={file}"


def numbered(recipe: Recipe) -> int:
    """Cells that print something or that a run is named for."""
    return sum(
        paper not in (None, "–") or bool(row.joined(column).runs)
        for table in recipe.tables
        for row in table.rows.values()
        for paper, column in zip(row.paper, table.columns.values(), strict=True)
    )


@cache
def listed() -> dict[str, Any]:
    """The list of recipes, by name."""
    return {row["recipe"]: row for row in call("bench", "list", "--json").rows if "recipe" in row}


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_recipe_has_a_plan(name: str, tmp_path: Path) -> None:
    recipe = load(name)
    files = [
        part
        for each, data in recipe.data.items()
        if not data.source.startswith("game24")
        for part in ("--data", made(tmp_path, each, data))
    ]
    log = tmp_path / "a.db"
    told = call(
        "bench", "run", name, "--plan", "--json", "--log", log, "--backbone", "rehearsal", *files
    )
    assert told.code == 0, told.err
    assert not log.exists()
    plan = told.json
    assert {each["name"] for each in plan["data"]} == {*recipe.data}
    for each in plan["data"]:
        assert each["problems"] > 0, each
        assert len(each["sha256"]) == 64
    rows = {row["run"] for row in plan["rows"]} | {row["run"] for row in plan["besides"]}
    assert {*recipe.runs} <= rows
    assert all(row["problems"] > 0 and row["closed"] == 0 for row in plan["rows"])
    assert sum(row["problems"] for row in plan["rows"]) == plan["total"]["problems"]
    for gap in plan["not_measured"]:
        assert gap["rows"]
        assert gap["why"] == "not measured: nothing in this build measures it", "all data are here"
    lacking = sum(gap["cells"] for gap in plan["not_measured"])
    assert listed()[name]["measured"] == numbered(recipe) - lacking
    said = call("bench", "run", name, "--plan", "--log", log, "--backbone", "rehearsal", *files).out
    assert f"in all: {plan['total']['problems']:,} problems, 0 closed" in said
