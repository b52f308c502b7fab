"""The graph of cases, canonical paths and principles as learned state: JSON values, folded purely.

Cases lead to paths, paths to principles, nothing else. Outcomes are counted on the edge from case to
path, never on the path. An edge that is met again keeps its learned weight.

Source: trainable graph memory, eq. (1), (2), (6), (7), Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from handlers.learning.cosine import cosine, rounded
from handlers.learning.measured import Measured
from handlers.learning.reinforce import Active
from schemas.identity import text_digest
from schemas.vectors import unpack

Induce: TypeAlias = Literal["contrast", "neighbours", "speculative", "positive", "nothing"]
EMPTY: Mapping[str, Any] = {"cases": {}, "case_path": {}, "path_principle": {}, "seen": []}
ARROW = " > "


def after(
    before: Mapping[str, Any], members: Sequence[Measured], constants: Mapping[str, Any]
) -> dict[str, Any]:
    """Cases and the paths that their episodes took; an episode counts once."""
    graph = {**EMPTY, **before}
    seen = set(graph["seen"])
    for member in members:
        if member.episode in seen or not member.summary.get("path"):
            continue
        seen.add(member.episode)
        case = text_digest(member.problem)
        vector = member.summary.get("vector")
        graph["cases"] = graph["cases"] | {case: {"problem": member.problem, "vector": vector}}
        path, edges = str(member.summary["path"]), graph["case_path"]
        graph["case_path"] = met(edges, case, path, member.outcome, constants["initial_weight"])
    return {**graph, "seen": sorted(seen)}


def met(
    edges: Mapping[str, Any], case: str, path: str, outcome: str, weight: float
) -> dict[str, Any]:
    """The edge from case to path, met once more with this outcome."""
    name = f"{case}{ARROW}{path}"
    was = edges.get(name, {"weight": weight, "right": 0, "wrong": 0, "runs": 0})
    side = {"right": "right", "wrong": "wrong", "withheld": "wrong"}.get(outcome)
    counted = {} if side is None else {side: was[side] + 1}
    return {**edges, name: {**was, **counted, "runs": was["runs"] + 1}}


def linked(
    graph: Mapping[str, Any], principle: str, paths: Sequence[str], weight: float
) -> dict[str, Any]:
    """Edges from these paths to a principle; those that are there keep their weight."""
    edges = dict(graph["path_principle"])
    for path in paths:
        edges.setdefault(f"{path}{ARROW}{principle}", {"weight": weight})
    return {**graph, "path_principle": edges}


def split(outcomes: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """T_s and T_f from paths with outcomes: right, and wrong or abstained; unknown ones in neither."""
    succeeded = [path for path, outcome in outcomes if outcome == "right"]
    failed = [path for path, outcome in outcomes if outcome in ("wrong", "withheld")]
    return list(dict.fromkeys(succeeded)), list(dict.fromkeys(failed))


def induction(
    succeeded: Sequence[str], failed: Sequence[str], *, speculate: bool, distil: bool
) -> tuple[Induce, int]:
    """What is to be induced, and the calls it costs. Source: Algorithm 1 line 19 on."""
    if succeeded and failed:
        return "contrast", 1
    if failed:
        return ("speculative", 1) if speculate else ("neighbours", 0)
    return ("positive", 1) if succeeded and distil else ("nothing", 0)


def similar_cases(
    graph: Mapping[str, Any], query: Sequence[float], top: int, but: str = ""
) -> dict[str, float]:
    """The nearest cases with their cosine; a case itself is left out. Ties by id."""
    scored = [
        (-rounded(cosine(query, unpack(case["vector"]))), name)
        for name, case in graph["cases"].items()
        if case["vector"] and name != but
    ]
    return {name: -score for score, name in sorted(scored)[:top]}


def borrowed(graph: Mapping[str, Any], near: Sequence[str]) -> list[str]:
    """The principles on successful paths of these cases. Source: eq. (7)."""
    paths = {
        name.split(ARROW)[1]
        for name, edge in graph["case_path"].items()
        if edge["right"] and name.split(ARROW)[0] in near
    }
    pairs = (name.split(ARROW) for name in graph["path_principle"])
    return sorted({principle for path, principle in pairs if path in paths})


def active(graph: Mapping[str, Any], similar: Mapping[str, float]) -> Active:
    """The part of the graph that these cases activate."""

    def weights(edges: Mapping[str, Any]) -> dict[tuple[str, str], float]:
        pairs = ((tuple(name.split(ARROW)), edge["weight"]) for name, edge in edges.items())
        return {(pair[0], pair[1]): weight for pair, weight in pairs}

    return Active(similar, weights(graph["case_path"]), weights(graph["path_principle"]))
