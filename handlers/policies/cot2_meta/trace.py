"""The tree as the log tells it: nothing but recorded events goes in.

Source: CoT2-Meta figure 5, table 5, § I.5 (controller trace); design/cot2_meta.md D3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from handlers.policies.base import Trace
from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.events.reasoning import Generated
from schemas.events.search import (
    ROOT,
    ConfidenceStated,
    FrontierScored,
    NodeExpanded,
    NodePruned,
    NodeRepaired,
    OracleScored,
    SearchDecided,
)

# Reports, the dashboard and audits look at trees through this module, live ones and forked ones
# alike. It takes nothing from a running search, so what they show can be shown of any log,
# without the policy's settings.

COLUMNS: tuple[str, ...] = ("generation", "evaluation", "verify", "repair", "selection", "fallback")
ROLES: Mapping[str, str] = {
    "thinker": "generation",
    "reasoner": "generation",
    "oracle": "evaluation",
    "confidence": "verify",
    "repairer": "repair",
    "fallback": "fallback",
}


@dataclass(slots=True)
class Twig:
    """A node as recorded."""

    id: str
    parent: str | None
    strategy: str | None = None
    depth: int = 0
    value: float | None = None
    v_proc: float | None = None
    v_out: float | None = None
    low: int | None = None
    answer: str | None = None
    refutes: bool = False
    """Whether its thought could be read and came to no answer."""
    status: str = "open"
    visits: int = 0
    repairs: str | None = None
    """The node that it repairs."""


@dataclass(slots=True)
class Tree:
    """An episode's tree, and how it ended."""

    nodes: dict[str, Twig] = field(default_factory=lambda: {ROOT: Twig(ROOT, None)})
    decided: SearchDecided | None = None
    frontiers: list[FrontierScored] = field(default_factory=list[FrontierScored])
    parses: Counter[str] = field(default_factory=Counter[str])
    repeats: int = 0

    def path(self, node: str | None) -> list[str]:
        """From the root down to a node."""
        found: list[str] = []
        while node is not None:
            found.insert(0, node)
            node = self.nodes[node].parent
        return found

    @property
    def leaves(self) -> list[Twig]:
        """Nodes that nothing hangs under, and that are not the root."""
        parents = {twig.parent for twig in self.nodes.values()}
        return [twig for at, twig in self.nodes.items() if at not in parents and at != ROOT]

    @property
    def survivors(self) -> list[Twig]:
        """Nodes that were neither pruned nor repaired; the root is none."""
        gone = ("pruned", "repaired")
        return [t for t in self.nodes.values() if t.status not in gone and t.id != ROOT]


def tree_of(trace: Trace) -> Tree:
    """The tree that an episode's record tells."""
    # What is said of a thought stands before the expansion that hangs it in, for lanes state their
    # facts and the tree is told of after the join. Twigs that never join are repeats, blank replies
    # and chains of a vote.
    tree = Tree()
    seen: dict[str, Twig] = {}
    for _, event in trace.events:
        match event:
            case Generated():
                twig = _seen(seen, event.source)
                twig.answer = event.answer
                twig.refutes = event.answer is None and event.parse == "ok"
            case OracleScored():
                twig = _seen(seen, event.node)
                twig.v_proc, twig.low = event.value, event.low
                tree.parses[event.parse] += 1
            case ConfidenceStated():
                _seen(seen, event.node).v_out = event.value
            case FrontierScored():
                tree.frontiers.append(event)
            case NodeExpanded():
                _expanded(tree, seen, event)
            case NodePruned():
                tree.nodes[event.node].status = "pruned"
            case NodeRepaired():
                old = tree.nodes[event.node]
                twig = _hang(tree, seen, event.into, event.parent, old.strategy, event.depth)
                twig.value, twig.repairs = event.value, event.node
                (old if event.kept == "new" else twig).status = "repaired"
            case SearchDecided():
                tree.decided = event
            case _:
                pass
    return tree


def _seen(seen: dict[str, Twig], node: str) -> Twig:
    return seen.setdefault(node, Twig(node, None))


def _expanded(tree: Tree, seen: dict[str, Twig], event: NodeExpanded) -> None:
    # The closing call hangs its answer in as a child, but nothing was selected for it.
    if all(child.strategy != "closing" for child in event.children):
        tree.nodes[event.node].visits += 1
    for child in event.children:
        if child.repeats is not None:
            tree.repeats += 1
            continue
        twig = _hang(tree, seen, child.node, event.node, child.strategy, child.depth)
        twig.value = child.value


def _hang(
    tree: Tree, seen: dict[str, Twig], node: str, parent: str, strategy: str | None, depth: int
) -> Twig:
    """Put a node into the tree; a check that could not be read inherits its parent's answer (D3)."""
    twig = tree.nodes[node] = _seen(seen, node)
    twig.parent, twig.strategy, twig.depth = parent, strategy, depth
    if twig.answer is None and not twig.refutes and strategy == "verify":
        twig.answer = tree.nodes[parent].answer
    return twig


def calls_by_column(trace: Trace) -> dict[str, int]:
    """Table 5: what the calls were for; a re-prompt counts where it repeats, selection is code."""
    counts = dict.fromkeys(COLUMNS, 0)
    for _, event in trace.events:
        if isinstance(event, Completed):
            role = event.asked.split(" ")[1]
            counts[ROLES.get(role, "generation")] += 1
    return counts


def actions_by_depth(trace: Trace) -> dict[int, Counter[str]]:
    """Figure 5: expand, prune and repair by the depth of the node that they act on."""
    tree = tree_of(trace)
    found: dict[int, Counter[str]] = {}
    for _, event in trace.events:
        if isinstance(event, NodeExpanded | NodePruned | NodeRepaired):
            depth = tree.nodes[event.node].depth
            found.setdefault(depth, Counter())[_ACTIONS[type(event)]] += 1
    if tree.decided is not None and tree.decided.node is not None:
        depth = tree.nodes[tree.decided.node].depth
        found.setdefault(depth, Counter())[tree.decided.action] += 1
    return dict(sorted(found.items()))


_ACTIONS: Mapping[type[Event], str] = {
    NodeExpanded: "expand",
    NodePruned: "prune",
    NodeRepaired: "repair",
}
