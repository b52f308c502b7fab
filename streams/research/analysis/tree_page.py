"""Trees as drawings: what branched, which way the answer came, and which answers are right or wrong.

One geometry for the dashboard, for a page of its own and for a file: a row a node, a step to the right a level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final, TypeAlias

from handlers.policies.cot2_meta.trace import Tree, Twig
from schemas.events.search import ROOT
from schemas.identity import address_order
from streams.research.analysis.drawing import headline, visits
from streams.research.analysis.layout import page

Judge: TypeAlias = Callable[[str | None], bool | None]
"""Whether an answer is right, where anybody can say."""
ROW: Final = 30
STEP: Final = 34
EDGE: Final = 16
LETTER: Final = 8.2
"""Width of a letter, for how wide a drawing is."""
LONG: Final = 90
"""Letters of a node's words at most; all of them stand in its title."""
VERDICTS: Final = {True: "right", False: "wrong", None: ""}
LEGEND: Final = (
    ("right", "a right answer"),
    ("wrong", "a wrong one"),
    ("open", "nobody can say, or no answer yet"),
    ("pruned", "pruned"),
    ("repaired", "repaired"),
)


@dataclass(slots=True)
class Node:
    """One node: what it is, the answer it came to, and what else is said of it."""

    title: str
    answer: str = ""
    detail: str = ""
    tone: str = "open"
    """``right``, ``wrong``, ``open``, ``pruned``, ``repaired``, or ``root`` of what is above all answers."""
    verdict: str = ""
    """``right`` or ``wrong`` beside its answer, where anybody can say."""
    at: str | None = None
    """The step that it is."""
    chosen: bool = False
    """Whether the answer came this way."""
    children: list[Node] = field(default_factory=list["Node"])


@dataclass(frozen=True, slots=True)
class Spot:
    """A node's place, and the line from the one above it."""

    node: Node
    x: int
    y: int
    edge: str
    """The line as an SVG path; empty for a root."""

    @property
    def words(self) -> str:
        """What stands behind the answer."""
        return shortened(self.node.detail)

    @property
    def given(self) -> str:
        """The answer as it is shown."""
        return shortened(self.node.answer)


def shortened(words: str) -> str:
    """Words that are cut where they are too long to stand beside a node."""
    return words if len(words) <= LONG else words[: LONG - 1] + "…"


@dataclass(frozen=True, slots=True)
class Drawing:
    """Nodes with their places, and how wide and high the whole is."""

    spots: Sequence[Spot]
    width: int
    height: int


def placed(roots: Sequence[Node]) -> Drawing:
    """Every node's place, children under their parent in order."""
    spots: list[Spot] = []
    wide = 0.0
    for row, (node, depth, above) in enumerate(_walk(roots, 0, None, [0])):
        x, y, edge = EDGE + STEP * depth, ROW * row + ROW // 2, ""
        if above is not None:
            top = ROW * above + ROW // 2
            edge = f"M{x - STEP} {top}V{y - 10}Q{x - STEP} {y} {x - STEP + 10} {y}H{x}"
        spot = Spot(node, x, y, edge)
        spots.append(spot)
        # No font can be asked here, so the width is reckoned by the letters, and rather too wide.
        said = f"{node.title} {spot.given} {node.verdict} {spot.words}"
        wide = max(wide, x + 22 + LETTER * len(said))
    return Drawing(spots, int(wide) + EDGE, ROW * len(spots))


def _walk(
    nodes: Sequence[Node], depth: int, above: int | None, row: list[int]
) -> Iterator[tuple[Node, int, int | None]]:
    for node in nodes:
        mine = row[0]
        row[0] += 1
        yield node, depth, above
        yield from _walk(node.children, depth + 1, mine, row)


# ── A search ─────────────────────────────────────────────────────────────────────────────────


def searched(tree: Tree, judged: Judge) -> list[Node]:
    """The roots of a search: right and wrong in their colours, the way that the answer came marked."""
    path = set(tree.path(tree.decided.node)) if tree.decided is not None else set[str]()
    nodes = {id: _node(twig, judged, chosen=id in path) for id, twig in tree.nodes.items()}
    roots: list[Node] = []
    # Every node is made before any is hung up, so that it
    # does not matter in which order the record tells of them.
    for twig in tree.nodes.values():
        above = nodes.get(twig.parent or "")
        (above.children if above is not None else roots).append(nodes[twig.id])
    for node in nodes.values():
        node.children.sort(key=lambda child: address_order(child.at or ""))
    return roots


def _node(twig: Twig, judged: Judge, *, chosen: bool) -> Node:
    if twig.id == ROOT:
        return Node("the problem", detail=visits(twig), tone="root", chosen=chosen)
    scores = (("v", twig.value), ("steps", twig.v_proc), ("trust", twig.v_out))
    said = [f"{name} {value:.2f}" for name, value in scores if value is not None]
    said += filter(None, [visits(twig), f"mends {twig.repairs}" if twig.repairs else ""])
    verdict = "" if twig.answer is None else VERDICTS[judged(twig.answer)]
    # What became of a branch goes before whether it was right: a pruned answer is drawn as pruned
    # even where it would have been right, and the word beside it says so.
    left = twig.status if twig.status in ("pruned", "repaired") else ""
    answer = "" if twig.answer is None else " ".join(twig.answer.split())
    return Node(
        f"{twig.strategy} {twig.id}",
        answer,
        ", ".join([left, *said] if left else said),
        left or verdict or "open",
        verdict,
        twig.id,
        chosen,
    )


# ── On a page, and in a file ─────────────────────────────────────────────────────────────────

STYLE: Final = """
text{font:14px system-ui,sans-serif;fill:#1e2328}.words{fill:#59626d}.given{font-weight:600}
.edge{fill:none;stroke:#c9c4ba;stroke-width:1.5}.edge.chosen{stroke:#2b5f93;stroke-width:3}
circle{fill:#fff;stroke:#2b5f93;stroke-width:2.5}.right circle{fill:#1d6b44;stroke:#1d6b44}
.wrong circle{fill:#a02c24;stroke:#a02c24}.pruned circle{stroke:#a02c24;stroke-dasharray:2 2}
.repaired circle{stroke:#7a4f00}.right .verdict{fill:#1d6b44}.wrong .verdict{fill:#a02c24}
@media(prefers-color-scheme:dark){text{fill:#e4e7ea}.words{fill:#a0a9b4}.edge{stroke:#3a414a}
.edge.chosen{stroke:#8dbbea}circle{fill:#191d22;stroke:#8dbbea}.right circle{fill:#74c69d;stroke:#74c69d}
.wrong circle{fill:#f0958c;stroke:#f0958c}.pruned circle{stroke:#f0958c}.repaired circle{stroke:#e3b565}
.right .verdict{fill:#74c69d}.wrong .verdict{fill:#f0958c}}
"""
"""Colours of a drawing that stands alone; on pages ``style.css`` has them."""


def svg(drawing: Drawing, about: str, style: str = STYLE) -> str:
    """The drawing as SVG; without a style of its own it has the page's."""
    inside = f"<style>{style}</style>" if style else ""
    # Chosen edges come last, for what is drawn later
    # lies above: no thin line crosses the thick one.
    edges = "".join(
        f'<path class="edge{" chosen" * spot.node.chosen}" d="{spot.edge}"/>'
        for spot in sorted(drawing.spots, key=lambda spot: spot.node.chosen)
        if spot.edge
    )
    # A file of its own needs the namespace; within a page of HTML it is known.
    name = ' xmlns="http://www.w3.org/2000/svg"' if style else ""
    spots = ""
    for spot in drawing.spots:
        node = spot.node
        answer = f' <tspan class="given">{escape(spot.given)}</tspan>' if node.answer else ""
        verdict = f' <tspan class="verdict">{node.verdict}</tspan>' if node.verdict else ""
        # What is cut to a line's length stands whole in the title, which a pointer brings up.
        whole = escape(f"{node.title} {node.answer} {node.detail}")
        spots += (
            f'<g class="{node.tone}"><title>{whole}</title>'
            f'<circle cx="{spot.x}" cy="{spot.y}" r="6"/><text x="{spot.x + 14}" y="{spot.y + 5}">'
            f'{escape(node.title)}{answer}{verdict} <tspan class="words">{escape(spot.words)}</tspan></text></g>'
        )
    return (
        f'<svg{name} class="drawn" width="{drawing.width}" height="{drawing.height}" role="img" '
        f'viewBox="0 0 {drawing.width} {drawing.height}" aria-label="{escape(about)}">{inside}{edges}'
        f"{spots}</svg>"
    )


def html(tree: Tree, name: str, problem: str, judged: Judge) -> str:
    """A search's tree as a page of its own."""
    drawing = placed(searched(tree, judged))
    legend = "".join(f'<li class="{tone}">{told}</li>' for tone, told in LEGEND)
    return page(
        name,
        [
            f"<h1>{escape(name)}</h1>",
            f'<blockquote class="problem">{escape(problem)}</blockquote>' if problem else "",
            f'<p class="lead">{escape(headline(tree))}. The thick line is the way that the answer came.</p>',
            f'<div class="scroll tree" role="region" tabindex="0" aria-label="Tree">'
            f"{svg(drawing, headline(tree), '')}</div>",
            f'<ul class="legend">{legend}</ul>',
        ],
        kind="search tree",
    )
