"""The offline phase: a tree search over atomic actions for each seed problem; what led to it is a card."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

from handlers.learning.elementary import log
from handlers.policies.base import Batch, Member, put, type_of
from handlers.policies.baselines.hiar_icl.cards import (
    ROLE,
    Card,
    Path,
    cards_of,
    complexity,
    named,
)
from handlers.policies.baselines.hiar_icl.solve import CardSettings, act
from handlers.roles.atomic import ACTIONS, Action
from schemas.asking import All, OutOfLimit, Steps
from schemas.events.learning import KnowledgeConsolidated
from schemas.events.search import ValueBackedUp
from schemas.questions import Check


@dataclass(slots=True)
class Node:
    """What an action led to after those before it, and what was found there and below."""

    thought: str
    answer: str | None
    visits: int = 0
    mean: float = 0.0


@dataclass(slots=True)
class Search:
    """The tree of one seed problem; nodes are named by their actions."""

    member: Member
    settings: CardSettings
    nodes: dict[Path, Node] = field(default_factory=dict[Path, Node])
    right: list[Path] = field(default_factory=list[Path])

    def uct(self, path: Path) -> float:
        """Mean value + c √(ln N / n)."""
        above = sum(node.visits for name, node in self.nodes.items() if name[:-1] == path[:-1])
        node = self.nodes[path]
        return round(node.mean + self.settings.exploration * sqrt(log(above) / node.visits), 9)

    def next(self, at: Path = ()) -> Path | None:
        """The first way that was not tried yet, going down by the highest score; ties in order."""
        below: list[Path] = [(*at, action) for action in followers(at, self)]
        fresh = next((path for path in below if path not in self.nodes), None)
        if fresh is not None:
            return fresh
        # The best branch may have been tried to its end: then the next best is gone into.
        ranked = sorted(below, key=lambda path: -self.uct(path))
        return next((found for path in ranked if (found := self.next(path))), None)

    def back_up(self, path: Path, value: float) -> tuple[tuple[str, int, float], ...]:
        """The value goes into the mean of every node on the way; from the top down."""
        for length in range(1, len(path) + 1):
            node = self.nodes[path[:length]]
            node.visits += 1
            node.mean += (value - node.mean) / node.visits
        ways = [path[:length] for length in range(1, len(path) + 1)]
        return tuple((named(way), self.nodes[way].visits, self.nodes[way].mean) for way in ways)

    @property
    def card(self) -> Card | None:
        """The shortest way that came out right, ties first seen."""
        if not self.right:
            return None
        told = self.member.reflected
        return Card(complexity(told.problem), min(self.right, key=len))


def followers(path: Path, search: Search) -> list[Action]:
    """What may follow: nothing twice running, nothing but a second look after an answer."""
    # The same action twice running brings the same thought again, and after an answer only
    # a second look at it makes sense. Without these bounds most of the few ways that are
    # tried would be wasted.
    if len(path) >= search.settings.depth:
        return []
    if path and search.nodes[path].answer is not None:
        return [] if path[-1] == "refine" else ["refine"]
    return [a for a in ACTIONS if (path or a != "refine") and path[-1:] != (a,)]


def learn(batch: Batch, settings: CardSettings) -> Steps[None]:
    """New cards beside the old ones, in the first batches of a scope."""
    if batch.number > settings.offline_batches or not batch.members:
        return
    found = yield from All(find(Search(m, settings)) for m in batch.members[: settings.seeds])
    before = cards_of(item.text for item in batch.memory.of(ROLE, "rule"))
    cards = list(dict.fromkeys((*before, *(card for card in found if isinstance(card, Card)))))
    yield KnowledgeConsolidated(
        role=ROLE,
        rules=tuple((f"C{at:03}", card.text) for at, card in enumerate(cards, 1)),
        result="consolidated" if cards else "kept",
        new=len(cards) - len(before),
    )


def find(search: Search) -> Steps[Card | None]:
    """The card of one problem, after so many ways; a limit leaves the best so far."""
    told = search.member.reflected
    subject = f"{told.domain}/{told.problem_id}"
    try:
        for rollout in range(search.settings.rollouts):
            path = search.next()
            if path is None:
                break
            yield from _act(search, path)
            # A way is worth what its answer is worth, so one without an answer is
            # carried to its end.
            if search.nodes[path].answer is None and path[-1] != "reason":
                path = (*path, "reason")
                yield from _act(search, path)
            answer, right = search.nodes[path].answer, False
            if answer is not None:
                asked = (told.domain, told.problem, answer, subject, type_of(told))
                right = (yield from Check(*asked)) == "right"
            if right:
                search.right.append(path)
            values = search.back_up(path, float(right))
            yield ValueBackedUp(round=rollout, node=named(path), path=values)
    except OutOfLimit:
        # What was found by then stays: the preparation is paid for, whoever cut it short.
        pass
    return search.card


def _act(search: Search, path: Path) -> Steps[None]:
    before = [search.nodes[path[:length]].thought for length in range(1, len(path))]
    told = search.member.reflected
    thought = yield from act(put(told), before, path[-1], 0)
    search.nodes[path] = Node(thought.text, thought.answer)
