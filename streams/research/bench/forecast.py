"""A forecast of a recipe before a call is paid: data, rows, calls, tokens, and what stays unmeasured.

Nothing is asked and nothing is announced. How much a problem takes is known only from episodes of the same
run that the log holds already; without one it is unknown, and what limits and settings allow is said beside it.
Learning and side runs (audits, queries beside an episode, a judge) are rows of their own, and in the total.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streams.research.bench import besides
from streams.research.bench.besides import SPENT
from streams.research.bench.cells import hindrance
from streams.research.bench.plan import Cell, Planner
from streams.research.bench.report import told_of
from streams.research.bench.results import Results

EMPTY = (None, "–")
"""How a table says that it prints nothing."""


def forecast(planner: Planner, results: Results, *, judge: bool = False) -> dict[str, Any]:
    """The whole forecast as plain values. ``results``: what the log holds of it; ``judge``: whether one is asked."""
    rows, beside = [*_rows(planner, results)], [*besides.rows(planner, results, judge=judge)]
    # A sum of which one part is unknown is unknown: a lower bound would be taken for the price.
    names = ("problems", "closed", "calls_at_most", *SPENT)
    each = {name: [row[name] for row in (*rows, *beside) if name in row] for name in names}
    return {
        "recipe": planner.recipe.recipe,
        "about": planner.recipe.about,
        "differs": planner.recipe.differs,
        "backbones": planner.backbones,
        "data": [told_of(source) for source in planner.sources.values()],
        "rows": rows,
        "besides": beside,
        "total": {name: None if None in found else sum(found) for name, found in each.items()},
        "not_measured": [*_unmeasured(planner, results)],
    }


def _rows(planner: Planner, results: Results) -> Iterator[dict[str, Any]]:
    """Each run on each data set, over its seeds and passes."""
    cells: dict[tuple[str, str], list[Cell]] = {}
    for cell in planner.cells():
        cells.setdefault((cell.run, cell.data), []).append(cell)
    for (run, data), mine in cells.items():
        closed = results.groups.get((run, data), [])
        problems = planner.sources[data].problems * len(mine)
        left = max(0, problems - len(closed))
        most = planner.most_calls(mine[0])
        every = [one for (name, _), group in results.groups.items() if name == run for one in group]
        yield {
            "run": run,
            "data": data,
            "walks": len(mine),
            "problems": problems,
            "closed": len(closed),
            "calls_at_most": None if most is None else left * most,
            # As the run's episodes on any data set went, for on this one there may be none yet.
            **besides.expected([one.case.closed.usage for one in every], left),
        }


def _unmeasured(planner: Planner, results: Results) -> Iterator[dict[str, Any]]:
    """Cells of the paper's tables that will have no figure of ours, by the reason, with their rows.

    A cell in which the paper prints nothing and that no run is named for is none.
    """
    for table in planner.recipe.tables:
        places = {
            (name, column): row.joined(place)
            for name, row in table.rows.items()
            for (column, place), paper in zip(
                table.columns.items(), table.printed(name), strict=True
            )
            if paper not in EMPTY or row.joined(place).runs
        }
        reasons: dict[str, list[str]] = {}
        for (name, _), place in places.items():
            # The same question that the report asks later, so that no cell comes as a surprise.
            why = hindrance(place, planner.recipe, results, planner.sources)
            if why is not None:
                reasons.setdefault(why, []).append(name)
        for why, names in sorted(reasons.items()):
            told = {"table": table.title, "model": table.model, "cells": len(names)}
            rows = list(dict.fromkeys(names))
            yield {**told, "of": len(places), "rows": rows, "why": f"not measured: {why}"}


def lines(made: Mapping[str, Any]) -> Iterator[str]:
    """The forecast as people read it."""
    yield f"{made['recipe']}: {made['about']}"
    yield f"backbones: {made['backbones']}"
    for data in made["data"]:
        found = f"{data['problems']:,} problems, sha256 {(data['sha256'] or '')[:16]}"
        note = f"; {data['note']}" if data["note"] else ""
        yield f"data {data['name']} ({data['wanted']}): {found if data['read'] else 'not read'}{note}"
    for row in made["rows"]:
        yield f"run {row['run']} on {row['data']}, {row['walks']} walks: {_bound(row)}"
    for row in made["besides"]:
        yield f"{besides.told(row)}{_bound(row)}"
    yield f"in all: {_bound(made['total'])}"
    for each in made["not_measured"]:
        model = f" ({each['model']})" if each["model"] else ""
        rows = f" ({', '.join(each['rows'])})" if each["cells"] < each["of"] else ""
        yield f"{each['table']}{model}, {each['cells']} of {each['of']} cells{rows}: {each['why']}"


def _bound(row: Mapping[str, Any]) -> str:
    """What is left, at most and as expected; of episodes also how many problems there are."""
    problems = ""
    if "problems" in row:  # learning and side runs have none of their own
        problems = f"{row['problems']:,} problems, {row['closed']:,} closed; "
    most = row["calls_at_most"]
    bound = "calls not limited" if most is None else f"at most {most:,} calls"
    told: list[str] = []
    for name in SPENT:
        value = row[name]
        number = f"{value:,.{0 if value >= 100 else 2}f}" if value is not None else "unknown"
        told.append(f"{number} {name}")
    return f"{problems}{bound}, expected {', '.join(told)}"
