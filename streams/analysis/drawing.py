"""A search tree drawn: lines for a terminal, SVG for a page. Scores, actions, calls, the surviving path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from handlers.policies.cot2_meta.trace import Tree, Twig
from schemas.events.search import ROOT
from schemas.identity import address_order

MARKS = {"pruned": "✗", "repaired": "↻", "closed": "○", "open": "●"}
COLOURS = {"pruned": "#d55e00", "repaired": "#e69f00", "closed": "#666", "open": "#0072b2"}
PATH = "#009e73"
ROW, STEP, EDGE = 26, 150, 20


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
    counts = f"{len(tree.nodes) - 1} thoughts, {pruned} pruned, {mended} repairs"
    granted = tree.frontiers[0].left if tree.frontiers else None
    if tree.decided is None:
        return counts
    spent = f"{tree.decided.calls} of {granted} calls" if granted else f"{tree.decided.calls} calls"
    return f"{tree.decided.action}: {counts}, {spent}"


def lines(tree: Tree) -> list[str]:
    """The tree as text."""
    return [headline(tree), *(f"{branch.rails}{branch.words}" for branch in branches(tree))]


def svg(tree: Tree) -> str:
    """The tree as SVG: a row a node, as far right as it is deep."""
    drawn = branches(tree)
    places = {branch.twig.id: branch for branch in drawn}
    width = EDGE + STEP * max((branch.twig.depth for branch in drawn), default=0) + 640
    height = ROW * (len(drawn) + 2)
    parts = [f'<text x="{EDGE}" y="18" font-weight="bold">{escape(headline(tree))}</text>']
    parts += [_edge(branch, places) for branch in drawn if branch.twig.parent is not None]
    parts += [_spot(branch) for branch in drawn]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
        f"{''.join(parts)}</svg>\n"
    )


def html(tree: Tree, title: str) -> str:
    """The tree as a page of its own."""
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
    return f"{head}<body><h1>{escape(title)}</h1>{svg(tree)}</body></html>\n"


def _at(branch: Branch) -> tuple[int, int]:
    return EDGE + STEP * branch.twig.depth, ROW * (branch.row + 2)


def _edge(branch: Branch, places: dict[str, Branch]) -> str:
    (x, y), (px, py) = _at(branch), _at(places[branch.twig.parent or ROOT])
    colour, width = (PATH, 3) if branch.on_path else ("#8888", 1)
    return f'<path d="M{px} {py}V{y}H{x}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _spot(branch: Branch) -> str:
    x, y = _at(branch)
    colour = PATH if branch.on_path else COLOURS[branch.twig.status]
    return (
        f'<circle cx="{x}" cy="{y}" r="6" fill="{colour}"/>'
        f'<text x="{x + 12}" y="{y + 4}">{escape(described(branch.twig))}</text>'
    )
