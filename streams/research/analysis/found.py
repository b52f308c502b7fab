"""A figure with what it rests on: of how many things it is, how many nobody knows, and its interval.

A metric is either a mean over *units* (answers, decisions, calls), each of a problem, or something of the
whole that is no mean (a calibration error, an area). What is unknown is in no mean, and always counted. The
interval of an area is that of what each thing is worth to it (its influence), summed up by problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import TypeAlias

from streams.research.analysis.calibrated import Stated, calibration_interval
from streams.research.analysis.cases import Case
from streams.research.analysis.intervals import (
    Parts,
    Spread,
    bounded_interval,
    count_interval,
    mean_interval,
    share_interval,
)

Cases: TypeAlias = Sequence[Case]


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that a mean is over: the problem that it belongs to, and its value where it is known."""

    problem: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Found:
    """A figure of so many known units; ``unknown`` ones are in none of it."""

    value: float | None
    known: int
    unknown: int = 0
    units: tuple[Unit, ...] = ()
    worth: tuple[Unit, ...] = ()
    """Of what is no mean: what each thing is worth to it. Their mean is the figure, and their spread is its own;
    of a sum, what each brings to it."""
    stated: tuple[Stated, ...] = ()
    """Of a calibration error: what was said of each answer, and whether that is right."""

    @property
    def sample(self) -> tuple[Unit, ...]:
        """What its interval is over."""
        return self.units or self.worth


Measure: TypeAlias = Callable[[Cases], Found]
Units: TypeAlias = Callable[[Cases], Iterable[Unit]]


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure, what it says, how many places of it are printed; shares may be printed in percent."""

    about: str
    measure: Measure
    places: int = 2
    scale: float = 1.0
    share: bool = False
    """Whether its units are yes or no."""
    bounded: bool = False
    """Whether it lies between 0 and 1 and is no share of units: its interval does not leave them."""
    spread: Spread | None = None
    """Its interval, where it is neither a share nor a mean."""

    def found(self, cases: Cases) -> Found:
        """The figure, scaled, with what it rests on."""
        found = self.measure(cases)
        value = None if found.value is None else self.scale * found.value
        return replace(found, value=value)

    def of(self, cases: Cases) -> float | None:
        """The figure alone; ``None`` where nothing of it is known."""
        return self.found(cases).value

    def between(self, found: Sequence[Found]) -> tuple[float, float] | None:
        """The 95 % interval of the mean of figures, one a seed."""
        # Only a calibration error states anything; of all
        # others this is nothing, and their units decide.
        bounds = calibration_interval([each.stated for each in found])
        if bounds is None:
            return self.interval(unit for each in found for unit in each.sample)
        return self.scale * bounds[0], self.scale * bounds[1]

    def interval(self, units: Iterable[Unit]) -> tuple[float, float] | None:
        """The 95 % interval over problems; unknown for what nothing is worth something to."""
        parts = parts_of(units)
        spread = (
            share_interval if self.share else bounded_interval if self.bounded else mean_interval
        )
        found = (self.spread or spread)(parts)
        return None if found is None else (self.scale * found[0], self.scale * found[1])


def over(units: Units) -> Measure:
    """The mean of what is known."""

    def measured(cases: Cases) -> Found:
        found = tuple(units(cases))
        known = [unit.value for unit in found if unit.value is not None]
        mean = fsum(known) / len(known) if known else None
        return Found(mean, len(known), len(found) - len(known), found)

    return measured


def share_of(about: str, units: Units, places: int = 2) -> Metric:
    """A share of units, in percent."""
    return Metric(about, over(units), places, 100.0, share=True)


def mean_of(about: str, units: Units, places: int = 2) -> Metric:
    """A mean over units."""
    return Metric(about, over(units), places)


def count_of(about: str, measure: Measure, places: int = 0) -> Metric:
    """How many it is of."""
    return Metric(about, measure, places, spread=count_interval)


def parts_of(units: Iterable[Unit]) -> Parts:
    """What the known units of each problem add up to, and of how many."""
    # By problem, because units of one problem (seeds,
    # decisions, replies) are no independent evidence.
    sums: dict[str, list[float]] = {}
    for unit in units:
        if unit.value is not None:
            sums.setdefault(unit.problem, []).append(unit.value)
    return [(fsum(values), len(values)) for values in sums.values()]


def by_problem(units: Iterable[Unit]) -> dict[str, float | None]:
    """Each problem's mean; unknown where none of its units is known."""
    found: dict[str, list[float]] = {}
    for unit in units:
        mine = found.setdefault(unit.problem, [])
        # The problem is entered even so: that it is unknown
        # must be seen by who pairs it with another run's.
        mine += [] if unit.value is None else [unit.value]
    return {at: fsum(mine) / len(mine) if mine else None for at, mine in found.items()}


def each(pick: Callable[[Case], float | None]) -> Units:
    """One unit for every case."""
    # One unit even where it is unknown, for what is left out must be counted.
    return lambda cases: (Unit(case.about, pick(case)) for case in cases)
