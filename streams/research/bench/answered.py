"""Figures belong to the model that answered: a run is printed only in that model's row or block.

A table that prints the same run under several models (or judges, or inducers) has one of them measured at
most. Where none of them is the model that answered, our figures stand in a table of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from streams.research.bench.cells import ours
from streams.research.bench.plan import Source
from streams.research.bench.recipe import Place, Recipe, Table
from streams.research.bench.results import Results

Key: TypeAlias = tuple[Any, ...]
Named: TypeAlias = tuple[tuple[str | None, str], ...]
"""The models that a paper names for a figure: who answered (no role), and who judged or induced."""
_DATED = re.compile(r"-(?:20\d\d-?\d\d-?\d\d|latest)$")


def same_model(named: str, answered: str) -> bool:
    """Whether a model's own name is the one that a paper gives it: whoever serves it, of whatever date."""
    # ``meta-llama/Llama-3.1-8B-Instruct`` and ``gpt-4o-mini-2024-07-18``
    # by what makes them out: papers leave out who serves a model and of
    # which day it is, and either would make it another one.
    plain = {
        re.sub(r"[^a-z0-9]", "", _DATED.sub("", name.rpartition("/")[2].casefold()))
        for name in (named, answered)
    }
    return len(plain) == 1


@dataclass(frozen=True, slots=True)
class Answers:
    """Which models a recipe's tables name for each run's figure, and which ones answered."""

    recipe: Recipe
    results: Results
    sources: Mapping[str, Source]
    named: Mapping[Key, frozenset[Named]]

    @classmethod
    def of(cls, recipe: Recipe, results: Results, sources: Mapping[str, Source]) -> Answers:
        """Of every cell of the recipe."""
        named: dict[Key, set[Named]] = {}
        for table in recipe.tables:
            for row in table.rows.values():
                for place in map(row.joined, table.columns.values()):
                    if (models := _named(place, table)) and place.runs:
                        named.setdefault(_key(place), set()).add(models)
        return cls(recipe, results, sources, {at: frozenset(each) for at, each in named.items()})

    def cell(self, place: Place, table: Table) -> dict[str, Any]:
        """Our figure of a cell, unless it is another model's."""
        if not self.shared(place) or self._answered(place, _named(place, table)):
            return ours(place, self.recipe, self.results, self.sources)
        # The figure is left out, rather than printed with a footnote: a table is read by its rows,
        # and this row says whose the figure would be.
        others = ", ".join(sorted(self._models(place, place.role))) or "nobody"
        return {"ours": None, "why": f"not measured: {others} answered"}

    def shared(self, place: Place) -> bool:
        """Whether tables print this run's figure for several models, or a row says whose it is."""
        return bool(place.runs) and (
            place.model is not None or len(self.named.get(_key(place), ())) > 1
        )

    def _answered(self, place: Place, named: Named) -> bool:
        return all(
            any(same_model(model, each) for each in self._models(place, role))
            for role, model in named
        )

    def _models(self, place: Place, role: str | None) -> set[str]:
        return {
            model
            for run in place.runs
            for asked, model in self.results.answered(run)
            if role in (None, asked) and (role is not None or asked not in SIDE)
        }

    def alone(self) -> Iterator[dict[str, Any]]:
        """Tables of our own figures, of the rows that no model of the paper answered."""
        seen: set[Key] = set()
        for table in self.recipe.tables:
            rows: list[dict[str, Any]] = []
            for name, row in table.rows.items():
                places = [row.joined(column) for column in table.columns.values()]
                mine = [place for place in places if self.shared(place)]
                key = tuple(map(_key, places))
                # A row has a home in the paper's table as soon as one of its models is the one that
                # answered. The same row under several models is ours once.
                if (
                    not mine
                    or key in seen
                    or any(
                        self._answered(place, named)
                        for place in mine
                        for named in self.named[_key(place)]
                    )
                ):
                    continue
                seen.add(key)
                cells = [
                    {
                        "paper": None,
                        **ours(place, self.recipe, self.results, self.sources),
                        "difference": None,
                    }
                    for place in places
                ]
                rows.append({"name": (row.model and row.run) or name, "cells": cells})
            if rows:
                models = self.results.models()
                said = {"title": f"{table.title}, ours", "model": ", ".join(models), "note": ""}
                yield {**said, "columns": list(table.columns), "rows": rows}


SIDE = frozenset({"judge", "inducer"})
"""Roles that a table may name by themselves: who judges or induces is not who answers."""


def _named(place: Place, table: Table) -> Named:
    """A row's model stands in the table's place, unless it is that of a role by itself."""
    whole = ((None, table.model),) if table.model else ()
    if place.model is None:
        return whole
    return ((place.role, place.model), *(whole if place.role is not None else ()))


def _key(place: Place) -> Key:
    only = tuple(sorted(place.only.items()))
    return (*place.runs, place.data, place.over, place.metric, only, place.walk)
