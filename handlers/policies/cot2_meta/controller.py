"""The controller: plain code that reads the meta-state, the frontier and the calls left.

Source: CoT2-Meta § 2.3, Algorithm 2 lines 3, 9, 10, 12 and 13; design/cot2_meta.md D3, D8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from handlers.policies.cot2_meta.scores import fuse, selection_score
from handlers.policies.cot2_meta.settings import Cot2Settings, exact
from handlers.policies.cot2_meta.state import MetaState, Node, best
from handlers.roles.thinker import Strategy
from schemas.identity import address_order, hash01

# No model is asked here and no text is read: what the controller decides can be derived again from
# scores on the log, and an ablation changes a setting instead of a prompt.

Action: TypeAlias = Literal["prune", "repair", "keep"]


def decide(m: MetaState, settings: Cot2Settings) -> Action:
    """Line 9 before line 10 before line 11."""
    # A node of which nothing could be read has value 0, and would be pruned for two
    # slips of its judges.
    value = fuse(m.v_out, m.v_proc, settings)
    unknown = m.v_out is None and m.v_proc is None and settings.defaulted == "unknown"
    if settings.pruning and not unknown and value < exact(settings.prune_threshold):
        return "prune"
    return "repair" if repair_step(m, settings) is not None else "keep"


def repair_step(m: MetaState, settings: Cot2Settings) -> int | None:
    """i*, or with repair-all the lowest step where there is none; none where nothing is repaired."""
    if settings.repair == "none" or not settings.evaluator or m.repairs >= settings.max_repairs:
        return None
    if m.low_step:
        return int(m.low_step * m.steps)
    return m.lowest_step if settings.repair == "all" else None


def strategies(node: Node, settings: Cot2Settings) -> tuple[Strategy, ...]:
    """Under which strategies a node may be expanded (D3)."""
    if node.depth >= settings.max_depth:
        return ()
    # An answered trajectory is finished: it can be checked, but not carried on. Before the first
    # thought there is nothing to check.
    if node.answer is not None:
        if node.confirms and not settings.verify_again:
            return ()
        return tuple(s for s in settings.strategies if s == "verify")
    if node.parent is None:
        return tuple(s for s in settings.strategies if s != "verify")
    return settings.strategies


def frontier(nodes: Sequence[Node], settings: Cot2Settings) -> list[Node]:
    """F: the open nodes that can still be expanded."""
    return [node for node in nodes if node.status == "open" and strategies(node, settings)]


def ranked(
    nodes: Sequence[Node], selections: int, settings: Cot2Settings, seed: int
) -> list[tuple[Node, float]]:
    """The frontier with its scores, best first; ties by lowest address or by hash."""

    def order(scored: tuple[Node, float]) -> tuple[float, float, tuple[int, tuple[int, ...], str]]:
        node, score = scored
        tie = hash01(seed, "tie", node.id) if settings.ties == "hash" else 0.0
        return -score, tie, address_order(node.id)

    beta = settings.exploration
    scored = [(n, selection_score(n.value, n.visits, selections, beta)) for n in nodes]
    return sorted(scored, key=order)


def answered(nodes: Sequence[Node]) -> list[Node]:
    """The survivors that have an answer: line 12 and line 14 consider no others (D3)."""
    return [node for node in nodes if node.survives and node.answer is not None]


def stops(node: Node | None, settings: Cot2Settings) -> bool:
    """Whether the best survivor is known to be good enough to end the search (line 12).

    What could not be read ends nothing: v rests on both its parts, as far as they count in it.
    """
    if node is None or node.value < exact(settings.stop_threshold):
        return False
    if settings.defaulted == "zero":
        return True
    judged = not settings.evaluator or settings.outcome_share == 1 or node.v_proc is not None
    return judged and (settings.outcome_share == 0 or node.v_out is not None)


def abstains(node: Node | None, settings: Cot2Settings) -> bool:
    """Whether the best answer is trusted too little (line 13, D8)."""
    if node is None:
        return True
    if settings.abstain_threshold is None:
        return False
    confidence = node.value if settings.terminal == "value" else node.v_out
    if confidence is None:  # in a service an answer is not withheld on what nobody could read
        return settings.defaulted == "zero"
    return confidence < exact(settings.abstain_threshold)


def best_answer(nodes: Sequence[Node]) -> Node | None:
    """The best survivor that has an answer."""
    return best(answered(nodes))
