"""Lessons and rules: since when they stand, with evidence, what became of their uses, and their effect."""

# Two figures stand beside each other on these pages and must not be taken for one another. The
# worth is what became of episodes that had an item, with all that made them hard or easy; it is
# free, and there for all. The effect is measured by probes: the same episodes again without the
# item, which somebody had to pay for.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from schemas.events.episode import EpisodeClosed
from schemas.events.learning import KnowledgeConsolidated
from schemas.identity import learning_id
from state.folds.grades import Known
from state.folds.lives import ItemUsage, name_of
from state.folds.memory import MemoryFold
from state.folds.state import State
from streams.interfaces.dashboard.words import number_in
from streams.research.analysis.effects import Measured, Probed, most_probed
from streams.runtime.embedded.log import SqliteLog
from streams.telemetry.figures import BatchFigures

PAGE: Final = 50
USES_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Among:
    """All members of a scope: how many are right, of how many that were graded."""

    right: int
    graded: int
    members: int

    @property
    def share(self) -> float | None:
        """Share of the graded ones that were right."""
        return self.right / self.graded if self.graded else None


@dataclass(frozen=True, slots=True)
class Worth:
    """The outcomes of episodes that had an item in their prompts, beside those of the whole scope.

    A difference is no effect: what was hard may have called for the item.
    """

    uses: int
    right: int
    wrong: int
    """The rest of its uses is without a grade, or no answer was given."""
    among: Among
    """All members of its scope."""

    @property
    def other(self) -> int:
        """Uses that were neither right nor wrong: not graded, or without an answer."""
        return self.uses - self.right - self.wrong

    @property
    def share(self) -> float | None:
        """Share of its graded uses that were right."""
        known = self.right + self.wrong
        return self.right / known if known else None


@dataclass(frozen=True, slots=True)
class Item:
    """A lesson or rule of the list."""

    life: ItemUsage
    key: str
    worth: Worth
    effects: Sequence[Probed]


def worth(life: ItemUsage, among: Among) -> Worth:
    """What became of an item's uses."""
    return Worth(life.uses, life.right, life.wrong, among)


def among_all(batches: Mapping[tuple[str, int], BatchFigures], scope: str) -> Among:
    """All members of a scope."""
    mine = [b for b in batches.values() if b.scope == scope]
    return Among(*(sum(getattr(b, name) for b in mine) for name in ("right", "graded", "members")))


def items(
    state: State,
    batches: Mapping[tuple[str, int], BatchFigures],
    measured: Measured,
    scope: str,
    wanted: Mapping[str, str],
) -> dict[str, Any]:
    """A page of lessons or rules: of one version, or of all that ever were.

    Unless another order is asked for, those come first that were used most, and those without a use stand apart.
    """
    kind = "rule" if wanted.get("kind") == "rule" else "lesson"
    at = wanted.get("at", "")
    number = number_in(at)
    fold = state.memories.get(scope)
    lives = [life for life in state.lives.known.values() if life.scope == scope]
    of_kind = [life for life in lives if life.item.kind == kind]
    roles = sorted({life.item.role for life in of_kind})
    found = [life for life in of_kind if wanted.get("role") in (None, "", life.item.role)]
    found = [life for life in found if stands(life, fold, number, wanted.get("all", ""))]
    order = "" if wanted.get("order") in (None, "uses") else wanted["order"]
    found.sort(key=_order(order, measured))
    # Pages are counted by place and not by id: orders change as uses come in,
    # and a list may jump a little.
    first = number_in(wanted.get("from", "")) or 0
    # An item that was right in half of its uses is good where a tenth is
    # right: the scope is the measure.
    among = among_all(batches, scope)
    shown = [
        Item(life, name_of(life.item), worth(life, among), most_probed(measured.get(life.key, {})))
        for life in found[first : first + PAGE]
    ]
    return {
        "kind": kind,
        "scope": scope,
        "roles": roles,
        "count": len(found),
        "first": first,
        "next": first + PAGE if first + PAGE < len(found) else None,
        "among": among,
        "newest": fold.latest.number if fold is not None else 0,
        "at": number,
        "measured": bool(measured),
        "items": shown,
        "used": [each for each in shown if order or each.worth.uses],
        "idle": [each for each in shown if not order and not each.worth.uses],
        "order": order,
    }


def stands(life: ItemUsage, fold: MemoryFold | None, number: int | None, everything: str) -> bool:
    """Whether an item belongs to what was asked for: a version, all time, or the newest version."""
    if number is not None and fold is not None:
        memory = fold.versions.get(number)
        return memory is not None and any(name_of(i) == name_of(life.item) for i in memory.items)
    return bool(everything) or life.until is None


def _order(order: str, measured: Measured) -> Callable[[ItemUsage], tuple[Any, ...]]:
    """What a list is sorted by; ties, and everything unless it is said, as it was learned."""

    def key(life: ItemUsage) -> tuple[Any, ...]:
        points = [effect.points for effect in measured.get(life.key, {}).values()]
        greatest = max((each for each in points if each is not None), default=-inf)
        first = {
            "": (-life.uses,),
            "right": (-life.right, life.wrong),
            "since": (-life.since,),
            "effect": (-greatest,),
        }.get(order, ())
        return (*first, life.item.batch, life.item.role, life.item.id)

    return key


# ── One item ─────────────────────────────────────────────────────────────────────────────────


def item(
    state: State,
    log: SqliteLog,
    batches: Mapping[tuple[str, int], BatchFigures],
    measured: Measured,
    scope: str,
    key: str,
) -> dict[str, Any] | None:
    """One lesson or rule in full; none if there is no such item."""
    life = state.lives.known.get((scope, key))
    if life is None:
        return None
    # An episode pinned one text of an item: others under its id were rewritten,
    # and have uses of their own.
    had = state.lives.used_in
    used = [episode for episode in state.lives.uses if any(one is life for one in had(episode))]
    used.reverse()
    written: KnowledgeConsolidated | None = None
    if life.item.kind == "rule":
        # From which lessons it was first written: a lesson's own evidence says as much of it.
        at, kinds = learning_id(scope, life.since), ("knowledge.consolidated",)
        for event in (record.event for record in log.records(episode=at, kinds=kinds)):
            if isinstance(event, KnowledgeConsolidated) and event.role == life.item.role:
                written = event
                break
    return {
        "life": life,
        "key": key,
        "scope": scope,
        "worth": worth(life, among_all(batches, scope)),
        "effects": most_probed(measured.get((scope, key), {})),
        "uses": [_graded(state, log, episode) for episode in used[:USES_SHOWN]],
        "more": max(len(used) - USES_SHOWN, 0),
        "evidence": [_graded(state, log, episode) for episode in life.item.evidence],
        "written": written,
        "newest": state.memories[scope].latest.number,
        "source": learning_id(scope, life.item.batch),
    }


def _graded(state: State, log: SqliteLog, episode: str) -> tuple[str, Known, bool]:
    """An episode with what is known of its answer, and whether it gave one."""
    # Of one that is still open it is not known yet, which must not look like
    # an answer that is missing.
    closed = log.find(episode, "closed")
    answered = not isinstance(closed, EpisodeClosed) or closed.answer is not None
    return episode, state.outcomes.of(episode), answered
