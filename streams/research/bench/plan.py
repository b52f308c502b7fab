"""From a recipe to what is produced: one cell for each run, data set, seed and pass.

A cell's series and memory are named by everything that its outcome hangs on (source, policy, settings,
limits, seed, pass, backbones) and by nothing else. So a bench resumes from its log alone, and recipes
that share a log share what they have in common.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import Any

import orjson

from handlers.policies.base import Policy
from handlers.policies.meta_reasoner.measure import training_sample
from schemas.identity import digest
from schemas.problem import Limits, Problem
from schemas.settings import BACKBONE
from streams.producing.perturbing import Perturbation
from streams.producing.produce import Plan
from streams.producing.sources import BadLine, SourceLine, built_in, lines_of, parse
from streams.research.bench.recipe import BadRecipe, Before, Data, Recipe, Runs, Sample
from streams.runtime.embedded.intake import scope_of
from streams.support.datasets import open_source

REDUCED_PROBLEMS, REDUCED_CALLS = 2, 12
STAND_IN = "game24:1-2"
Find = Callable[[str], Policy[Any]]


@dataclass(frozen=True, slots=True)
class Options:
    """How much of a recipe is run, and on what."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Paths by the name of a data set or of its reader."""
    hubs: frozenset[str] = frozenset()
    """Names of those that a hub holds: a recipe's own range is one of theirs."""
    problems: int | None = None
    """At most so many of each data set."""
    seeds: int | None = None
    """At most so many of the recipe's seeds."""
    calls: int | None = None
    """At most so many calls a problem, whatever the recipe grants."""
    stand_in: bool = False
    """Whether Game of 24 stands in for data sets that are not here."""

    @property
    def changed(self) -> dict[str, Any]:
        """What makes this less than the recipe."""
        said = {
            "problems": self.problems,
            "seeds": self.seeds,
            "calls": self.calls,
            "stand_in": self.stand_in or None,
        }
        return {name: value for name, value in said.items() if value is not None}


OF_THE_RECIPE = ("policy", "settings", "limits", "seed")
"""Fields of a line that say how it is worked on, which here the recipe does."""
NAMED = ("policy", "settings", "data", "note")
"""What of a run is named elsewhere, or changes no outcome."""


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
    only: Mapping[str, str] = field(default_factory=dict[str, str])
    domain: str | None = None
    perturb: Perturbation | None = None
    keep: frozenset[str] | None = None
    """The problems that were drawn; nothing where all are."""
    without: frozenset[str] = frozenset()
    """Problems that another run learns from."""

    @property
    def is_read(self) -> bool:
        """Whether it is here itself: nothing is drawn from what stands in, and nothing taken out of it."""
        return self.read is not None and not self.stands_in

    @property
    def stands_in(self) -> bool:
        """Whether another data set is read in its place."""
        return self.read == STAND_IN and not self.wanted.startswith("game24")

    def lines(self) -> Iterator[SourceLine]:
        """Its problems, as ``produce`` reads them."""
        assert self.read is not None
        return islice(self.every(), self.problems)

    def every(self) -> Iterator[SourceLine]:
        """Its problems, however many of them are wanted."""
        assert self.read is not None
        chosen: set[str] | None = None
        if self.only:
            chosen = {
                record["id"]
                for record in open_source(self.read, path=self.file)
                if has_traits(record.get("traits", {}), self.only)
            }
        drawn = set[str]()
        """Of a sample each problem once, however often the set holds it."""
        for line in lines_of(self.read, self.file):
            if chosen is not None and orjson.loads(line.raw)["id"] not in chosen:
                continue
            # By its text and not by its id: sets number their problems anew, and the same problem
            # in two of them would be learned from in the one and measured in the other.
            text = problem_of(line) if self.keep is not None or self.without else ""
            if text in self.without:
                continue
            if self.keep is not None:
                if text not in self.keep or text in drawn:
                    continue
                drawn.add(text)
            yield line

    def answerable(self) -> int:
        """How many problems it puts: each once, however often it holds it, and no line that is refused."""
        found = set[tuple[str | None, str]]()
        for line in self.lines():
            with suppress(BadLine):
                record = parse(line.raw)
                found.add((record.domain, record.id))
        return len(found)

    def traits(self) -> dict[str, dict[str, str]]:
        """What reports may sort its problems by, by problem id."""
        if self.read is None or not built_in(self.read):
            return {}
        records = open_source(self.read, path=self.file)
        return {record["id"]: record.get("traits", {}) for record in records}


def has_traits(traits: Mapping[str, str], only: Mapping[str, str]) -> bool:
    """Whether a problem has all of these traits, each of them in one of the ways that are named."""
    return all(traits.get(name) in value.split(",") for name, value in only.items())


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
    """The recipe's data sets as they were found. Raises ``ValueError`` for a file that is not there.

    What one run learns from is in no set that others are measured on, nor in a second one that is learned from.
    """
    found = {name: _source(name, data, options) for name, data in recipe.data.items()}
    for name, data in recipe.data.items():
        # A set that stands in for another is no sample of it.
        if data.sample is not None and found[name].is_read:
            found[name] = _drawn(found[name], data.sample, found)
    # Samples are drawn first, because what is learned from must be known before it is taken out of
    # the others; and in the recipe's order, so that every run of it takes the same problems away.
    taken: frozenset[str] = frozenset()
    for name in recipe.learned_from:
        if found[name].is_read:
            found[name] = _apart(found[name], taken)
            taken |= {problem_of(line) for line in found[name].every()}
    for name in found.keys() - {*recipe.learned_from}:
        if found[name].is_read:
            found[name] = _apart(found[name], taken)
    # Last, when it is settled which problems each set
    # has: the digest is that of what is really read.
    return {name: _counted(source, options) for name, source in found.items()}


def problem_of(line: SourceLine) -> str:
    """A problem's text, by which it is the same wherever it stands."""
    try:
        return " ".join(str(orjson.loads(line.raw)["problem"]).split())
    except (ValueError, KeyError, TypeError):
        return ""  # producing it says what is wrong with the line


def _drawn(source: Source, sample: Sample, found: Mapping[str, Source]) -> Source:
    """The problems of a sample, none of which stands in the other sets."""
    outside = {problem_of(line) for name in sample.outside if found[name].is_read
               for line in found[name].every()}  # fmt: skip
    every = [problem_of(line) for line in source.every()]
    kept = frozenset(training_sample(every, outside, sample.count, sample.seed))
    if len(kept) < sample.count:
        raise ValueError(
            f"{source.name}: {sample.count} are to be drawn, and there are {len(kept)}"
        )
    return replace(source, keep=kept)


def _apart(source: Source, taken: frozenset[str]) -> Source:
    """The set without what is learned from, and how much that takes away."""
    lost = sum(problem_of(line) in taken for line in source.every())
    if not lost:
        return source
    note = f"{lost} problems that are learned from are left out. {source.note}".strip()
    return replace(source, without=taken - {""}, note=note)


def _counted(source: Source, options: Options) -> Source:
    if source.read is None:
        return source
    found = list(islice(source.every(), options.problems))
    if not found:
        why = "no item of it has these traits" if source.only else "it has no items"
        why = "nothing of it is left" if source.without else why
        named = ", ".join(f"{name}: {value}" for name, value in source.only.items())
        said = f"{why}{f' ({named})' if named else ''}. {source.note}".strip()
        return Source(source.name, source.wanted, None, note=said)
    total = hashlib.sha256(b"\n".join(line.raw for line in found)).hexdigest()
    return replace(source, problems=len(found), sha256=total)


def _source(name: str, data: Data, options: Options) -> Source:
    reader = data.source.partition(":")[0]
    own = options.files.get(name) if name != reader else None
    # A file that is given for the reader serves every set of the recipe that it reads.
    file = own or options.files.get(reader)
    note = data.note
    if file is None and reader != "game24":
        read = STAND_IN if options.stand_in else None
        hint = f" (hub:{data.hub})" if data.hub else ""
        note = f"not here; give --data {name}=PATH{hint}. {note}".strip()
    elif reader == "jsonl":
        read = file
    else:  # a file of its own is the set; a hub's, or one for all sets of a reader, has the recipe's range
        read = reader if own is not None and name not in options.hubs else data.source
    if read is None:
        return Source(name, data.source, None, note=note)
    only = {} if read == STAND_IN else data.only
    return Source(
        name,
        data.source,
        read,
        None if read in (STAND_IN, file) else file,
        note=note,
        only=only,
        domain=data.domain,
        perturb=data.perturb,
    )


class Planner:
    """The cells of a recipe over its sources, for these backbones."""

    def __init__(
        self,
        recipe: Recipe,
        found: Mapping[str, Source],
        options: Options,
        find: Find,
        backbones: str,
        offered: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.recipe, self.sources, self.find, self.backbones = recipe, found, find, backbones
        self.offered = offered
        """The same of runs that choose one of the backbones that are offered, by its name."""
        self.options, self.seeds = options, recipe.seeds[: options.seeds]
        self.absent = set[str]()
        """Policies that the recipe names and this build lacks."""
        for run in recipe.runs.values():
            try:
                find(run.policy)
            except LookupError:
                self.absent.add(run.policy)

    def cells(self) -> list[Cell]:
        """Every cell whose data set and policy are here, in the order of the recipe."""
        return [
            self.cell(name, data, seed, walk)
            for name, run in self.recipe.runs.items()
            if run.policy not in self.absent and run.beside is None
            for data in run.data or tuple(self.recipe.data)
            if self.sources[data].read is not None and self.waits_for(name) is None
            for seed in self.seeds
            for walk in range(1, run.passes + 1)
        ]

    def waits_for(self, name: str) -> str | None:
        """A data set that a run learns from, by another or before it, and that is not here."""
        return waits_for(self.recipe, self.sources, name)

    def cell(self, name: str, data: str, seed: int, walk: int = 1) -> Cell:
        """One cell, with what it hangs on."""
        run, source = self.recipe.runs[name], self.sources[data]
        policy, values = self.find(run.policy), run.settings | run.per_data.get(data, {})
        if (start := self._before(run.warm_from, seed)) is not None:
            values |= {"warm_start": start.scope}
        # All that its outcome hangs on, and nothing else. What came later stays out of the list
        # where a recipe does not ask for it, and nothing changes its place: otherwise the cells of
        # logs that exist would have other names, and would be worked on again.
        asked: list[Any] = [
            source.read,
            source.sha256,
            policy.reference,
            self.recipe.profile,
            values,
        ]
        who = self._answering(policy, values) or self.backbones
        asked += [self._limits(run).model_dump(exclude_none=True), run.order, seed, who]
        asked += [run.matched and [run.matched.of, self.recipe.runs[run.matched.run].settings]]
        asked += [source.perturb] if source.perturb is not None else []
        before = self._before(run.continues, seed)
        asked += self._others(run)
        own = f"m{digest(asked if before is None else [*asked, before.plan.memory])}"
        memory = own if before is None else before.plan.memory
        reader = (source.read or "").partition(":")[0]
        mine = source.read and built_in(source.read)
        domain = reader.removesuffix("_open") if mine else source.domain or source.name
        plan = Plan(
            source=source.read or "", find=self.find, policy=policy.name, values=values,
            profile=self.recipe.profile, limits=self._limits(run), seed=seed, walk=walk,
            memory=memory, series=f"{own}.{walk}", order=run.order, domain=domain,
            perturb=source.perturb,
        )  # fmt: skip
        # The intake names scopes by a problem's domain, settings and memory. Any problem of the
        # cell would do; none has been read yet.
        problem = Problem(
            id="-", problem="-", domain=domain, profile=plan.profile, settings=values,
            memory=memory, policy=policy.name,
        )  # fmt: skip
        cell = Cell(name, data, seed, walk, plan, scope_of(policy, problem))
        # In another domain every memory begins anew, and recipes say so of theirs.
        same = before is not None and before.plan.domain == domain
        if before is not None and same and before.scope != cell.scope:
            raise BadRecipe(
                f"runs.{name}.continues: what {before.run} learns is another memory, for "
                f"{unlike(policy, before, cell)} keeps them apart; say in both what is said in one"
            )
        return cell

    def _answering(self, policy: Policy[Any], values: Mapping[str, Any]) -> str | None:
        """Who answers where settings choose one that is offered, by all that he is called and not by his name alone."""
        # Other settings may be wrong, which is told of where they are used.
        said = {name: value for name, value in values.items() if name == BACKBONE}
        name = policy.settings.resolve(self.recipe.profile, said).backbone
        return None if name is None else self.offered.get(name, name)

    def _others(self, run: Runs) -> list[Any]:
        """What else an outcome hangs on: how the matched run works, and the passes of the one that it goes on with."""
        passes = [
            self.recipe.runs[each.run].passes for each in (run.warm_from, run.continues) if each
        ]
        found: list[Any] = [{"passes": passes}] if any(each > 1 for each in passes) else []
        if run.matched is not None:
            other = self.recipe.runs[run.matched.run]
            said = other.model_dump(mode="json", exclude_defaults=True, exclude={*NAMED})
            # Of a policy that is not here nothing is known but its name: its own cells say what is missing.
            away = other.policy in self.absent
            policy = None if away else self.find(other.policy)
            told = [other.policy if policy is None else policy.reference, said]
            who = None if policy is None else self._answering(policy, other.settings)
            found.append({"matched": told if who is None else [*told, who]})
        return found

    def most_calls(self, cell: Cell) -> int | None:
        """How many calls one problem of a cell takes at most, by its limit and its policy's settings."""
        policy, plan = self.find(self.recipe.runs[cell.run].policy), cell.plan
        allowed = policy.most_calls(policy.settings.resolve(plan.profile, plan.values))
        return min(
            (most for most in (plan.limits.calls, allowed) if most is not None), default=None
        )

    def _limits(self, run: Runs) -> Limits:
        limits, most = run.limits.over(self.recipe.limits), self.options.calls
        if most is None:
            return limits
        # A bound of the command line only ever lowers: a recipe's own limit is part of the method.
        return Limits(calls=min(most, limits.calls or most)).over(limits)

    def _before(self, before: Before | None, seed: int) -> Cell | None:
        """The cell that another begins with."""
        if before is None:
            return None
        return self.cell(before.run, before.data, seed)

    def stages(self) -> list[list[Cell]]:
        """The cells in the order in which they can run: what others hang on first."""
        cells, left = self.cells(), dict(self.recipe.runs)
        stages: list[list[Cell]] = []
        # Over all runs, also those without a cell here: they keep their places in the order, and a
        # circle among them is found as well.
        while left:
            free = [name for name, run in left.items() if not run.after & left.keys()]
            if not free:
                raise BadRecipe(f"runs {', '.join(left)} wait for each other")
            stages.append([cell for cell in cells if cell.run in free])
            left = {name: run for name, run in left.items() if name not in free}
        return [stage for stage in stages if stage]


def unlike(policy: Policy[Any], one: Cell, other: Cell) -> str:
    """What parts the memories of two cells of one domain: a policy, or settings as they are spelled."""
    if one.plan.policy != other.plan.policy:
        return "the policy"
    # Settings count as they were set: one that is spelled out at its default is another memory than one
    # that is left to it.
    first, second = (
        policy.settings.learning_values(cell.plan.profile, cell.plan.values)
        for cell in (one, other)
    )
    return ", ".join(name for name in {**first, **second} if first.get(name) != second.get(name))


def waits_for(
    recipe: Recipe, found: Mapping[str, Source], name: str, *, itself: bool = False
) -> str | None:
    """A data set that a run learned from, and that is not here: without it it is another method.

    ``itself``: nor does another set in its place make it here.
    """
    run = recipe.runs[name]
    for before in (run.warm_from, run.continues):
        if before is not None:
            source = found[before.data]
            if source.read is None or (itself and source.stands_in):
                return before.data
            if (further := waits_for(recipe, found, before.run, itself=itself)) is not None:
                return further
    return None


def by_the_recipe(lines: Iterable[SourceLine], left_out: Counter[str]) -> Iterator[SourceLine]:
    """The lines without what a recipe says of all of them, so that each run is its own; ``left_out`` counts it."""
    for line in lines:
        try:
            record = orjson.loads(line.raw)
            said = [name for name in OF_THE_RECIPE if record.pop(name, None) is not None]
            left_out.update(said)
            yield SourceLine(line.number, orjson.dumps(record)) if said else line
        except (ValueError, AttributeError, TypeError):
            yield line  # producing it says what is wrong with the line


def with_limits(
    lines: Iterator[SourceLine], limits: Mapping[str, Limits], domain: str | None
) -> Iterator[SourceLine]:
    """The lines, each problem with a limit of its own where its domain and id have one."""
    for line in lines:
        try:
            record = orjson.loads(line.raw)
            own = limits.get(f"{record.get('domain') or domain}/{record['id']}")
            if own is not None:
                record["limits"] = own.model_dump(exclude_none=True)
                line = SourceLine(line.number, orjson.dumps(record))
        except (ValueError, LookupError, AttributeError):
            pass  # producing it says what is wrong with the line
        yield line
