"""`bench list`: what recipes print, what each needs, and what none prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams.engine.policies import NoPolicy, find
from streams.interfaces.cli.errors import OK
from streams.interfaces.cli.output import out, out_json
from streams.research.bench.recipe import Recipe, load, names
from streams.research.bench.uncovered import UNCOVERED


def listed(*, json: bool) -> int:
    """Every recipe of this build, then the tables and figures without one."""
    rows = [_row(load(name)) for name in names()]
    for row in rows:
        if json:
            out_json(row)
        else:
            out(f"{row['recipe']:<15} {row['paper']}. {row['about']}; {_told(row)}")
    for row in _without():
        if json:
            out_json(row)
        else:
            out(f"{'–':<15} {row['paper']}, {row['what']}: {row['why']}")
    return OK


def _row(recipe: Recipe) -> dict[str, Any]:
    """A recipe: which of its cells can be measured, and which files it takes."""
    places = [
        row.joined(column)
        for table in recipe.tables
        for row in table.rows.values()
        for column in table.columns.values()
    ]
    measured = [p for p in places if p.runs and p.parts and all(part.metric for part in p.parts)]
    policies = sorted({run.policy for run in recipe.runs.values() if not _is_here(run.policy)})
    return {
        "recipe": recipe.recipe,
        "paper": recipe.paper,
        "about": recipe.about,
        "data": list(recipe.data),
        "runs": bool(measured) and not policies,
        "cells": len(places),
        "measured": len(measured),
        "needs": {
            name: f"hub:{data.hub}" if data.hub else "a file of yours"
            for name, data in recipe.data.items()
            if data.source.partition(":")[0] != "game24"
        },
        "no_policy": policies,
    }


def _is_here(policy: str) -> bool:
    try:
        find(policy)
    except NoPolicy:
        return False
    return True


def _told(row: dict[str, Any]) -> str:
    needs = ", ".join(row["needs"]) or "nothing"
    absent = f"; no policy {', '.join(row['no_policy'])}" if row["no_policy"] else ""
    runs = "runs" if row["runs"] else "measures nothing"
    return f"{runs}: {row['measured']} of {row['cells']} cells; needs {needs}{absent}"


def _without() -> Iterator[dict[str, Any]]:
    for paper, found in UNCOVERED.items():
        for what, why in found.items():
            yield {"paper": paper, "what": what, "runs": False, "why": why}
