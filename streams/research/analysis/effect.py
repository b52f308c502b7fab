"""The effect of a memory item: each episode that used it runs again without it, at the same limit and seed.

Source: design/evaluation.md#metrics; design/architecture.md#learning-and-order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemas.identity import address_order, is_numbered
from schemas.usage import Usage, total
from streams.engine.learner import Learner
from streams.engine.policies import find
from streams.replay.change import Change, as_chosen
from streams.replay.fork import Forked, forked_work, going_on, run_fork
from streams.research.analysis.cases import RIGHT
from streams.research.analysis.statistics import mcnemar, paired_interval
from streams.runtime.embedded.records import learned

if TYPE_CHECKING:
    from streams.answering.world import World
    from streams.research.analysis.cases import Case
    from streams.runtime.embedded.log import SqliteLog


@dataclass(frozen=True, slots=True)
class Pair:
    """An episode with the item and its probe without; ``right`` is unknown where nobody can judge."""

    episode: str
    probe: Forked
    right_with: bool | None
    right_without: bool | None
    calls_with: int

    @property
    def calls_without(self) -> int:
        """The calls of its probe, including replies that were taken over."""
        return self.probe.closed.usage.calls


@dataclass(frozen=True, slots=True)
class Effect:
    """The pairs of one item, and what they come to."""

    pairs: Sequence[Pair]

    @property
    def judged(self) -> list[tuple[bool, bool]]:
        """Right with and without it, of the pairs where both are known."""
        return [
            (pair.right_with, pair.right_without)
            for pair in self.pairs
            if pair.right_with is not None and pair.right_without is not None
        ]

    @property
    def spent(self) -> Usage:
        """The usage that the probes paid for themselves."""
        return total(pair.probe.spent for pair in self.pairs)

    @property
    def helped(self) -> int:
        """Episodes that were right with it alone."""
        return sum(with_it and not without for with_it, without in self.judged)

    @property
    def hurt(self) -> int:
        """Episodes that were right without it alone."""
        return sum(without and not with_it for with_it, without in self.judged)

    @property
    def points(self) -> float | None:
        """The effect: points of accuracy that the item brought; unknown where nobody can judge."""
        # Only pairs that both can be judged: an unknown is no failure.
        judged = len(self.judged)
        return round(100 * (self.helped - self.hurt) / judged, 6) if judged else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The effect's 95 % interval over episodes, in points."""
        found = paired_interval(self.helped, self.hurt, len(self.judged))
        return None if found is None else (round(100 * found[0], 6), round(100 * found[1], 6))

    def said(self) -> dict[str, Any]:
        """Everything as plain values."""
        told = self.spent.told()
        return {
            "episodes": len(self.pairs),
            "judged": len(self.judged),
            "right_with": sum(pair[0] for pair in self.judged),
            "right_without": sum(pair[1] for pair in self.judged),
            "helped": self.helped,
            "hurt": self.hurt,
            "effect": self.points,
            "interval": self.interval,
            "p": round(mcnemar(self.helped, self.hurt), 9) if self.judged else None,
            "calls_with": mean(pair.calls_with for pair in self.pairs),
            "calls_without": mean(pair.calls_without for pair in self.pairs),
            "cost": {name: told[name] for name in told if name != "attempts"},
            "reused_calls": sum(pair.probe.reused for pair in self.pairs),
        }


def mean(values: Iterable[int]) -> float | None:
    """The mean; unknown of none."""
    found = list(values)
    return sum(found) / len(found) if found else None


def limited(cases: Iterable[Case], world: World) -> set[str | None]:
    """Who answers the probes whose cost is limited: of the backbones that are offered, or none for the usual one."""
    found = set[str | None]()
    for case in cases:
        if case.opened.limits.cost is not None:
            same = Change(at="", settings=as_chosen(world, case.problem.settings))
            *_, settings = going_on(find, case.problem, case.opened, same)
            found.add(settings.backbone)
    return found


async def without(
    log: SqliteLog, case: Case, item: str, world: World, learner: Learner | None = None
) -> Pair:
    """The probe of one episode: from its first question on, with the item out of its memory version."""
    # From the very first question on: an item that was recalled may have worked in any of them.
    first = min(filter(is_numbered, log.journal(case.episode)), key=address_order)
    same = as_chosen(world, case.problem.settings)
    change = Change(at=first, settings=same, without=(item,), purpose="effect")
    work, record = forked_work(log, find, case.episode, change, world, learner)
    probe = await run_fork(log, work, change, record, world)
    # Where nobody judged the episode nobody judges its probe: half a pair says nothing.
    was = RIGHT.get(case.outcome)
    without_it = None if was is None else case.judged(probe.closed.answer)
    return Pair(case.episode, probe, was, without_it, case.closed.usage.calls)


async def effect(log: SqliteLog, cases: Sequence[Case], item: str, world: World) -> Effect:
    """A probe for each of these episodes; those on the log already cost nothing."""
    # One after the other: each of them is kept on the log, so that a broken run goes on where it
    # ended.
    learner = learned(log, find)
    return Effect([await without(log, case, item, world, learner) for case in cases])
