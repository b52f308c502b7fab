"""Nodes, trajectories and the meta-state that the controller reads.

Source: CoT2-Meta § 2.1, § 2.3 (m = φ(x, τ, o)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from handlers.policies.cot2_meta.scores import earliest_low, fuse, lowest, process_value, reward
from handlers.policies.cot2_meta.settings import Cot2Settings
from handlers.roles.oracle import Score, Scores
from handlers.roles.thinker import Strategy
from schemas.events.search import ROOT, Trust
from schemas.identity import address_order

# Nodes change while the search lasts; a meta-state is made of one when it is decided on and
# does not change afterwards. The controller is given the meta-state alone, so that it cannot
# look at texts by accident.

Status: TypeAlias = Literal["open", "pruned", "repaired", "closed"]


@dataclass(slots=True)
class Node:
    """One thought at the end of its trajectory; the root has none."""

    id: str
    parent: Node | None
    strategy: Strategy | None
    steps: tuple[str, ...]
    """The thoughts of the whole trajectory τ."""
    answer: str | None = None
    scores: tuple[Scores, ...] = ()
    parse: Trust = "first"
    reasons: str = ""
    """What the oracle thought before it gave the scores."""
    v_out: Score = None
    rewards: tuple[Score, ...] = ()
    value: Fraction = Fraction(0)
    visits: int = 0
    repairs: int = 0
    status: Status = "open"
    stated: bool = False
    """Whether a confidence query was put at all."""

    @property
    def depth(self) -> int:
        """Thoughts from the root."""
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def v_proc(self) -> Score:
        """The process value, if anything of it is known."""
        return process_value(self.rewards)

    @property
    def survives(self) -> bool:
        """Neither pruned nor repaired."""
        return self.status in ("open", "closed")

    @property
    def confirms(self) -> bool:
        """Whether it is a check that left its trajectory's answer as it was."""
        known = None if self.parent is None else self.parent.answer
        return self.strategy == "verify" and self.answer is not None and self.answer == known

    def weigh(self, settings: Cot2Settings) -> None:
        """Rewards and value from the scores."""
        self.rewards = tuple(reward(scores, settings) for scores in self.scores)
        self.value = fuse(self.v_out, self.v_proc, settings)


def root() -> Node:
    """The empty trajectory."""
    return Node(ROOT, None, None, ())


@dataclass(frozen=True, slots=True)
class MetaState:
    """m: what the controller may know of a trajectory. Never a text, never a reference."""

    strategy: Strategy | None
    depth: float
    """Over ``max_depth``."""
    v_proc: Score
    v_out: Score
    repairs: int
    low_reward: Score
    """min r."""
    low_step: Fraction
    """i*/T, or 0."""
    means: Scores
    """Mean Semantic, Logical, Fix."""
    parse: Trust
    steps: int
    lowest_step: int | None
    answered: bool


def meta_state(node: Node, settings: Cot2Settings) -> MetaState:
    """φ: a pure function of the trajectory and the oracle's output."""
    # i* is kept as a share of T: the paper's vector has a fixed length and comparable entries,
    # whatever the length of a trajectory. As a fraction it gives the step back without a rounding.
    known = [r for r in node.rewards if r is not None]
    low = earliest_low(node.rewards, settings)
    columns = list(zip(*node.scores, strict=True)) or [(), (), ()]
    semantic, logical, fix = map(process_value, columns)
    return MetaState(
        strategy=node.strategy,
        depth=node.depth / settings.max_depth,
        v_proc=node.v_proc,
        v_out=node.v_out,
        repairs=node.repairs,
        low_reward=min(known, default=None),
        low_step=Fraction(low, len(node.rewards)) if low else Fraction(0),
        means=(semantic, logical, fix),
        parse=node.parse,
        steps=len(node.steps),
        lowest_step=lowest(node.rewards),
        answered=node.answer is not None,
    )


def best(nodes: Sequence[Node]) -> Node | None:
    """The node of the highest value, ties by lowest address."""
    return min(nodes, key=lambda n: (-n.value, address_order(n.id)), default=None)
