"""A recipe's report as plain values: the paper's figures beside ours, and everything that was measured.

Nothing in it hangs on when or how often the bench was run: a bench that was killed and resumed makes
the same report as one that was not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from schemas.usage import total_of
from state.folds.costs import Spent
from streams.engine.policies import NoPolicy, find
from streams.research.analysis.figures import confidences, outcomes
from streams.research.bench.answered import Answers
from streams.research.bench.compare import (
    Groups,
    arms,
    batch_of,
    by_data,
    frontier,
    mcnemar_matrix,
    paired,
    progress,
    recalls,
    reward_curve,
)
from streams.research.bench.plan import Cell, Source
from streams.research.bench.printed import difference
from streams.research.bench.recipe import P_VALUE, Recipe, Table
from streams.research.bench.results import Episode, Results, accuracy_interval, measured

MEASURED = ("accuracy", "at_least", "coverage", "f1", "calls", "prompt_tokens", "completion_tokens", "tokens",
            "seconds", "points_per_1k_tokens", "ece", "brier", "aurc", "restarts", "reward", "cut_off", "unread",
            "unguided")  # fmt: skip
OUTCOMES = ("right", "commission", "omission", "unknown", "undecided", "not_graded", "by_person",
            "failed")  # fmt: skip


def report(
    recipe: Recipe, results: Results, sources: Mapping[str, Source], provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """The whole report."""
    groups, answers = by_data(results), Answers.of(recipe, results, sources)
    # Runs beside others have no episodes of their own that could be open.
    own = (group for (run, _), group in results.groups.items() if run not in results.beside)
    put = {name: sources[name].answerable() for name in {cell.data for cell in results.cells}}
    wanted = sum(put[cell.data] for cell in results.cells)
    return {
        "recipe": recipe.recipe,
        "claims": list(recipe.claims),
        "paper": recipe.paper,
        "about": recipe.about,
        "differs": recipe.differs,
        "profile": recipe.profile,
        "runs": {name: _run(recipe, name) for name in recipe.runs},
        "provenance": {
            **provenance,
            "models": results.models(),
            "data": [told_of(s) for s in sources.values()],
        },
        "absent": sorted(results.absent),
        "unfinished": wanted - sum(map(len, own)),
        "tables": [
            {
                **_table(table, answers),
                "used": used(table, recipe, results),
                "simplified": simplified(table, recipe),
            }
            for table in recipe.tables
        ],
        "ours": [*answers.alone()],
        "measured": [
            {"data": data, "run": run, **figures(results, run, data, group)}
            for data, runs in groups.items()
            for run, group in runs.items()
        ],
        "comparisons": {data: comparison(runs) for data, runs in groups.items()},
    }


def _run(recipe: Recipe, name: str) -> dict[str, Any]:
    run = recipe.runs[name]
    limits = run.limits.over(recipe.limits).model_dump(exclude_none=True)
    said: dict[str, Any] = {
        "policy": run.policy,
        "settings": run.settings,
        "limits": limits,
        "note": run.note,
    }
    # What a run does not do stays out of its line, so that what it does is seen.
    if run.matched is not None:
        said["matched"] = f"{run.matched.of} of {run.matched.run}, problem by problem"
    if run.beside is not None:
        said["beside"] = run.beside
    if run.audit:
        said["audit"] = True
    if run.per_data:
        said["per_data"] = run.per_data
    if run.continues is not None:
        said["continues"] = f"{run.continues.run} on {run.continues.data}"
    if run.warm_from is not None:
        said["warm_from"] = f"{run.warm_from.run} on {run.warm_from.data}"
    return {**said, "passes": run.passes, "order": run.order}


def told_of(source: Source) -> dict[str, Any]:
    """A data set as it was found."""
    return {
        "name": source.name,
        "wanted": source.wanted,
        "read": source.read,
        "problems": source.problems,
        "sha256": source.sha256,
        "stands_in": source.stands_in,
        "note": source.note,
    }


# ── The paper's tables ───────────────────────────────────────────────────────────────────────


def _table(table: Table, answers: Answers) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for name, row in table.rows.items():
        cells: list[dict[str, Any]] = []
        for column, paper in zip(table.columns.values(), table.printed(name), strict=True):
            place = row.joined(column)
            found = answers.cell(place, table)
            # A p-value is not nearer to another or further
            # from it: the difference of two says nothing.
            apart = None if place.metric == P_VALUE else difference(paper, found["ours"])
            cells.append({"paper": paper, **found, "difference": apart})
        rows.append({"name": name, "cells": cells})
    said = {"title": table.title, "model": table.model, "note": table.note}
    return {**said, "columns": list(table.columns), "rows": rows}


def used(table: Table, recipe: Recipe, results: Results) -> dict[str, Any]:
    """For each run of a table that calls are granted to: how many it used of them, in the mean of its problems."""
    found: dict[str, Any] = {}
    for run in _named(table):
        # Its episodes are another run's, and so are the calls in them.
        if run in results.beside:
            continue
        granted = recipe.runs[run].limits.over(recipe.limits).calls
        mine = [one for (name, _), each in results.groups.items() if name == run for one in each]
        if granted is not None and mine:
            calls = sum(one.case.closed.usage.calls for one in mine) / len(mine)
            found[run] = {"calls": round(calls, 6), "granted": granted}
    return found


def simplified(table: Table, recipe: Recipe) -> dict[str, str]:
    """The runs of a table whose method is simpler than the one that it is called after, with what it is."""
    found: dict[str, str] = {}
    for run in _named(table):
        with suppress(NoPolicy):
            about = find(recipe.runs[run].policy).about
            found |= {run: about} if "simplified" in about else {}
    return found


def _named(table: Table) -> Iterable[str]:
    """The runs that figures of a table hang on, in its order."""
    places = (r.joined(c) for r in table.rows.values() for c in table.columns.values())
    return dict.fromkeys(run for place in places for run in place.runs)


# ── What was measured ────────────────────────────────────────────────────────────────────────


def figures(results: Results, run: str, data: str, group: Sequence[Episode]) -> dict[str, Any]:
    """One run on one data set: outcomes, costs in their columns, calibration, experience."""
    # `group` is the first pass, which figures are of;
    # what a run cost and learned is of all its passes.
    cases = [one.case for one in group]
    every = results.groups[run, data]
    said = outcomes(cases)
    return {
        "series": sorted({one.cell.series for one in group}),
        "episodes": len(cases),
        "backbones": cases[0].opened.backbones,
        "outcomes": {name: said[name] for name in OUTCOMES},
        **({"judge": said["judge"]} if "judge" in said else {}),
        "ended_by": said["ended_by"],
        "accuracy_interval": accuracy_interval(group),
        "metrics": {name: measured(name, group) for name in MEASURED},
        "learning": learning(results, [one.cell for one in every]),
        "probes": probes(results, every),
        "confidence": confidences(cases),
        "batches": progress(group, batch_of),
        "passes": progress(every, lambda one: one.cell.walk),
        "memory": recalls(group),
        "arms": arms(group),
        "rewards": reward_curve(group),
    }


def learning(results: Results, cells: Sequence[Cell]) -> dict[str, Any]:
    """What learning cost and came to, in every scope that problems of these cells fell into; a column of its own."""
    # By what problems fell into and not by the cell's
    # own scope: a line may carry a domain of its own.
    reading, series = results.reading, {cell.series for cell in cells}
    scopes = {scope for name in series for scope in reading.scopes.get(name, ())}
    others = {s for name, found in reading.scopes.items() if name not in series for s in found}
    came, spent = Counter[str](), list[Spent]()
    for scope in sorted(scopes):
        # A run that goes on with another's memory pays for its own batches alone.
        if scope in others:
            for cost, results_of in reading.learned_from(scope, series):
                spent.append(cost)
                came += results_of
            continue
        came += reading.consolidated.get(scope, Counter())
        spent += [reading.learning[scope]] if scope in reading.learning else []
    return {
        "calls": sum(each.calls for each in spent),
        "tokens": total_of([each.tokens for each in spent]),
        "consolidations": dict(sorted(came.items())),
    }


def probes(results: Results, group: Sequence[Episode]) -> dict[str, Any]:
    """What side runs of these episodes cost, in a column of its own."""
    spent = [p for one in group for p in results.reading.probes.get(one.case.episode, ())]
    tokens = total_of([usage.tokens for usage in spent])
    return {"episodes": len(spent), "calls": sum(usage.calls for usage in spent), "tokens": tokens}


def comparison(groups: Groups) -> dict[str, Any]:
    """The runs of a data set beside each other."""
    return {
        "by_calls": frontier(groups, "calls"),
        "by_tokens": frontier(groups, "tokens"),
        "mcnemar": mcnemar_matrix(groups),
        "pairs": paired(groups),
    }


def simulated(made: Mapping[str, Any]) -> bool:
    """Whether no model answered."""
    return any("SIMULATED" in each["backbones"] for each in made["measured"])
