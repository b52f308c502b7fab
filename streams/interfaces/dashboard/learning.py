"""The page on learning: the memory versions of scopes over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.identity import learning_id
from schemas.memory import Memory
from state.folds.lives import name_of
from state.folds.memory import MemoryFold
from state.folds.state import State
from streams.interfaces.dashboard import progress
from streams.telemetry.figures import BatchFigures, Figures


@dataclass(frozen=True, slots=True)
class Version:
    """One memory version beside the batch that it was learned from."""

    number: int
    lessons: int
    rules: int
    came: int
    """Items that the version before did not have."""
    went: int
    batch: BatchFigures | None
    episode: str


@dataclass(frozen=True, slots=True)
class ScopeLine:
    """One scope of the list."""

    scope: str
    policy: str
    versions: int
    lessons: int
    rules: int
    right: int
    graded: int
    members: int


# ── Scopes and versions ──────────────────────────────────────────────────────────────────────


def scopes(state: State, batches: Sequence[BatchFigures]) -> list[ScopeLine]:
    """Every scope that has a memory, by name."""
    # Scopes come from memories, and not from batches: one that has closed
    # none yet is there as well.
    lines: list[ScopeLine] = []
    for name, fold in sorted(state.memories.items()):
        latest, mine = fold.latest, [batch for batch in batches if batch.scope == name]
        rules = sum(item.kind == "rule" for item in latest.items)
        line = ScopeLine(
            scope=name,
            policy=name.split("/")[1] if "/" in name else name,
            versions=latest.number,
            lessons=len(latest.items) - rules,
            rules=rules,
            right=sum(batch.right for batch in mine),
            graded=sum(batch.graded for batch in mine),
            members=sum(batch.members for batch in mine),
        )
        lines.append(line)
    return lines


def versions(fold: MemoryFold, batches: Mapping[tuple[str, int], BatchFigures]) -> list[Version]:
    """Every version of a scope, oldest first."""
    # By name and not by id, as ids of rules return: what came and went would else cancel out.
    found: list[Version] = []
    before: Memory | None = None
    for number in sorted(fold.versions):
        memory = fold.versions[number]
        had = {name_of(item) for item in (() if before is None else before.items)}
        has = {name_of(item) for item in memory.items}
        rules = sum(item.kind == "rule" for item in memory.items)
        batch = batches.get((fold.scope, number))
        episode = learning_id(fold.scope, number)
        lessons = len(memory.items) - rules
        found.append(
            Version(number, lessons, rules, len(has - had), len(had - has), batch, episode)
        )
        before = memory
    return found


def overview(state: State, figures: Figures, wanted: str) -> dict[str, Any]:
    """All scopes, and the versions of the one that is wanted."""
    names = sorted(state.memories)
    # A scope that is gone, as after another log took the place of this one,
    # shows the first instead.
    scope = wanted if wanted in state.memories else next(iter(names), None)
    shown = [] if scope is None else versions(state.memories[scope], figures.batches)
    return {
        "scopes": scopes(state, list(figures.batches.values())),
        "scope": scope,
        "versions": list(reversed(shown)),
        "progress": None if scope is None else progress.shown(figures, scope),
    }
