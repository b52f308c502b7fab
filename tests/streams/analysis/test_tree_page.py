"""Trees as they are drawn: places, colours by right and wrong, and the way that the answer came."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.cot2_meta.trace import Tree, Twig
from schemas.events.search import ROOT, SearchDecided
from streams.research.analysis.tree_page import (
    EDGE,
    LONG,
    ROW,
    STEP,
    Node,
    html,
    placed,
    searched,
    svg,
)

NODES = st.recursive(
    st.builds(Node, st.text(max_size=6), st.text(max_size=200)),
    lambda inner: st.builds(Node, st.just("n"), children=st.lists(inner, max_size=3)),
    max_leaves=12,
)


def every(nodes: list[Node]) -> int:
    return sum(1 + every(node.children) for node in nodes)


@given(st.lists(NODES, max_size=3))
def test_every_node_has_a_row_of_its_own_inside_the_drawing(roots: list[Node]) -> None:
    drawing = placed(roots)
    assert [spot.y for spot in drawing.spots] == [
        ROW * row + ROW // 2 for row in range(every(roots))
    ]
    assert drawing.height == ROW * every(roots)
    assert all((spot.x - EDGE) % STEP == 0 and spot.x < drawing.width for spot in drawing.spots)
    assert sum(not spot.edge for spot in drawing.spots) == len(roots)
    assert all(len(spot.words) <= LONG and len(spot.given) <= LONG for spot in drawing.spots)


def tree(decided: str) -> Tree:
    nodes = {
        ROOT: Twig(ROOT, None),
        "1": Twig("1", ROOT, "direct", 1, answer="24"),
        "2": Twig("2", ROOT, "verify", 1, answer="<25>"),
        "3": Twig("3", ROOT, "decompose", 1, status="pruned", answer="24"),
    }
    return Tree(nodes=nodes, decided=SearchDecided(node=decided, action="return", calls=3))


def right(answer: str | None) -> bool | None:
    return None if answer is None else answer == "24"


def test_right_and_wrong_have_their_colours_wherever_the_answer_came_from() -> None:
    """The way to a wrong answer was as green as one to a right answer."""
    (root,) = searched(tree("2"), right)
    assert [(n.tone, n.verdict, n.chosen) for n in root.children] == [
        ("right", "right", False),
        ("wrong", "wrong", True),
        ("pruned", "right", False),
    ]
    (root,) = searched(tree("1"), lambda _: None)
    assert [node.tone for node in root.children] == ["open", "open", "pruned"]


def test_a_file_stands_alone_and_a_page_has_the_design_of_all_pages() -> None:
    drawing = placed(searched(tree("2"), right))
    alone = ET.fromstring(svg(drawing, "a & b"))
    assert alone.get("aria-label") == "a & b"
    assert alone.find("{*}style") is not None
    page = html(tree("2"), "n1", "make <24>", right)
    assert "make &lt;24&gt;" in page
    assert "&lt;25&gt;" in page
    assert 'class="legend"' in page
    assert page.count("<style>") == 1
