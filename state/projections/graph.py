"""Rows of the graph memory: cases, canonical paths, principles, and the weighted edges between them.

Source: trainable graph memory, eq. (1): V = Q ∪ T ∪ M, E ⊆ (Q×T) ∪ (T×M).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from schemas.vectors import unpack
from state.folds.state import VersionKey
from state.projections.items import SHARED, lives
from state.projections.items import row as item_row
from state.tables.columns import shared
from state.tables.table import Column, Row, Source, Table

CASE, PRINCIPLE = "case", "principle"
NONE: Mapping[str, Any] = {}
SCOPE = shared("scope", "domain", "version")


# ── Cases and principles: memory items with a life of their own ──────────────────────────────


def queries(source: Source, keys: Sequence[Any]) -> Iterator[Row]:
    """The cases among these items."""
    for life in (life for life in lives(source, keys) if life.item.role == CASE):
        yield item_row(life) | {
            "subject": life.item.subject,
            "embedder": life.embedder,
            "vector": None if life.item.vector is None else list(unpack(life.item.vector)),
        }


def metacognitions(source: Source, keys: Sequence[Any]) -> Iterator[Row]:
    """The principles among these items, as they stand in the newest version."""
    for life in (life for life in lives(source, keys) if life.item.role == PRINCIPLE):
        # Once a principle's text was replaced, the newest version knows nothing of the old one.
        held: Mapping[str, Mapping[str, Any]] = learned(source, life.scope).get("principles", NONE)
        now = held.get(life.item.id, NONE) if life.until is None else NONE
        yield item_row(life) | {
            "score": now.get("score"),
            "uncertainty": now.get("uncertainty") or None,
            "revisions": now.get("version"),
        }


# ── Paths and edges: learned state ───────────────────────────────────────────────────────────


def learned(source: Source, scope: str) -> Mapping[str, Any]:
    """The graph of a scope's newest version; empty where its policy keeps none."""
    fold = source.state.memories.get(scope)
    held = NONE if fold is None else fold.latest.learned
    # Policies of other kinds keep other numbers; a graph is known by its three parts.
    return held if {"cases", "paths", "principles"} <= held.keys() else NONE


def paths(source: Source, keys: Sequence[Any]) -> Iterator[Row]:
    """The canonical paths that these versions changed; outcomes are counted on their edges."""
    for scope, graph, changed in _graphs(source, keys):
        counts: dict[str, list[Mapping[str, Any]]] = {}
        for layer, _, path, edge in every_edge(graph):
            if layer == "case_path":
                counts.setdefault(path, []).append(edge)
        for path, node in graph["paths"].items():
            edges = counts.get(path, [])
            # A path changes with its edges, whose outcomes its row adds up.
            at = max([node["at"], *(edge["at"] for edge in edges)])
            if at in changed:
                yield _placed(source, scope, at, path) | {
                    "path": path,
                    "states": path.split(),
                    "cases": len(edges),
                    "right_runs": sum(edge["right"] for edge in edges),
                    "wrong_runs": sum(edge["wrong"] for edge in edges),
                    "principles": sorted(node["principles"]),
                }


def edges(source: Source, keys: Sequence[Any]) -> Iterator[Row]:
    """The edges that these versions changed, of both layers."""
    for scope, graph, changed in _graphs(source, keys):
        for layer, tail, head, edge in every_edge(graph):
            if edge["at"] in changed:
                yield _placed(source, scope, edge["at"], tail, head) | {
                    "layer": layer,
                    "source": tail,
                    "target": head,
                    "weight": edge["weight"],
                    "right_runs": edge.get("right"),
                    "wrong_runs": edge.get("wrong"),
                    "runs": edge.get("runs"),
                }


def every_edge(graph: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Layer, source, target and content of each edge: cases to paths, then paths to principles."""
    for case, node in graph["cases"].items():
        for path, edge in node["paths"].items():
            yield "case_path", case, path, edge
    for path, node in graph["paths"].items():
        for principle, edge in node["principles"].items():
            yield "path_principle", path, principle, edge


def _graphs(
    source: Source, keys: Sequence[VersionKey]
) -> Iterator[tuple[str, Mapping[str, Any], set[int]]]:
    """Each scope's graph, with the versions whose changes are wanted."""
    for scope in sorted({scope for scope, _ in keys}):
        graph = learned(source, scope)
        if graph:
            yield scope, graph, {number for name, number in keys if name == scope}


def _placed(source: Source, scope: str, version: int, *names: str) -> Row:
    return {
        "key": "/".join((scope, *names)),
        "off": source.version_offset(scope, version),
        "scope": scope,
        "domain": scope.partition("/")[0],
        "version": version,
    }


GRAPH_QUERIES = Table(
    "graph_queries",
    "Cases of graph memories: past problems with their embedding",
    (
        *SHARED,
        Column("subject", "text", "the problem as domain/id"),
        Column("embedder", "text", "what made the vector; never compare vectors of two embedders"),
        Column("vector", "vector", "embedding of the problem"),
    ),
    attrgetter("lives"),
    attrgetter("state.lives.known"),
    queries,
    ("domain",),
)
GRAPH_PATHS = Table(
    "graph_paths",
    "Canonical paths of graph memories, with the outcomes of the runs that took them",
    (
        *SCOPE,
        Column("path", "text", "the path's states; its name"),
        Column("states", "texts", "the states one by one"),
        Column("cases", "int", "problems whose runs took it"),
        Column("right_runs", "int", "runs that came out right"),
        Column("wrong_runs", "int", "runs that came out wrong or without an answer"),
        Column("principles", "texts", "principles that rest on it"),
    ),
    attrgetter("versions"),
    attrgetter("state.digests"),
    paths,
)
GRAPH_METACOGNITIONS = Table(
    "graph_metacognitions",
    "Principles of graph memories, one row a text",
    (
        *SHARED,
        Column("score", "float", "strength from 30 to 85; none once it is replaced"),
        Column("uncertainty", "text", "what is uncertain about it"),
        Column("revisions", "int", "how often its text was written"),
    ),
    attrgetter("lives"),
    attrgetter("state.lives.known"),
    metacognitions,
    ("domain",),
)
GRAPH_EDGES = Table(
    "graph_edges",
    "Weighted edges of graph memories: case to path, path to principle",
    (
        *SCOPE,
        Column("layer", "text", "case_path or path_principle"),
        Column("source", "text", "id of the case or path"),
        Column("target", "text", "id of the path or principle"),
        Column("weight", "float", "the trained weight"),
        Column("right_runs", "int", "of case_path: runs that came out right"),
        Column("wrong_runs", "int", "of case_path: runs that came out wrong or without an answer"),
        Column("runs", "int", "of case_path: all runs, those of unknown outcome too"),
    ),
    attrgetter("versions"),
    attrgetter("state.digests"),
    edges,
)
