"""Recipes: what is run, and which figures of a paper stand beside what came of it.

A recipe is a YAML file of this model; ``deploy/schemas/recipe.v1.json`` is its JSON Schema. Its data
sets and runs have names; a cell of a paper's table names a run, a data set and a metric, and what is
left unnamed there (a model that we do not train, a table whose values are lost) is ``not measured``.
"""

# A recipe is checked as a whole when it is read: every name in a table
# must be that of a run, a data set or a metric. Otherwise a slip would
# be found after hours of paid calls, as a cell that says `not measured`.

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, model_validator

from schemas.faults import first_fault
from schemas.problem import Limits, Name, Profile, Seed, Values
from schemas.settings import meant
from streams.producing.perturbing import Perturbation
from streams.research.bench.metrics import METRICS
from streams.support.yamls import FILE_CHARS, Flaw, document

FOLDER = Path(__file__).with_name("recipes")
P_VALUE, TOKENS_PER_POINT = "p_value", "tokens_per_point"
COMPARED = (P_VALUE, TOKENS_PER_POINT)
"""Metrics of two runs: McNemar's p-value, and tokens for each point over the other."""
Figure: TypeAlias = int | float | str | None
"""A paper's figure as printed (``91.38 ± 0.60``), or nothing where it prints none."""


class BadRecipe(ValueError):
    """A recipe cannot be read; the message names file and field."""


class Part(BaseModel):
    """A part of a recipe; an unknown field is refused by name."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Sample(Part):
    """So many problems drawn at random, none of them a problem of these other sets."""

    count: PositiveInt
    outside: tuple[str, ...] = ()
    seed: int = 0


class Data(Part):
    """A data set of the recipe."""

    source: str = Field(description="A set such as game24:901-1000, or jsonl for a file of yours.")
    hub: str | None = Field(
        default=None, description="Where a hub has it: OWNER/NAME[#CONFIG][/SPLIT]."
    )
    only: dict[str, str] = Field(
        default={}, description="Items of these traits, as field: Math, or level: '1,2,3'."
    )
    domain: Name | None = Field(default=None, description="Whose memory a file of yours shares.")
    perturb: Perturbation | None = Field(default=None, description="How its problems are put.")
    sample: Sample | None = Field(default=None, description="Which of its problems are drawn.")
    note: str = Field(default="", description="What differs from the paper's set.")


class Matched(Part):
    """A limit that each problem takes over from another run of the recipe."""

    run: str
    of: Literal["calls", "tokens"] = "tokens"


class Before(Part):
    """Another run and the data set that it learned from."""

    run: str
    data: str


class Runs(Part):
    """A policy with its settings, over some of the data sets, for each seed and pass."""

    policy: str
    settings: Values = {}
    limits: Limits = Limits()
    data: tuple[str, ...] = Field(default=(), description="Names of data sets; left out, all.")
    passes: PositiveInt = 1
    order: Literal["released", "shuffled"] = "released"
    matched: Matched | None = None
    per_data: dict[Name, Values] = Field(default={}, description="Settings for some data sets.")
    warm_from: Before | None = Field(default=None, description="Whose rules are its version 0.")
    continues: Before | None = Field(default=None, description="Whose memory it goes on with.")
    beside: str | None = Field(
        default=None, description="A run with whose episodes it goes on, in a side run of each."
    )
    audit: bool = Field(
        default=False, description="Whether side runs spare each branch that it pruned."
    )
    note: str = Field(default="", description="How this differs from the paper's method.")

    @property
    def after(self) -> set[str]:
        """The runs that must have ended before this one can begin."""
        before = (self.matched, self.warm_from, self.continues)
        named = {each.run for each in before if each is not None}
        return named if self.beside is None else named | {self.beside}


class Place(Part):
    """The meaning of a row or column in a paper's table."""

    run: str | None = None
    data: str | None = None
    metric: str | None = None
    only: dict[str, str] = Field(default={}, description="Problems of these traits, as level: '5'.")
    walk: PositiveInt | None = Field(default=None, description="Only this pass.")
    best_of: tuple[str, ...] = Field(
        default=(), description="The strongest of these runs, by data."
    )
    over: tuple[str, ...] = Field(
        default=(), description="The mean over these data sets, as NAME or NAME by METRIC."
    )
    less: tuple[str, ...] = Field(
        default=(), description="Less the figure of this run; of several, of the strongest."
    )
    model: str | None = Field(default=None, description="Whose figure it is, by the model's name.")
    role: str | None = Field(default=None, description="The role that the model answers in.")
    kind: str | None = Field(
        default=None, description="What ends the name of a column's metric, as failure_f1."
    )

    def of(self, data: str) -> Self:
        """The same on one data set, by its own metric if it has one in a mean."""
        name, _, metric = data.partition(" by ")
        return self.model_copy(update={"data": name, "over": (), "metric": metric or self.metric})

    def by(self, run: str) -> Self:
        """The same of another run, by itself."""
        return self.model_copy(update={"run": run, "less": (), "best_of": ()})

    @property
    def runs(self) -> tuple[str, ...]:
        """Every run that the figure hangs on."""
        mine = () if self.run is None else (self.run,)
        return (*mine, *self.best_of, *self.less)

    @property
    def parts(self) -> tuple[Self, ...]:
        """The same on each data set that it is of."""
        datas = self.over or (() if self.data is None else (self.data,))
        return tuple(self.of(data) for data in datas)


class Row(Place):
    """A row: its place and the paper's figures, one for each column, or none at all."""

    paper: tuple[Figure, ...] = ()

    def joined(self, column: Place) -> Place:
        """What its cell in a column stands for: the row's word, else the column's; traits of both."""
        # Traits are joined and not replaced: a row of level 5 in a column of algebra is of both.
        mine = {name: getattr(self, name) or getattr(column, name) for name in Place.model_fields}
        if self.kind is not None and self.metric is None and column.metric is not None:
            mine["metric"] = f"{column.metric}_{self.kind}"
        return column.model_copy(update=mine | {"only": column.only | self.only})


class Table(Part):
    """A table, or a figure's numbers, as the paper prints it."""

    title: str
    model: str = Field(default="", description="The model of the paper's figures.")
    columns: dict[str, Place]
    rows: dict[str, Row]
    note: str = ""

    @model_validator(mode="after")
    def _full(self) -> Self:
        for name, row in self.rows.items():
            if row.paper and len(row.paper) != len(self.columns):
                raise ValueError(
                    f"{self.title}: row {name!r} has {len(row.paper)} figures for {len(self.columns)} columns"
                )
        return self

    def printed(self, row: str) -> tuple[Figure, ...]:
        """The paper's figures of a row, one for each column; nothing in each where no paper has any."""
        return self.rows[row].paper or (None,) * len(self.columns)


Claims = tuple[str, ...]


class Recipe(Part):
    """One table or figure of a paper, and how to measure it; or runs of yours that no paper has."""

    recipe: Name
    claims: Claims = Field(
        default=(), description="Ids of the claims of papers that this recipe prints."
    )
    paper: str = Field(default="", description="Whose table or figure it is; left out, nobody's.")
    about: str = ""
    differs: str = Field(
        default="", description="What differs from the paper, said before any figure."
    )
    profile: Profile = "paper"
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = (0, 1, 2)
    limits: Limits = Limits()
    data: dict[Name, Data]
    runs: dict[str, Runs]
    tables: tuple[Table, ...] = ()

    @model_validator(mode="after")
    def _known(self) -> Self:
        for where, place in self._places():
            named: list[tuple[str, str | None, Collection[str]]] = [
                *(("run", run, self.runs) for run in place.runs),
                *(("data", part.data, self.data) for part in place.parts),
                *(("metric", part.metric, (*METRICS, *COMPARED)) for part in (place, *place.parts)),
            ]
            for kind, name, known in named:
                if name is not None and name not in known:
                    raise ValueError(f"{where}: no {kind} {name!r}; there are {', '.join(known)}")
        for name, data in self.data.items():
            if data.sample and (away := {*data.sample.outside} - {*self.data}):
                raise ValueError(f"data.{name}: the recipe has no {', '.join(sorted(away))}")
        for name, run in self.runs.items():
            sets = {*run.data, *run.per_data}
            sets |= {each.data for each in (run.warm_from, run.continues) if each is not None}
            asked = sets - {*self.data} | (run.after - {*self.runs})
            if asked:
                raise ValueError(f"runs.{name}: the recipe has no {', '.join(sorted(asked))}")
        return self

    @property
    def learned_from(self) -> tuple[str, ...]:
        """The data sets that runs learn from before others go on with that, in the recipe's order."""
        named = {
            before.data
            for run in self.runs.values()
            for before in (run.warm_from, run.continues)
            if before is not None
        }
        return tuple(name for name in self.data if name in named)

    def _places(self) -> Iterator[tuple[str, Place]]:
        for table in self.tables:
            parts: Mapping[str, Place] = {**table.columns, **table.rows}
            yield from ((f"{table.title}: {name}", place) for name, place in parts.items())
            for name, row in table.rows.items():
                # Only joined does such a row name a metric; alone it names the end of one.
                if row.kind is not None:
                    joined = (row.joined(column) for column in table.columns.values())
                    yield from ((f"{table.title}: {name}", place) for place in joined)


def load(name: str) -> Recipe:
    """A recipe of ours by name, or one of yours by its file. Raises ``BadRecipe``."""
    path = Path(name)
    # By its ending and not by whether it is there: a
    # misspelt file is not to be searched among our names.
    if path.suffix not in (".yaml", ".yml"):
        path = FOLDER / f"{name}.yaml"
    if not path.is_file():
        near = meant(name, names())
        raise BadRecipe(
            f"no recipe {name!r}; {near}; metalogue bench list names ours, or give a .yaml file"
        )
    return read(path)


def read(path: Path) -> Recipe:
    """The recipe in a file. Raises ``BadRecipe`` that names the field."""
    try:
        with path.open(encoding="utf-8") as file:
            # One sign more than is allowed, so that the
            # reader of YAML can tell that it is too long.
            said = document(file.read(FILE_CHARS + 1))
    except Flaw as error:
        raise BadRecipe(f"{path.name}:{error.line}: {error}") from error
    except UnicodeDecodeError as error:
        raise BadRecipe(f"{path.name}: not YAML: {error}") from error
    try:
        return Recipe.model_validate(said)
    except ValidationError as error:
        field, what = first_fault(error)
        raise BadRecipe(f"{path.name}: {field or 'recipe'}: {what}") from error


def names() -> list[str]:
    """The recipes of this build."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))
