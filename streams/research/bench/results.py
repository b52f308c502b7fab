"""Results of a recipe's cells, read off the log: episodes by run and data set, and any figure of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING, Any

from handlers.answers.grade import grade_reference
from schemas.events.episode import Completed
from streams.producing.perturbing import unperturbed
from streams.research.analysis.cases import Case, Grades, Reading, read, role_of
from streams.research.analysis.statistics import t_half_width
from streams.research.bench.metrics import METRICS, known
from streams.research.bench.plan import Cell, Source, has_traits
from streams.research.bench.recipe import Place

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


@dataclass(frozen=True, slots=True)
class Episode:
    """A closed episode with its cell."""

    cell: Cell
    case: Case


@dataclass(slots=True)
class Results:
    """Episodes by run and data set, the log that was read, and traits of problems."""

    cells: Sequence[Cell]
    groups: dict[tuple[str, str], list[Episode]] = field(
        default_factory=dict[tuple[str, str], list[Episode]]
    )
    traits: Mapping[str, Mapping[str, Mapping[str, str]]] = field(
        default_factory=dict[str, dict[str, dict[str, str]]]
    )
    reading: Reading = field(default_factory=Reading)
    absent: frozenset[str] = frozenset()
    """Policies that the recipe names and this build lacks."""
    beside: frozenset[str] = frozenset()
    """Runs whose episodes are those of another, with what side runs said of them."""

    def chosen(self, place: Place) -> list[Episode]:
        """The episodes that a place stands for; of several passes the first, unless it names one."""
        if place.run is None or place.data is None:
            return []
        found = self.groups.get((place.run, place.data), [])
        walk, traits = place.walk or 1, self.traits.get(place.data, {})
        # A perturbed problem has its own id, and the traits of the one that it was made of.
        return [
            one
            for one in found
            if one.cell.walk == walk
            and has_traits(traits.get(unperturbed(one.case.problem.id), {}), place.only)
        ]

    def answered(self, run: str) -> set[tuple[str, str]]:
        """Which model answered in which role of a run, in its episodes and in what it learned from."""
        mine = [one for (name, _), group in self.groups.items() if name == run for one in group]
        found = {
            (role_of(event), event.model)
            for one in mine
            for _, event in one.case.trace.events
            if isinstance(event, Completed)
        }
        # Also who answered while it learned: rules that
        # another model wrote make the run that one's too.
        series = {one.cell.series for one in mine}
        scopes = {scope for each in series for scope in self.reading.scopes.get(each, ())}
        return found.union(*(self.reading.makers.get(scope, set()) for scope in scopes))

    def models(self) -> list[str]:
        """Which models answered, by the names that they gave."""
        events = (
            e for group in self.groups.values() for o in group for _, e in o.case.trace.events
        )
        return sorted({event.model for event in events if isinstance(event, Completed)})


def gather(
    log: SqliteLog,
    cells: Sequence[Cell],
    sources: Mapping[str, Source],
    grade: Grades = grade_reference,
) -> Results:
    """Everything that these cells left on the log. ``grade`` judges answers that no episode gave."""
    reading = read(log, grade)
    of: dict[str, list[Cell]] = {}
    # Several cells may share a series: a run that
    # differs in nothing but its name is worked on once.
    for cell in cells:
        of.setdefault(cell.series, []).append(cell)
    results = Results(cells, reading=reading)
    results.groups = {(cell.run, cell.data): [] for cell in cells}
    results.traits = {name: source.traits() for name, source in sources.items()}
    for case in reading.cases():
        for cell in of.get(case.problem.series or "", ()):
            results.groups[cell.run, cell.data].append(Episode(cell, case))
    return results


# ── Figures ──────────────────────────────────────────────────────────────────────────────────


def measured(metric: str, episodes: Sequence[Episode]) -> dict[str, Any] | None:
    """A metric's mean over seeds, its interval as papers print it and over problems, and what it rests on.

    ``known`` and ``unknown`` count what it is of (problems, decisions, replies) over all seeds.
    """
    asked = METRICS[metric]
    # Seed by seed, and then their mean, as papers do:
    # seeds may have closed unequal numbers of problems.
    found = [asked.found([one.case for one in group]) for _, group in by_seed(episodes)]
    values = [each.value for each in found if each.value is not None]
    if not values:
        return None
    half = t_half_width(values)
    return {
        "value": round(fmean(values), 6),
        "half_width": None if half is None else round(half, 6),
        "interval": _rounded(asked.between(found)),
        "known": sum(each.known for each in found),
        "unknown": sum(each.unknown for each in found),
        "seeds": len(values),
        "seeds_unknown": len(found) - len(values),
        "problems": len({one.case.about for one in episodes}),
        "places": asked.places,
    }


def _rounded(found: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if found is None else (round(found[0], 6), round(found[1], 6))


def by_seed(episodes: Iterable[Episode]) -> list[tuple[int, list[Episode]]]:
    """Episodes of each seed."""
    ordered = sorted(episodes, key=lambda one: one.cell.seed)
    return [(seed, list(group)) for seed, group in groupby(ordered, key=lambda one: one.cell.seed)]


def rates(episodes: Sequence[Episode]) -> dict[str, float]:
    """How often each problem was solved over seeds, for those whose outcome is known."""
    outcomes: dict[str, list[bool]] = {}
    sure = {case.episode for case in known(one.case for one in episodes)}
    for one in episodes:
        if one.case.episode in sure:
            outcomes.setdefault(one.case.about, []).append(one.case.outcome == "right")
    return {problem: sum(found) / len(found) for problem, found in sorted(outcomes.items())}


def accuracy_interval(episodes: Sequence[Episode]) -> tuple[float, float] | None:
    """The interval of the accuracy, in percent, over problems."""
    accuracy = METRICS["accuracy"]
    return _rounded(accuracy.interval(accuracy.found([one.case for one in episodes]).units))
