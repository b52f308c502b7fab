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
    """The limit of each problem, by domain and id: what the other run's episode on it, of the same seed, came to."""
    # The same seed and pass, for both runs were given the same problems there; others may be
    # perturbed or ordered in another way. A run that ended with fewer passes is matched by its last.
    alike = [
        other
        for other in cells
        if (other.run, other.data, other.seed) == (matched.run, cell.data, cell.seed)
        and other.walk <= cell.walk
    ]
    last = max((other.walk for other in alike), default=0)
    series = {other.series for other in alike if other.walk == last}
    # A problem that the other run has not closed, or spent nothing
    # on, gets no limit of its own: the recipe's holds for it.
    return {
        case.about: Limits(**{matched.of: spent})
        for case in read(log).cases()
        if case.problem.series in series and (spent := getattr(case.closed.usage, matched.of))
    }
