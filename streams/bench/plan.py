"""From a recipe to what is produced: one cell for each run, data set, seed and pass.

A cell's series and memory are named by everything that its outcome hangs on (source, policy, settings,
limits, seed, pass, backbones) and by nothing else. So a bench resumes from its log alone, and recipes
that share a log share what they have in common.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from handlers.policies.base import Policy
from schemas.identity import digest
from schemas.problem import Limits, Problem
from streams.bench.recipe import BadRecipe, Data, Recipe, Runs
from streams.datasets import open_source
from streams.produce import Plan
from streams.runtime.embedded.intake import scope_of
from streams.sources import Line, built_in, lines_of

REDUCED_PROBLEMS = 2
STAND_IN = "game24:1-2"
Find = Callable[[str], Policy[Any]]


@dataclass(frozen=True, slots=True)
class Options:
    """How much of a recipe is run, and on what."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Paths by the name of a data set or of its reader."""
    problems: int | None = None
    """At most so many of each data set."""
    seeds: int | None = None
    """At most so many of the recipe's seeds."""
    stand_in: bool = False
    """Whether Game of 24 stands in for data sets that are not here."""

    @property
    def changed(self) -> dict[str, Any]:
        """What makes this less than the recipe."""
        said = {"problems": self.problems, "seeds": self.seeds, "stand_in": self.stand_in or None}
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Source:
    """A data set of the recipe as it was found: its file and what it holds, or that it is not here."""

    name: str
    wanted: str
    read: str | None
    """What is read; nothing where it is not here and nothing stands in."""
    file: str | None = None
    problems: int = 0
    sha256: str | None = None
    note: str = ""

    @property
    def stands_in(self) -> bool:
        """Whether another data set is read in its place."""
        return self.read == STAND_IN and not self.wanted.startswith("game24")

    def lines(self) -> Iterator[Line]:
        """Its problems, as ``produce`` reads them."""
        assert self.read is not None
        return islice(lines_of(self.read, self.file), self.problems)

    def traits(self) -> dict[str, dict[str, str]]:
        """What reports may sort its problems by, by problem id."""
        if self.read is None or not built_in(self.read):
            return {}
        records = islice(open_source(self.read, path=self.file), self.problems)
        return {record["id"]: record.get("traits", {}) for record in records}


@dataclass(frozen=True, slots=True)
class Cell:
    """One walk of one policy over one data set."""

    run: str
    data: str
    seed: int
    walk: int
    plan: Plan
    scope: str

    @property
    def series(self) -> str:
        """The series that holds its episodes."""
        assert self.plan.series is not None
        return self.plan.series


def sources(recipe: Recipe, options: Options) -> dict[str, Source]:
    """The recipe's data sets as they were found. Raises ``ValueError`` for a file that is not there."""
    return {name: _source(name, data, options) for name, data in recipe.data.items()}


def _source(name: str, data: Data, options: Options) -> Source:
    reader = data.source.partition(":")[0]
    file = options.files.get(name) or options.files.get(reader)
    note = data.note
    if file is None and reader != "game24":
        read = STAND_IN if options.stand_in else None
        hint = f" (hub:{data.hub})" if data.hub else ""
        note = f"not here; give --data {name}=PATH{hint}. {note}".strip()
    else:
        read = file if reader == "jsonl" else data.source
    if read is None:
        return Source(name, data.source, None, note=note)
    file = None if read in (STAND_IN, file) else file
    found = list(islice(lines_of(read, file), options.problems))
    total = hashlib.sha256(b"\n".join(line.raw for line in found)).hexdigest()
    return Source(name, data.source, read, file, len(found), total, note)


class Planner:
    """The cells of a recipe over its sources, for these backbones."""

    def __init__(
        self,
        recipe: Recipe,
        found: Mapping[str, Source],
        options: Options,
        find: Find,
        backbones: str,
    ) -> None:
        self.recipe, self.sources, self.find, self.backbones = recipe, found, find, backbones
        self.seeds = recipe.seeds[: options.seeds]

    def cells(self) -> list[Cell]:
        """Every cell, in the order of the recipe. Raises ``BadRecipe`` where a policy is not here."""
        return [
            cell
            for name, run in self.recipe.runs.items()
            for data in run.data or tuple(self.recipe.data)
            if self.sources[data].read is not None
            for cell in self._walks(name, run, data)
        ]

    def _walks(self, name: str, run: Runs, data: str) -> Iterator[Cell]:
        try:
            policy = self.find(run.policy)
        except LookupError as error:
            raise BadRecipe(f"runs.{name}: {error}") from error
        for seed in self.seeds:
            values = self._values(run, seed)
            for walk in range(1, run.passes + 1):
                yield self._cell(name, run, policy, data, seed, walk, values)

    def _values(self, run: Runs, seed: int) -> dict[str, Any]:
        if run.warm_from is None:
            return run.settings
        start = self.recipe.runs[run.warm_from.run]
        source = run.warm_from.data
        if self.sources[source].read is None:
            return run.settings
        first = self._cell("", start, self.find(start.policy), source, seed, 1, start.settings)
        return run.settings | {"warm_start": first.scope}

    def _cell(
        self, name: str, run: Runs, policy: Policy[Any], data: str, seed: int, walk: int,
        values: dict[str, Any],
    ) -> Cell:  # fmt: skip
        source, limits = self.sources[data], run.limits.over(self.recipe.limits)
        matched = run.matched and [run.matched.of, self.recipe.runs[run.matched.run].settings]
        asked: list[Any] = [
            source.read,
            source.sha256,
            policy.reference,
            self.recipe.profile,
            values,
        ]
        asked += [limits.model_dump(exclude_none=True), run.order, matched, seed, self.backbones]
        memory = f"m{digest(asked)}"
        plan = Plan(
            source=source.read or "", find=self.find, policy=policy.name, values=values,
            profile=self.recipe.profile, limits=limits, seed=seed, walk=walk, memory=memory,
            series=f"{memory}.{walk}", order=run.order, domain=self._domain(source),
        )  # fmt: skip
        problem = Problem(
            id="-", problem="-", domain=plan.domain or "default", profile=plan.profile,
            settings=values, memory=memory, policy=policy.name,
        )  # fmt: skip
        return Cell(name, data, seed, walk, plan, scope_of(policy, problem))

    def _domain(self, source: Source) -> str:
        reader = (source.read or "").partition(":")[0]
        return reader if source.read and built_in(source.read) else source.name

    def stages(self) -> list[list[Cell]]:
        """The cells in the order in which they can run: what others hang on first."""
        cells, left = self.cells(), dict(self.recipe.runs)
        stages: list[list[Cell]] = []
        while left:
            free = [name for name, run in left.items() if not run.after & left.keys()]
            if not free:
                raise BadRecipe(f"runs {', '.join(left)} wait for each other")
            stages.append([cell for cell in cells if cell.run in free])
            left = {name: run for name, run in left.items() if name not in free}
        return [stage for stage in stages if stage]


def with_limits(lines: Iterator[Line], limits: Mapping[str, Limits]) -> Iterator[Line]:
    """The lines, each problem with a limit of its own where it has one."""
    import orjson

    for line in lines:
        record = orjson.loads(line.raw)
        own = limits.get(record["id"])
        if own is not None:
            record["limits"] = own.model_dump(exclude_none=True)
        yield Line(line.number, orjson.dumps(record))
