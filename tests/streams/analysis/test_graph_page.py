"""A small graph memory, each part of it as people and other tools are shown it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from handlers.policies.graph_memory.machine import MEANS
from schemas.identity import text_digest
from streams.research.analysis.graph_page import page
from streams.research.analysis.graphs import Drawn, Edge, activated_by, as_json, drawn, graphml
from tests.papers.gm_says import BAD, FAR, GOOD, NEAR, PROBLEM, remembering
from tests.scripted import hashed

LONG = "make 24 from <4 6>, and use each of the numbers once"
SMALL = Drawn(
    "game24",
    3,
    {"L1": LONG, "L2": ""},
    ("GS AN", "GS KG TS AN"),
    {
        "P1": {"score": 75.5, "summary": "sum", "uncertainty": "few runs"},
        "P2": {"score": 20, "summary": "gone", "uncertainty": ""},
    },
    {"P1": "check the\ntotal"},
    {"P1": ["GS AN", "GS KG TS AN"], "P2": []},
    (
        Edge("case_path", "L1", "GS AN", 1.0, {"right": 2, "wrong": 1}),
        Edge("case_path", "L2", "GS AN", 5.5, {"right": 1, "wrong": 3}),
        Edge("case_path", "L1", "GS KG TS AN", -0.5, {"right": 0, "wrong": 1}),
        Edge("path_principle", "GS AN", "P1", 0.1, {"runs": 4}),
        Edge("path_principle", "GS AN", "P2", 2.25, {"runs": 1}),
    ),
)


def svg(graph: Drawn) -> ET.Element:
    """The drawing of its page."""
    found = re.search(r"<svg class.*?</svg>", page(graph), re.DOTALL)
    assert found is not None
    return ET.fromstring(found[0])


def rows(graph: Drawn, heading: str) -> list[list[str]]:
    """The table below a heading of its page."""
    _, _, rest = page(graph).partition(f"<h2>{heading}</h2>\n")
    table = ET.fromstring(rest.partition("\n<h2>")[0].partition("\n</main>")[0])
    return [[cell.text or "" for cell in row] for row in table.iter("tr")]


# ── The page ─────────────────────────────────────────────────────────────────────────────────


def test_queries_stand_left_paths_amid_and_principles_right_each_with_its_words() -> None:
    nodes = [
        {
            "of": dot.get("class"),
            "dot": (dot.get("cx"), dot.get("cy"), dot.get("r")),
            "words": (words.get("x"), words.get("y"), words.get("text-anchor"), words.text),
            "title": title.text,
        }
        for dot, words, title in svg(SMALL).findall("g")
    ]
    cut = "make 24 from <4 6>, and use each of the num…"
    assert [tuple(each.values()) for each in nodes] == [
        ("query", ("330", "55", "5"), ("318", "60", "end", cut), LONG),
        ("query", ("330", "85", "5"), ("318", "90", "end", "L2"), "L2"),
        ("path", ("590", "55", "5"), ("590", "46", "middle", "GS AN"), "GS AN"),
        ("path", ("590", "85", "5"), ("590", "76", "middle", "GS KG TS AN"), "GS KG TS AN"),
        ("principle", ("840", "55", "5"), ("852", "60", "start", "P1: check the total"), "check the\ntotal"),
        ("principle", ("840", "85", "5"), ("852", "90", "start", "P2: P2"), "P2"),
    ]  # fmt: skip
    heads = [
        (e.get("x"), e.get("y"), e.get("text-anchor"), e.text) for e in svg(SMALL).iter("text")
    ]
    assert heads[:3] == [
        ("318", "16", "end", "queries"),
        ("590", "16", "middle", "paths"),
        ("852", "16", "start", "principles"),
    ]


def test_words_that_just_fit_are_not_cut() -> None:
    fits, longer = "x" * 44, "x" * 45
    words = svg(replace(SMALL, cases={"L1": fits, "L2": longer})).findall("g/text")
    assert [each.text for each in words[:2]] == [fits, "x" * 43 + "…"]


def test_an_edge_joins_its_dots_and_is_as_thick_as_it_weighs_within_bounds() -> None:
    edges = [
        (e.get("class"), e.get("d"), e.get("stroke-width"), e[0].text)
        for e in svg(SMALL).findall("path")
    ]
    assert edges == [
        ("link up", "M330 55C460 55 460 55 590 55", "1.50", "L1 → GS AN: 1.000"),
        ("link up", "M330 85C460 85 460 55 590 55", "6.00", "L2 → GS AN: 5.500"),
        ("link down", "M330 55C460 55 460 85 590 85", "0.75", "L1 → GS KG TS AN: -0.500"),
        ("link down", "M590 55C715 55 715 55 840 55", "0.50", "GS AN → P1: 0.100"),
        ("link up", "M590 55C715 55 715 85 840 85", "3.38", "GS AN → P2: 2.250"),
    ]


def test_a_drawing_is_as_high_as_its_longest_column_and_others_are_spread_over_it() -> None:
    assert svg(SMALL).get("viewBox") == "0 0 1180 110"
    uneven = replace(SMALL, cases={name: name for name in "abc"})
    assert svg(uneven).get("viewBox") == "0 0 1180 140"
    dots = [(e.get("class"), e.get("cy")) for e in svg(uneven).iter("circle")]
    assert [y for of, y in dots if of == "query"] == ["55", "85", "115"]
    assert [y for of, y in dots if of == "path"] == ["62", "107"]
    nothing = replace(SMALL, cases={}, paths=(), principles={}, evidence={}, edges=())
    assert svg(nothing).get("viewBox") == "0 0 1180 80"
    assert "What the states" not in page(nothing)


def test_what_is_too_much_for_a_drawing_is_counted_and_stands_in_the_tables() -> None:
    whole = replace(SMALL, cases={f"L{at}": f"problem {at}" for at in range(1, 61)})
    assert "not drawn" not in page(whole)
    more = replace(
        SMALL,
        cases={**whole.cases, "M1": "one", "M2": "two"},
        edges=(Edge("case_path", "M1", "GS AN", 1.0, SMALL.edges[0].counts), *SMALL.edges),
    )
    assert "<li>2 nodes are not drawn; the tables hold them</li>" in page(more)
    drawing = svg(more)
    assert drawing.get("viewBox") == "0 0 1180 1850"
    assert len([e for e in drawing.iter("circle") if e.get("class") == "query"]) == 60
    assert next(e[0].text for e in drawing.findall("path")) == "L1 → GS AN: 1.000", "M1 has no dot"
    assert len(drawing.findall("path")) == len(SMALL.edges)
    assert ["M2", "two"] in rows(more, "Queries")


def test_tables_say_what_the_drawing_has_no_room_for() -> None:
    assert rows(SMALL, "Principles") == [
        ["id", "strength", "principle", "evidence", "uncertain"],
        ["P1", "high (75.5)", "check the\ntotal", "GS AN\nGS KG TS AN", "few runs"],
        ["P2", "low (20)", "gone", "", ""],
    ]
    assert rows(SMALL, "Paths") == [
        ["path", "right", "wrong", "principles by weight"],
        ["GS AN", "3", "4", "P2 2.250\nP1 0.100"],
        ["GS KG TS AN", "0", "1", ""],
    ]
    assert rows(SMALL, "Queries") == [["id", "problem"], ["L1", LONG], ["L2", ""]]


def test_a_page_says_what_the_states_of_its_own_paths_mean_and_no_others() -> None:
    made = page(SMALL)
    _, _, rest = made.partition("<summary>What the states of a path mean</summary>")
    table = ET.fromstring(rest.partition("</details>")[0])
    said = [[cell.text for cell in row] for row in table.iter("tr")]
    assert said == [
        ["state", "name", "an agent"],
        ["GS", "GoalSetting", MEANS["GS"]],
        ["KG", "KnowledgeGap", MEANS["KG"]],
        ["TS", "ToolSearch", MEANS["TS"]],
        ["AN", "Answer", MEANS["AN"]],
    ]
    assert (
        '<p class="lead">game24, version 3: 2 queries, 2 paths, 2 principles, 5 edges</p>' in made
    )
    assert "<title>game24</title>" in made
    assert '<span class="dim">graph memory</span>' in made
    numbers = re.findall(r'<th scope="col" class="n">(.*?)</th>', made)
    assert numbers == ["name", "right", "wrong"], "texts begin at one edge, however short they are"


# ── For other tools ──────────────────────────────────────────────────────────────────────────


def told(parent: ET.Element) -> dict[str | None, str | None]:
    return {data.get("key"): data.text for data in parent}


def test_graphml_tells_nodes_by_layer_and_edges_with_weight_and_counts() -> None:
    bell = replace(SMALL, cases={"L1": "a\tb\x07c\ud800d\ue000\ufffd\ufffe\uffff𝔸", "L2": ""})
    made = graphml(bell)
    assert made.startswith("<?xml version='1.0' encoding='utf-8'?>\n<graphml xmlns=")
    assert made.endswith("</graphml>\n")
    root = ET.fromstring(re.sub(r' xmlns="[^"]*"', "", made))
    assert [tuple(key.attrib.values()) for key in root.iter("key")] == [
        ("layer", "node", "layer", "string"),
        ("text", "node", "text", "string"),
        ("score", "node", "score", "double"),
        ("weight", "edge", "weight", "double"),
        ("right", "edge", "right", "int"),
        ("wrong", "edge", "wrong", "int"),
        ("runs", "edge", "runs", "int"),
    ]
    graph = root.find("graph")
    assert graph is not None
    assert graph.attrib == {"id": "game24", "edgedefault": "directed"}
    assert [(node.get("id"), told(node)) for node in graph.iter("node")] == [
        ("L1", {"layer": "query", "text": "a\tbcd\ue000\ufffd𝔸"}),
        ("L2", {"layer": "query", "text": None}),
        ("GS AN", {"layer": "path", "text": "GS AN"}),
        ("GS KG TS AN", {"layer": "path", "text": "GS KG TS AN"}),
        ("P1", {"layer": "principle", "text": "check the\ntotal", "score": "75.5"}),
        ("P2", {"layer": "principle", "text": "gone", "score": "20"}),
    ]
    edges = [(e.get("source"), e.get("target"), told(e)) for e in graph.iter("edge")]
    assert edges[2:4] == [
        ("L1", "GS KG TS AN", {"weight": "-0.5", "right": "0", "wrong": "1"}),
        ("GS AN", "P1", {"weight": "0.1", "runs": "4"}),
    ]


def test_a_graph_as_one_object() -> None:
    whole = replace(SMALL, cases={"L1": "a"}, paths=("GS AN",), edges=SMALL.edges[2:4])
    assert as_json(whole) == {
        "scope": "game24",
        "version": 3,
        "queries": [{"id": "L1", "problem": "a"}],
        "paths": [{"path": "GS AN", "right": 0, "wrong": 0}],
        "principles": [
            {"id": "P1", "text": "check the\ntotal", "strength": "high", "score": 75.5,
             "uncertainty": "few runs", "evidence": ["GS AN", "GS KG TS AN"]},
            {"id": "P2", "text": "gone", "strength": "low", "score": 20,
             "uncertainty": "", "evidence": []},
        ],
        "edges": [
            {"layer": "case_path", "source": "L1", "target": "GS KG TS AN", "weight": -0.5,
             "right": 0, "wrong": 1},
            {"layer": "path_principle", "source": "GS AN", "target": "P1", "weight": 0.1, "runs": 4},
        ],
    }  # fmt: skip


def test_a_path_s_edges_come_heaviest_first_and_its_runs_are_added_up() -> None:
    one_more = Edge("case_path", "L0", "GS AN", 1.0, {"right": 1, "wrong": 0})
    even = replace(SMALL, edges=(*SMALL.edges, one_more))
    assert [edge.source for edge in even.into("GS AN")] == ["L2", "L0", "L1"]
    assert even.runs("GS AN") == (4, 4)
    assert even.sizes == "2 queries, 2 paths, 2 principles, 6 edges"


# ── From a memory ────────────────────────────────────────────────────────────────────────────


def names(*problems: str) -> list[str]:
    return [text_digest(each) for each in problems]


def test_a_memory_version_s_graph_in_order_of_names_and_none_of_other_memories() -> None:
    memory = remembering(
        {PROBLEM: {GOOD: "right"}, FAR: {BAD: "wrong"}}, {GOOD: {"m2": 0.5, "m1": 1.5}}, 4
    )
    graph = drawn(memory)
    assert graph is not None
    assert (graph.scope, graph.version) == ("s", 4)
    assert list(graph.cases) == sorted(names(PROBLEM, FAR))
    assert graph.cases[text_digest(FAR)] == FAR
    assert graph.paths == tuple(sorted((GOOD, BAD)))
    assert graph.texts == {"m1": "advice m1", "m2": "advice m2"}
    assert graph.evidence == {"m1": [GOOD], "m2": [GOOD]}
    assert {(e.source, e.target): (e.weight, dict(e.counts)) for e in graph.edges} == {
        (text_digest(PROBLEM), GOOD): (1.0, {"right": 1, "wrong": 0, "runs": 1}),
        (text_digest(FAR), BAD): (1.0, {"right": 0, "wrong": 1, "runs": 1}),
        (GOOD, "m1"): (1.5, {}),
        (GOOD, "m2"): (0.5, {}),
    }
    forgotten = drawn(replace(memory, items=()))
    assert forgotten is not None
    assert (set(forgotten.cases.values()), forgotten.texts) == ({""}, {})
    half: Any = {part: memory.learned[part] for part in ("cases", "paths")}
    assert drawn(replace(memory, learned=half)) is None


def test_a_problem_activates_the_nearest_cases_and_what_they_lead_to() -> None:
    memory = remembering(
        {PROBLEM: {GOOD: "right"}, FAR: {BAD: "wrong"}},
        {GOOD: {"m1": 2.0}, BAD: {"m2": 1.0}},
    )
    memory = replace(memory, embedder="hashed@1")
    [near, far] = names(PROBLEM, FAR)
    found = activated_by(memory, NEAR, hashed(NEAR), 2)
    assert set(found.similar) == {near, far}
    assert found.similar[near] > found.similar[far]
    assert found.paths == pytest.approx({GOOD: found.similar[near], BAD: found.similar[far]})
    assert found.principles["m1"] == pytest.approx(2 * found.similar[near])
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.shares["m1"] > found.shares["m2"]
    assert found.floor == 0.15, "that of letters"
    assert set(activated_by(memory, NEAR, hashed(NEAR), 1).similar) == {near}
    assert activated_by(replace(memory, embedder="minilm"), NEAR, hashed(NEAR), 1).floor == 0.2
