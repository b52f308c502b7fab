"""Facts of tree search: what was chosen, grown, scored, pruned, repaired and, in the end, returned.

A node is named by the address of the reply that is its thought; the root by ``opened``.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from schemas.events.base import Act, Event
from schemas.struct import NonNegativeInt, PositiveInt, Struct, always

ROOT = "opened"
"""The node that every trajectory starts from."""

Trust: TypeAlias = Literal["first", "recovered", "defaulted"]
"""How scores were read: at once, after the re-prompt, or left at their defaults (CoT2-Meta § B.4)."""
StepScores: TypeAlias = tuple[float | None, float | None, float | None]
"""Semantic, Logical, Fix; none where invalid."""
Ending: TypeAlias = Literal["stop", "return", "abstain", "fallback"]
"""What a search did at its end."""


class Grown(Struct):
    """A child that an expansion left: its strategy, its depth and its combined value, if known."""

    node: str
    strategy: str
    depth: PositiveInt
    value: float | None = None
    repeats: str | None = None
    """The node whose thought it repeats; it is then no node of its own."""


class FrontierScored(Event, tag="frontier.scored"):
    """The open nodes were ranked and one was selected (CoT2-Meta, Algorithm 2 line 3)."""

    act: ClassVar[Act] = "decided"
    round: NonNegativeInt
    scores: tuple[tuple[str, float], ...]
    """Each open node with its score, best first."""
    chosen: str
    left: NonNegativeInt | None = None
    """Calls left before the expansion."""


class NodeExpanded(Event, tag="node.expanded"):
    """A node was expanded; these children came of it."""

    act: ClassVar[Act] = "decided"
    round: NonNegativeInt
    node: str
    children: tuple[Grown, ...]


class NodePruned(Event, tag="node.pruned"):
    """A node's value was too low to go on (Algorithm 2 line 9)."""

    act: ClassVar[Act] = "decided"
    round: NonNegativeInt
    node: str
    value: float


class NodeRepaired(Event, tag="node.repaired"):
    """A trajectory was rewritten from its earliest low step on (Algorithm 2 line 10)."""

    act: ClassVar[Act] = "decided"
    round: NonNegativeInt
    node: str
    into: str
    """The new leaf."""
    parent: str
    """Where it hangs: the node before the step."""
    step: PositiveInt
    depth: PositiveInt
    before: float
    value: float | None = None
    kept: Literal["new", "old"] = always("new")


class OracleScored(Event, tag="oracle.scored"):
    """The process oracle scored every step of a trajectory (eq. r, v_proc, i*)."""

    act: ClassVar[Act] = "assessed"
    node: str
    steps: tuple[StepScores, ...]
    rewards: tuple[float | None, ...]
    value: float | None = None
    """v_proc."""
    low: PositiveInt | None = None
    """i*: the earliest step below the health threshold."""
    source: str
    parse: Trust = always("first")


class ConfidenceStated(Event, tag="confidence.stated"):
    """A model said how far it trusts a whole trajectory."""

    act: ClassVar[Act] = "assessed"
    node: str
    value: float | None = None
    source: str
    wording: str = always("A")
    parse: Trust = always("first")


class ThoughtJudged(Event, tag="thought.judged"):
    """A judge valued a partial solution (ToT, ReST-MCTS)."""

    act: ClassVar[Act] = "assessed"
    node: str
    value: float
    """0 where ``parse`` says that it was left at its default: nobody could read it. What it then stood for
    in a ranking is told by that ranking's fact."""
    source: str
    parse: Trust = always("first")


class ThoughtsKept(Event, tag="thoughts.kept"):
    """The best thoughts of a level were kept (ToT breadth-first search)."""

    act: ClassVar[Act] = "decided"
    depth: PositiveInt
    values: tuple[tuple[str, float], ...]
    kept: tuple[str, ...]


class ValueBackedUp(Event, tag="value.backed.up"):
    """A new node's value was averaged into all nodes above it (Monte Carlo tree search)."""

    act: ClassVar[Act] = "decided"
    round: NonNegativeInt
    node: str
    path: tuple[tuple[str, PositiveInt, float], ...]
    """Node, visits and mean value after the backup, from the root down."""


class SearchDecided(Event, tag="search.decided"):
    """How a search ended: with which trajectory, at which value, how sure (Algorithm 2 lines 12 to 14)."""

    act: ClassVar[Act] = "decided"
    action: Ending
    node: str | None = None
    value: float | None = None
    confidence: float | None = None
    calls: NonNegativeInt
