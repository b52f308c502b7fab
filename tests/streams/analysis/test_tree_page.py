"""Trees as they are drawn: places, colours by right and wrong, and the way that the answer came."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.cot2_meta.trace import Tree, Twig
from schemas.events.search import ROOT, FrontierScored, SearchDecided
from streams.research.analysis.drawing import branches, headline
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
    (root,) = searched(replace(tree("1"), decided=None), right)
    assert not any(node.chosen for node in root.children), "a search that was broken off chose none"
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


# ── One search, all of it ────────────────────────────────────────────────────────────────────


def searching(calls: int = 3, *left: int | None) -> Tree:
    """A search told in an order of its own: mended at the second node, and pruned below it."""
    nodes = {
        ROOT: Twig(ROOT, None, visits=2),
        "10.0.0": Twig("10.0.0", "2.0.0", "direct", 2, value=0.1, status="pruned", answer="24"),
        "2.0.0": Twig(
            "2.0.0", ROOT, "verify", 1, value=0.5, v_proc=0.25, v_out=0.75, visits=1,
            answer="<25>\n or  so",
        ),
        "9.0.0": Twig("9.0.0", "2.0.0", "mend", 2, value=0.9, repairs="1.0.0", answer="24"),
        "1.0.0": Twig("1.0.0", ROOT, "direct", 1, v_proc=0.125, status="repaired"),
        "3.0.0": Twig("3.0.0", ROOT, "decompose", 1, status="closed"),
    }  # fmt: skip
    frontiers = [
        FrontierScored(round=at, scores=(), chosen=ROOT, left=each) for at, each in enumerate(left)
    ]
    decided = SearchDecided(node="9.0.0", action="return", calls=calls)
    return Tree(nodes=nodes, decided=decided, frontiers=frontiers)


def test_a_search_in_words_is_a_line_a_node_and_children_follow_their_addresses() -> None:
    found = branches(searching())
    assert [f"{branch.rails}{branch.words}" for branch in found] == [
        "★ the problem  expanded 2×",
        "├─ ↻ direct 1.0.0  steps 0.12  repaired",
        "├─ ★ verify 2.0.0  v 0.50  steps 0.25  trust 0.75  expanded 1×  = <25> or so",
        "│  ├─ ★ mend 9.0.0  v 0.90  mends 1.0.0  = 24",
        "│  └─ ✗ direct 10.0.0  v 0.10  pruned  = 24",
        "└─ ○ decompose 3.0.0",
    ]
    assert [branch.row for branch in found] == [0, 1, 2, 3, 4, 5]
    broken_off = searching()
    broken_off.decided = None
    assert not any(branch.on_path for branch in branches(broken_off))
    assert branches(broken_off)[3].words.startswith("● mend")


def test_a_headline_says_how_a_search_ended_and_what_it_spent_of_what_it_was_given() -> None:
    counts = "5 thoughts, 1 pruned, 1 repair"
    assert headline(searching(3, 12, 5)) == f"return: {counts}, 3 of 12 calls"
    assert headline(searching(1, None)) == f"return: {counts}, 1 call"
    assert headline(searching(1)) == f"return: {counts}, 1 call"
    broken_off = searching(3, 12)
    broken_off.decided = None
    assert headline(broken_off) == counts


def test_every_node_s_words_tone_and_line() -> None:
    drawing = placed(searched(searching(), right))
    assert (drawing.width, drawing.height) == (686, 180)
    assert [
        (s.node.title, s.given, s.words, s.node.tone, s.node.verdict, s.node.chosen, s.x, s.y, s.edge)
        for s in drawing.spots
    ] == [
        ("the problem", "", "expanded 2×", "root", "", True, 16, 15, ""),
        ("direct 1.0.0", "", "repaired, steps 0.12", "repaired", "", False, 50, 45,
         "M16 15V35Q16 45 26 45H50"),
        ("verify 2.0.0", "<25> or so", "v 0.50, steps 0.25, trust 0.75, expanded 1×", "wrong", "wrong",
         True, 50, 75, "M16 15V65Q16 75 26 75H50"),
        ("mend 9.0.0", "24", "v 0.90, mends 1.0.0", "right", "right", True, 84, 105,
         "M50 75V95Q50 105 60 105H84"),
        ("direct 10.0.0", "24", "pruned, v 0.10", "pruned", "right", False, 84, 135,
         "M50 75V125Q50 135 60 135H84"),
        ("decompose 3.0.0", "", "", "open", "", False, 50, 165, "M16 15V155Q16 165 26 165H50"),
    ]  # fmt: skip


def test_nobody_is_asked_about_a_node_without_an_answer_and_it_bears_no_verdict() -> None:
    """Of no answer a judge says that it is wrong."""
    _, direct, *_ = placed(searched(searching(), lambda answer: answer == "24")).spots
    assert (direct.node.title, direct.node.verdict, direct.node.tone) == (
        "direct 1.0.0",
        "",
        "repaired",
    )
    _, *others, last = placed(searched(searching(), lambda answer: answer == "24")).spots
    assert (last.node.title, last.node.verdict, last.node.tone) == ("decompose 3.0.0", "", "open")
    assert len(others) == 4


def test_words_that_are_too_long_are_cut_and_stand_whole_in_the_title() -> None:
    whole, more = "a" * 90, "a" * 91
    node = Node("n", whole, more)
    (spot,) = placed([node]).spots
    assert (spot.given, spot.words) == (whole, "a" * 89 + "…")
    assert f"<title>n {whole} {more}</title>" in svg(placed([node]), "x")


def test_the_drawing_on_a_page_has_the_thick_way_above_all_thin_lines() -> None:
    drawn = svg(placed(searched(searching(), right)), "a & b", "")
    root = ET.fromstring(drawn)
    assert dict(root.attrib) == {
        "class": "drawn", "width": "686", "height": "180", "role": "img",
        "viewBox": "0 0 686 180", "aria-label": "a & b",
    }  # fmt: skip
    lines = [(path.get("class"), path.get("d")) for path in root.findall("path")]
    assert [kind for kind, _ in lines] == ["edge"] * 3 + ["edge chosen"] * 2
    assert lines[3] == ("edge chosen", "M16 15V65Q16 75 26 75H50")
    nodes = root.findall("g")
    dots = [(g.get("class"), g[1].get("cx"), g[1].get("cy"), g[1].get("r")) for g in nodes]
    assert dots[:2] == [("root", "16", "15", "6"), ("repaired", "50", "45", "6")]
    said = nodes[2][2]
    assert (said.get("x"), said.get("y"), said.text) == ("64", "80", "verify 2.0.0 ")
    assert [(each.get("class"), each.text) for each in said] == [
        ("given", "<25> or so"),
        ("verdict", "wrong"),
        ("words", "v 0.50, steps 0.25, trust 0.75, expanded 1×"),
    ]
    assert [(each.get("class"), each.text) for each in nodes[5][2]] == [("words", None)]
    assert "<style>" not in drawn
    assert svg(placed([]), "nothing").startswith(
        '<svg xmlns="http://www.w3.org/2000/svg" class="drawn" width="16" height="0"'
    )


def test_a_search_s_page_names_it_its_problem_and_what_the_colours_mean() -> None:
    page = html(searching(3, 12), "n<1>", "", right)
    head = "return: 5 thoughts, 1 pruned, 1 repair, 3 of 12 calls"
    assert "<title>n&lt;1&gt;</title>" in page
    assert '<span class="dim">search tree</span>' in page
    assert "<h1>n&lt;1&gt;</h1>" in page
    assert "blockquote class" not in page, "no problem is known"
    assert f'<p class="lead">{head}. The thick line is the way that the answer came.</p>' in page
    assert f'aria-label="{head}"' in page
    legend = ET.fromstring(page[page.index('<ul class="legend">') : page.index("</main>")])
    assert [(each.get("class"), each.text) for each in legend] == [
        ("right", "a right answer"),
        ("wrong", "a wrong one"),
        ("open", "nobody can say, or no answer yet"),
        ("pruned", "pruned"),
        ("repaired", "repaired"),
    ]
