"""What a memory item is worth: each episode that used it, again without it, at the same limit and seed.

Source: evaluation page (effect of a memory item); architecture page (Probe).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemas.identity import address_order, is_numbered
from schemas.usage import Usage, total
from streams.analysis.intervals import mean_interval
from streams.analysis.statistics import mcnemar
from streams.policies import find
from streams.replay.change import Change
from streams.replay.fork import Forked, forked_work, run_fork

if TYPE_CHECKING:
    from streams.analysis.cases import Case
    from streams.runtime.embedded.log import SqliteLog
    from streams.world import World


@dataclass(frozen=True, slots=True)
class Pair:
    """An episode with the item and its probe without; ``right`` is unknown where nobody can judge."""

    episode: str
    probe: Forked
    right_with: bool | None
    right_without: bool | None
    calls_with: int
    calls_without: int


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
        """What the probes paid for themselves."""
        return total(pair.probe.spent for pair in self.pairs)

    def said(self) -> dict[str, Any]:
        """Everything as plain values; the effect in points of accuracy, with its interval over episodes."""
        gains = [100.0 * (with_it - without) for with_it, without in self.judged]
        interval = mean_interval(gains)
        wins, losses = gains.count(100.0), gains.count(-100.0)
        return {
            "episodes": len(self.pairs),
            "judged": len(gains),
            "right_with": sum(pair[0] for pair in self.judged),
            "right_without": sum(pair[1] for pair in self.judged),
            "effect": round(sum(gains) / len(gains), 6) if gains else None,
            "interval": None if interval is None else [round(bound, 6) for bound in interval],
            "p": round(mcnemar(wins, losses), 9) if gains else None,
            "calls_with": mean(pair.calls_with for pair in self.pairs),
            "calls_without": mean(pair.calls_without for pair in self.pairs),
            "cost": self.spent.model_dump(exclude={"attempts"}),
            "reused_calls": sum(pair.probe.reused for pair in self.pairs),
        }


def mean(values: Iterable[int]) -> float | None:
    """The mean; unknown of none."""
    found = list(values)
    return sum(found) / len(found) if found else None


async def without(log: SqliteLog, case: Case, item: str, world: World) -> Pair:
    """The probe of one episode: from its first question on, with the item out of its memory version."""
    first = min(filter(is_numbered, log.journal(case.episode)), key=address_order)
    change = Change(at=first, without=(item,), purpose="effect")
    work, record = forked_work(log, find, case.episode, change, world.description, world.grant)
    probe = await run_fork(log, work, change, record, world)
    known = case.outcome != "unknown"
    return Pair(
        case.episode,
        probe,
        case.outcome == "right" if known else None,
        case.right(probe.closed.answer) if known else None,
        case.closed.usage.calls,
        probe.closed.usage.calls,
    )


async def effect(log: SqliteLog, cases: Sequence[Case], item: str, world: World) -> Effect:
    """A probe for each of these episodes; those on the log already cost nothing."""
    return Effect([await without(log, case, item, world) for case in cases])
