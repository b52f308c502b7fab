"""Figures of a search's controller: its actions by depth, its audited prunes, and the flow from root to outcome.

Source: CoT2-Meta figure 5, § G.2; design/cot2_meta.md D11.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from handlers.policies.cot2_meta.diagnose import flow
from handlers.policies.cot2_meta.trace import actions_by_depth, tree_of
from streams.research.analysis.found import Cases, Unit, Units

ACTIONS: Final = ("expand", "prune", "repair", "stop")
DEPTHS: Final = range(6)
"""Depths that have a figure of their own; a search goes no deeper than eight."""
ENDS: Final = ("correct", "repaired", "over-pruned", "abstained", "incorrect")


def acts(action: str, depth: int | None = None) -> Units:
    """Each action at this depth, or at any: whether it is this one."""

    def units(cases: Cases) -> Iterator[Unit]:
        for case in cases:
            for at, counts in actions_by_depth(case.trace).items():
                if depth in (None, at):
                    taken = (name for name, count in counts.items() for _ in range(count))
                    yield from (Unit(case.about, name == action) for name in taken)

    return units


def false_prunes(cases: Cases) -> Iterator[Unit]:
    """Each audited prune: whether a run that spared it came to a right answer under it."""
    for case in cases:
        yield from (Unit(case.about, found) for found in case.spared)


def precise_prunes(cases: Cases) -> Iterator[Unit]:
    """The same, the other way round: whether it came to none."""
    for unit in false_prunes(cases):
        # By its units and not as 100 less the other: the two have intervals of their own.
        yield Unit(unit.problem, None if unit.value is None else 1 - unit.value)


def gap(cases: Cases) -> Iterator[Unit]:
    """Each audited episode: one where its best leaf is wrong and one of the relaxed run's best ones is right."""
    # Without a shadow run nobody knows what pruning
    # nothing would have brought: not even that it was 0.
    yield from (Unit(case.about, case.gap) for case in cases if case.spared)


def flows(end: str) -> Units:
    """Each episode: whether it came to this end; unknown where nobody can judge its answer."""

    def units(cases: Cases) -> Iterator[Unit]:
        for case in cases:
            found = flow(tree_of(case.trace), case.closed.answer, case.judged)
            yield Unit(case.about, None if found == "unknown" else found == end)

    return units
