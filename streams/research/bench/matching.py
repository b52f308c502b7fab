"""Limits that a run takes over from another, problem by problem: what that one spent there.

Source: CoT2-Meta table 20 (token-matched evaluation).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from schemas.problem import Limits
from streams.research.analysis.cases import read
from streams.research.bench.plan import Cell
from streams.research.bench.recipe import Matched

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


def matched_limits(
    log: SqliteLog, matched: Matched, cell: Cell, cells: Sequence[Cell]
) -> dict[str, Limits]:
    """The limit of each problem: what the other run's episode on it, of the same seed, came to."""
    # The same seed and pass, for both runs were given the same problems there; others may be
    # perturbed or ordered in another way.
    series = {
        other.series
        for other in cells
        if (other.run, other.data, other.seed, other.walk)
        == (matched.run, cell.data, cell.seed, cell.walk)
    }
    # A problem that the other run has not closed, or spent nothing
    # on, gets no limit of its own: the recipe's holds for it.
    return {
        case.problem.id: Limits(**{matched.of: spent})
        for case in read(log).cases()
        if case.problem.series in series and (spent := getattr(case.closed.usage, matched.of))
    }
