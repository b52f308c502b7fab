"""`bench list`: what recipes print, what each needs, and what none prints."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from streams.engine.policies import NoPolicy, find
from streams.interfaces.cli.errors import OK
from streams.interfaces.cli.output import out, out_json
from streams.research.bench.recipe import Recipe, load, names
from streams.research.bench.uncovered import UNCOVERED


def listed(*, json: bool) -> int:
    """Every recipe of this build, then the tables and figures without one."""
    # Every recipe is read before the first line is printed, so that a broken
    # one leaves no half list.
    for row in [_row(load(name)) for name in names()]:
        if json:
            out_json(row)
            continue
        runs = "runs" if row["runs"] else "measures nothing"
        needs = ", ".join(row["needs"]) or "nothing"
        absent = f"; no policy {', '.join(row['no_policy'])}" if row["no_policy"] else ""
        cells = f"{row['measured']} of {row['cells']} cells"
        about = f"{row['paper']}. {row['about']}"
        out(f"{row['recipe']:<15} {about}; {runs}: {cells}; needs {needs}{absent}")
    for paper, found in UNCOVERED.items():
        for what, why in found.items():
            if json:
                out_json({"paper": paper, "what": what, "runs": False, "why": why})
            else:
                out(f"{'–':<15} {paper}, {what}: {why}")
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
    absent = {run.policy for run in recipe.runs.values()}
    for policy in [*absent]:
        with suppress(NoPolicy):
            find(policy)
            absent.remove(policy)
    return {
        "recipe": recipe.recipe,
        "paper": recipe.paper,
        "about": recipe.about,
        "data": list(recipe.data),
        # A report without one of its policies would set cells side by side that nobody compared.
        "runs": bool(measured) and not absent,
        "cells": len(places),
        "measured": len(measured),
        "needs": {
            name: f"hub:{data.hub}" if data.hub else "a file of yours"
            for name, data in recipe.data.items()
            if data.source.partition(":")[0] != "game24"
        },
        "no_policy": sorted(absent),
    }
