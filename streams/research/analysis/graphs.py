"""A graph memory as it is shown: cases, paths, principles, weights and evidence; and as GraphML.

Source: trainable graph memory, eq. (1); GraphML 1.0.
"""

# `drawn` turns a memory version into plain values, once; the command line, the
# page and GraphML print those, and none of them knows how a graph is kept.
# `activated_by` answers what a problem would call up, by the very functions
# that a policy uses, so that what is shown is what an episode would get.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from handlers.learning.graph import active as graph_part
from handlers.learning.graph import evidence
from handlers.learning.likeness import likeness_of
from handlers.learning.recall import nearest
from handlers.learning.reinforce import propagated, softmax
from handlers.roles.inducer import strength
from schemas.memory import Memory
from schemas.questions import Recall
from state.projections.graph import CASE, PRINCIPLE, every_edge

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
KEYS = (
    *(("layer", "node", "string"), ("text", "node", "string"), ("score", "node", "double")),
    *(("weight", "edge", "double"), ("right", "edge", "int"), ("wrong", "edge", "int")),
    ("runs", "edge", "int"),
)


@dataclass(frozen=True, slots=True)
class Edge:
    """One weighted edge; ``runs`` counts by outcome on edges from cases."""

    layer: str
    source: str
    target: str
    weight: float
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One scope's graph at one version, in order of names."""

    scope: str
    version: int
    cases: Mapping[str, str]
    """Texts of problems by case."""
    paths: tuple[str, ...]
    principles: Mapping[str, Mapping[str, Any]]
    texts: Mapping[str, str]
    """Guidance by principle; those that no version holds any more have none."""
    evidence: Mapping[str, list[str]]
    edges: tuple[Edge, ...]

    @property
    def sizes(self) -> str:
        """How much of what it holds, for people."""
        nodes = (
            f"{len(self.cases)} queries, {len(self.paths)} paths, {len(self.principles)} principles"
        )
        return f"{nodes}, {len(self.edges)} edges"

    def into(self, target: str) -> list[Edge]:
        """The edges that end here, heaviest first."""
        found = [edge for edge in self.edges if edge.target == target]
        return sorted(found, key=lambda edge: (-edge.weight, edge.source))

    def runs(self, path: str) -> tuple[int, int]:
        """Runs that took a path: right, and wrong or without an answer."""
        counted = [edge.counts for edge in self.into(path)]
        return sum(each["right"] for each in counted), sum(each["wrong"] for each in counted)


def drawn(memory: Memory) -> Drawn | None:
    """The graph that a memory version holds, if it holds one."""
    graph = memory.learned
    # Other policies keep other things under `learned`; only a graph has all three layers.
    if not {"cases", "paths", "principles"} <= graph.keys():
        return None
    texts = {item.id: item.text for item in memory.of(PRINCIPLE, "rule")}
    problems = {item.id: item.text for item in memory.of(CASE, "lesson")}
    counted = ("right", "wrong", "runs")
    edges = tuple(
        Edge(layer, a, b, edge["weight"], {n: edge[n] for n in counted if n in edge})
        for layer, a, b, edge in every_edge(graph)
    )
    return Drawn(
        memory.scope,
        memory.number,
        {case: problems.get(case, "") for case in sorted(graph["cases"])},
        tuple(sorted(graph["paths"])),
        {name: graph["principles"][name] for name in sorted(graph["principles"])},
        texts,
        {name: evidence(graph, name) for name in sorted(graph["principles"])},
        edges,
    )


@dataclass(frozen=True, slots=True)
class Activated:
    """The part of the graph that a problem activates, layer by layer. Source: eq. (3), (8), (9)."""

    similar: Mapping[str, float]
    paths: Mapping[str, float]
    principles: Mapping[str, float]
    shares: Mapping[str, float]
    floor: float
    """The similarity below which ``service`` lets no case count."""


def activated_by(memory: Memory, problem: str, vector: Sequence[float], top: int) -> Activated:
    """H_Q of the nearest cases, H_T, H_M = ρ, and the chance that each principle is drawn with."""
    question = Recall(problem, (CASE,), top, ("lesson",))
    hits = nearest(memory.of(CASE, "lesson"), question, vector)
    similar = {item.id: near for item, near in hits if near is not None}
    active = graph_part(memory.learned, similar)
    paths = propagated(active.similar, active.to_path)
    principles = propagated(paths, active.to_principle)
    # Which similarity counts as none depends on the
    # embedder: its vectors are close to each other, or far.
    floor = likeness_of(memory.embedder).floor
    return Activated(similar, paths, principles, softmax(principles), floor)


def graphml(graph: Drawn) -> str:
    """The graph for other tools: nodes with layer and text, edges with weight and counts."""
    root = ET.Element("graphml", xmlns=NAMESPACE)
    for name, where, kind in KEYS:
        attributes = {"id": name, "for": where, "attr.name": name, "attr.type": kind}
        ET.SubElement(root, "key", attributes)
    made = ET.SubElement(root, "graph", id=graph.scope, edgedefault="directed")
    nodes: list[tuple[str, Mapping[str, object]]] = [
        *((case, {"layer": "query", "text": text}) for case, text in graph.cases.items()),
        *((path, {"layer": "path", "text": path}) for path in graph.paths),
    ]
    for name, held in graph.principles.items():
        text = graph.texts.get(name, held["summary"])
        nodes.append((name, {"layer": "principle", "text": text, "score": held["score"]}))
    for node, said in nodes:
        _data(ET.SubElement(made, "node", id=node), said)
    for edge in graph.edges:
        attributes = {"source": edge.source, "target": edge.target}
        said = {"weight": edge.weight, **edge.counts}
        _data(ET.SubElement(made, "edge", attributes), said)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _data(parent: ET.Element, said: Mapping[str, object]) -> None:
    for name, value in said.items():
        # XML cannot hold control characters and a few others, not even escaped; a reply of a model may.
        ET.SubElement(parent, "data", key=name).text = "".join(
            each
            for each in str(value)
            if each in "\t\n\r"
            or " " <= each < "\ud800"
            or "\ue000" <= each <= "\ufffd"
            or each > "\uffff"
        )


def as_json(graph: Drawn) -> dict[str, Any]:
    """The graph as one object."""
    return {
        "scope": graph.scope,
        "version": graph.version,
        "queries": [{"id": case, "problem": text} for case, text in graph.cases.items()],
        "paths": [
            {"path": path, "right": graph.runs(path)[0], "wrong": graph.runs(path)[1]}
            for path in graph.paths
        ],
        "principles": [
            {
                "id": name,
                "text": graph.texts.get(name, held["summary"]),
                "strength": strength(held["score"]),
                "score": held["score"],
                "uncertainty": held["uncertainty"],
                "evidence": graph.evidence[name],
            }
            for name, held in graph.principles.items()
        ],
        "edges": [
            {
                "layer": e.layer,
                "source": e.source,
                "target": e.target,
                "weight": e.weight,
                **e.counts,
            }
            for e in graph.edges
        ],
    }
