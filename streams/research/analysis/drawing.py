"""A search tree in words: a line a node, for a terminal. Scores, actions, calls, the surviving path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from handlers.policies.cot2_meta.trace import Tree, Twig
from schemas.events.search import ROOT
from schemas.identity import address_order
from streams.views.words import plural

MARKS = {"pruned": "✗", "repaired": "↻", "closed": "○", "open": "●"}


@dataclass(frozen=True, slots=True)
class Branch:
    """A node's place in the drawing."""

    twig: Twig
    rails: str
    """What stands to its left."""
    row: int
    on_path: bool

    @property
    def words(self) -> str:
        """Mark, strategy, scores, what became of it."""
        mark = "★" if self.on_path else MARKS[self.twig.status]
        return f"{mark} {described(self.twig)}"


def described(twig: Twig) -> str:
    """A node in a few words."""
    if twig.id == ROOT:
        return f"the problem  {visits(twig)}"
    scores = (("v", twig.value), ("steps", twig.v_proc), ("trust", twig.v_out))
    said = "  ".join(f"{name} {value:.2f}" for name, value in scores if value is not None)
    # A mark says already whether a node is open or
    # closed; what was done to a branch is worth a word.
    parts = [f"{twig.strategy} {twig.id}", said, visits(twig)]
    if twig.status in ("pruned", "repaired"):
        parts.append(twig.status)
    if twig.repairs is not None:
        parts.append(f"mends {twig.repairs}")
    if twig.answer is not None:
        parts.append(f"= {' '.join(twig.answer.split())}")
    return "  ".join(filter(None, parts))


def visits(twig: Twig) -> str:
    """How often a node was expanded, if it was."""
    return f"expanded {twig.visits}×" if twig.visits else ""


def branches(tree: Tree) -> list[Branch]:
    """Every node from the root down, children in the order of their addresses."""
    children: dict[str | None, list[Twig]] = {}
    for twig in sorted(tree.nodes.values(), key=lambda twig: address_order(twig.id)):
        children.setdefault(twig.parent, []).append(twig)
    # A search that was cut off has decided nothing:
    # then no way is marked, rather than a guess at one.
    path = set(tree.path(tree.decided.node)) if tree.decided is not None else set[str]()
    return [
        Branch(twig, rails, row, twig.id in path)
        for row, (twig, rails) in enumerate(_walk(children, tree.nodes[ROOT], "", ""))
    ]


def _walk(
    children: dict[str | None, list[Twig]], twig: Twig, here: str, below: str
) -> Iterator[tuple[Twig, str]]:
    yield twig, here
    under = children.get(twig.id, [])
    for at, child in enumerate(under):
        last = at == len(under) - 1
        own, rest = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _walk(children, child, below + own, below + rest)


def headline(tree: Tree) -> str:
    """How the search ended, and what it spent."""
    pruned = sum(twig.status == "pruned" for twig in tree.nodes.values())
    mended = sum(twig.repairs is not None for twig in tree.nodes.values())
    thoughts = plural(len(tree.nodes) - 1, "thought")
    counts = f"{thoughts}, {pruned} pruned, {plural(mended, 'repair')}"
    # The first frontier holds all that the search was given; later ones hold what was left by then.
    granted = tree.frontiers[0].left if tree.frontiers else None
    if tree.decided is None:
        return counts
    calls = plural(tree.decided.calls, "call")
    spent = f"{tree.decided.calls} of {plural(granted, 'call')}" if granted else calls
    return f"{tree.decided.action}: {counts}, {spent}"
