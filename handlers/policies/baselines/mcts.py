"""Monte Carlo tree search over partial chains; the judge's process value stands for a rollout.

After ReST-MCTS*, simplified: no rollouts and no training of the value model; the value of a new
partial chain is averaged into all nodes above it.

Source: Zhang et al. 2024 (ReST-MCTS*), Algorithm 1; CoT2-Meta § B.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any, ClassVar

from pydantic import NonNegativeFloat, PositiveInt

from handlers.learning.elementary import log
from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.baselines.tree import START, State, closing, concluded, grow_all
from handlers.policies.unread import Unread
from schemas.asking import Steps
from schemas.events.search import ValueBackedUp
from schemas.questions import Remain
from schemas.settings import Lanes, PolicySettings


class MctsSettings(PolicySettings):
    """Settings of Monte Carlo tree search."""

    caps: ClassVar[frozenset[str]] = frozenset({"thinker", "judge", "reasoner"})
    paper: ClassVar[Mapping[str, Any]] = {"unread": "zero"}

    primary_calls: PositiveInt = 16
    """Calls in all; the episode's limit caps them."""
    candidates: Lanes = 3
    """Children of an expansion."""
    exploration: NonNegativeFloat = 0.7
    """The weight of the visit term."""
    max_depth: PositiveInt = 8
    """Steps of thought from the problem to a leaf at most."""
    enough: NonNegativeFloat = 0.9
    """An answered chain of at least this value ends the search."""
    unread: Unread = "unknown"
    """What a value is that the judge's reply does not tell: unknown, or 0."""


# The search shares its states, prompts and judge with ``tree``: what tells both methods apart is
# where they grow next, by value and visits here, by level there.


@dataclass(slots=True)
class Branch:
    """A node: its state, and the mean value of all that was found below it."""

    state: State
    parent: Branch | None = None
    children: list[Branch] = field(default_factory=list["Branch"])
    visits: int = 0
    valued: int = 0
    """Visits that brought a value."""
    mean: float = 0.0
    expansions: int = 0
    last: bool = False
    """As deep as a chain may be."""

    @property
    def expected(self) -> float:
        """The mean; of a node below which no value could be read, that of the node above."""
        if self.valued or self.parent is None:
            return self.mean
        return self.parent.expected

    @property
    def ended(self) -> bool:
        """Answered, too deep, or with nothing below it that is not."""
        below = self.expansions > 0 and all(child.ended for child in self.children)
        return self.last or self.state.answer is not None or below


def uct(branch: Branch, exploration: float) -> float:
    """Mean value + c √(ln N / n); a node that was never visited comes first."""
    above = branch.parent.visits if branch.parent is not None else branch.visits
    # Rounded before it is compared: ties then fall to the one seen first on every machine.
    if not branch.visits:
        return inf
    return round(branch.expected + exploration * sqrt(log(max(above, 1)) / branch.visits), 9)


def select(root: Branch, exploration: float) -> Branch | None:
    """Down from the root by the highest score, ties first seen, to a node without children."""
    node = root
    while node.expansions:
        open_children = [child for child in node.children if not child.ended]
        if not open_children:
            return None
        node = max(open_children, key=lambda child: uct(child, exploration))
    return node


def back_up(leaf: Branch, value: float | None) -> list[Branch]:
    """The value, if it is known, goes into the running mean of the leaf and of all above it; from the root down."""
    path: list[Branch] = []
    node: Branch | None = leaf
    while node is not None:
        # A visit counts even without a value: else the search would come back to
        # what nobody can judge.
        node.visits += 1
        if value is not None:
            node.valued += 1
            node.mean += (value - node.mean) / node.valued
        path.insert(0, node)
        node = node.parent
    return path


def solve(task: Task, settings: MctsSettings) -> Steps[Conclusion]:
    """Select, expand, value, back up; until calls are spent or an answered chain is good enough.

    Where every branch has ended, the root gets more children: methods are compared at equal calls.
    """
    root, found = Branch(START), list[State]()
    limit: str | None = None
    spent = 0
    while limit is None and not any(
        state.value is not None and state.value >= settings.enough for state in found
    ):
        remaining = yield from Remain()
        own = settings.primary_calls - spent
        room = own if remaining.calls is None else min(own, remaining.calls)
        leaf = select(root, settings.exploration) or root
        # New draws for a node that is expanded again: equal prompts would bring the same children.
        first = leaf.expansions * settings.candidates
        wanted = [(leaf.state, draw) for draw in range(first, first + settings.candidates)]
        grown, calls = yield from grow_all(task, wanted, room, settings.unread, known=bool(found))
        if not calls:
            break
        spent += calls
        limit = next((state.limit for state in grown if state.limit is not None), None)
        leaf.expansions += 1
        for state in grown:
            if not state.steps:  # a limit cut its lane before it had a thought
                continue
            child = Branch(state, leaf, last=len(state.steps) >= settings.max_depth)
            leaf.children.append(child)
            path = tuple((b.state.id, b.visits, b.expected) for b in back_up(child, state.value))
            yield ValueBackedUp(round=leaf.visits, node=state.id, path=path)
        found += [state for state in grown if state.answer is not None]
    if found or limit is not None:
        return concluded(found, limit)
    return (yield from closing(task))


REST_MCTS = Policy(
    name="rest_mcts",
    version="5",
    about="after ReST-MCTS*, simplified: tree search over partial chains; an untrained judge's value is backed up",
    settings=MctsSettings,
    roles=("thinker", "judge", "reasoner"),
    solve=solve,
    confidence_source="value",
)
