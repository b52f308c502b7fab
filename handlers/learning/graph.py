"""The graph of cases, canonical paths and principles as learned state: JSON values, folded purely.

Cases lead to paths, paths to principles, nothing else. Outcomes are counted on the edge from case to
path, never on the path. An edge that is met again keeps its learned weight. Everything that a version
changed carries the version's number as ``at``.

Source: trainable graph memory, eq. (1), (2), (6), (7), Algorithm 1, Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from handlers.learning.measured import Measured, VectorOf
from handlers.learning.reinforce import Active, Weights, gradient
from schemas.events.base import Event
from schemas.events.graph import PairCompared, PathGrounded, PrincipleInduced

# A learning episode grows the graph by ``told``, fact by fact, to see what it may ask about
# next, and the fold applies the same facts by ``after`` when the version closes. Both must
# agree, so the graph changes by stated facts alone. Facts hold what happened (a path was met, a
# pair was compared) and never a weight: a changed rule, or a forgotten problem, is answered by
# folding the facts again.

CASE, PRINCIPLE = "case", "principle"
"""The roles under which a memory holds cases, which are lessons, and principles, which are rules."""
Induce: TypeAlias = Literal["contrast", "neighbours", "speculative", "positive", "nothing"]
Graph: TypeAlias = Mapping[str, Any]
Weighing: TypeAlias = Literal["learned", "frozen", "structural"]
"""Edges as learned; all 1; or all 1 and every active case alike (the count of paths)."""
LEAST, MOST, BORNE_OUT = 30.0, 85.0, 5.0
"""Bounds of a strength, and what a contrast that bears a principle out adds to it."""
EMPTY: Graph = {"version": 0, "cases": {}, "paths": {}, "principles": {}}


def after(
    before: Graph,
    members: Sequence[Measured],
    constants: Mapping[str, Any],
    said: Sequence[Event] = (),
) -> dict[str, Any]:
    """The graph after a learning episode, by what it stated; gradients are those of the graph before."""
    # Pairs were drawn and compared under ``before``. Were their gradients taken from the growing
    # graph, they would hang on the order of the pairs within the batch.
    start = {**EMPTY, **before}
    graph = {**start, "version": start["version"] + 1}
    for fact in said:
        graph = told(graph, fact, constants, start)
    return graph


def told(
    graph: Graph, fact: Event, constants: Mapping[str, Any], start: Graph | None = None
) -> dict[str, Any]:
    """The graph with one more fact; facts of other kinds change nothing."""
    match fact:
        case PathGrounded():
            return met(graph, fact, constants["initial_weight"])
        case PrincipleInduced() if fact.principle is not None and stands(graph, fact):
            return linked(_kept(graph, fact), fact.principle, fact.paths, constants)
        case PairCompared():
            return moved(graph, graph if start is None else start, fact, constants["step_size"])
        case _:
            return dict(graph)


# ── Cases and paths ──────────────────────────────────────────────────────────────────────────


def met(graph: Graph, fact: PathGrounded, weight: float) -> dict[str, Any]:
    """The edge from case to path, met once more with this outcome. Source: Algorithm 1 lines 5 to 11."""
    case = graph["cases"].get(fact.case, {"subject": fact.subject, "paths": {}})
    was = case["paths"].get(fact.path, {"weight": weight, "right": 0, "wrong": 0, "runs": 0})
    # Abstaining is on the wrong side, an unknown outcome on neither (design/graph_memory.md D5).
    side = {"right": "right", "wrong": "wrong", "withheld": "wrong"}.get(fact.outcome)
    counted = {} if side is None else {side: was[side] + 1}
    now = graph["version"]
    edge = {**was, **counted, "runs": was["runs"] + 1, "at": now}
    case = {**case, "paths": {**case["paths"], fact.path: edge}, "at": now}
    new: dict[str, Any] = {"principles": {}, "at": now}
    # One that is known comes later in the literal and so keeps its principles.
    paths = {fact.path: new, **graph["paths"]}
    return {**graph, "cases": {**graph["cases"], fact.case: case}, "paths": paths}


def split(outcomes: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """T_s and T_f from paths with outcomes: right, and wrong or abstained; unknown ones in neither."""
    runs = list(outcomes)
    succeeded = [path for path, outcome in runs if outcome == "right"]
    failed = [path for path, outcome in runs if outcome in ("wrong", "withheld")]
    return list(dict.fromkeys(succeeded)), list(dict.fromkeys(failed))


def runs_of(graph: Graph, case: str) -> tuple[list[str], list[str], int]:
    """T_s and T_f of a case so far, in order of names, and how many runs there were."""
    edges = graph["cases"].get(case, {"paths": {}})["paths"]
    succeeded = sorted(path for path, edge in edges.items() if edge["right"])
    failed = sorted(path for path, edge in edges.items() if edge["wrong"])
    return succeeded, failed, sum(edge["runs"] for edge in edges.values())


def induction(
    succeeded: Sequence[str], failed: Sequence[str], *, speculate: bool, distil: bool
) -> tuple[Induce, int]:
    """What is to be induced, and the calls it costs. Source: Algorithm 1 line 19 on."""
    # Only a contrast is evidence of what made the difference. A guess and a lone success come from
    # the appendix and cost a call each, so both have to be asked for (design/graph_memory.md D7).
    if succeeded and failed:
        return "contrast", 1
    if failed:
        return ("speculative", 1) if speculate else ("neighbours", 0)
    return ("positive", 1) if succeeded and distil else ("nothing", 0)


# ── Principles ───────────────────────────────────────────────────────────────────────────────


def stands(graph: Graph, fact: PrincipleInduced) -> bool:
    """Whether what a fact rests on is there; a forgotten problem may have taken it along."""
    if not fact.summary and fact.principle not in graph["principles"]:
        return False
    if fact.near is None:
        return True
    if fact.case == "neighbours":
        return fact.principle in borrowed(graph, fact.near)
    return bool(set(fact.paths).intersection(successes(graph, fact.near)))


def borne_out(score: float, case: str) -> float:
    """A principle's strength after paths said it once more; only a contrast adds to it."""
    return bounded(score + (BORNE_OUT if case == "contrast" else 0.0))


def bounded(score: float) -> float:
    """A strength within its bounds."""
    return min(MOST, max(LEAST, score))


def _kept(graph: Graph, fact: PrincipleInduced) -> dict[str, Any]:
    """The principle as this fact leaves it; without a text only its strength changes."""
    # A new text is a new version of the principle, which later episodes are shown; what only bears
    # it out leaves the text as it is, and so the version too.
    was = graph["principles"].get(fact.principle, {"version": 0})
    if fact.summary:
        said = {
            "score": fact.score,
            "at": graph["version"],
            "summary": fact.summary,
            "strategies": [list(each) for each in fact.strategies],
            "uncertainty": fact.uncertainty,
            "vector": fact.vector,
            "version": was["version"] + 1,
        }
    elif fact.score is None:  # met on a neighbour's success: nothing of its own changes
        said = {}
    else:
        # Reckoned here and not copied from the fact: a contrast that was forgotten must
        # be taken out again.
        said = {"score": borne_out(was["score"], fact.case), "at": graph["version"]}
    principles = {**graph["principles"], str(fact.principle): {**was, **said}}
    return {**graph, "principles": principles}


def linked(
    graph: Graph, principle: str, paths: Sequence[str], constants: Mapping[str, Any]
) -> dict[str, Any]:
    """Edges from these paths to a principle; those that are there keep their weight."""
    now, held = graph["version"], dict(graph["paths"])
    for path in paths:
        known = held.get(path, {"principles": {}, "at": now})
        if principle not in known["principles"]:
            edge = {"weight": constants["initial_weight"], "at": now}
            held[path] = {**known, "principles": {**known["principles"], principle: edge}}
    return {**graph, "paths": held}


def successes(graph: Graph, cases: Iterable[str]) -> set[str]:
    """The paths by which these cases succeeded."""
    return {path for case in cases for path in runs_of(graph, case)[0]}


def borrowed(graph: Graph, near: Iterable[str]) -> list[str]:
    """The principles on successful paths of these cases. Source: eq. (7)."""
    held = (graph["paths"][path]["principles"] for path in successes(graph, near))
    return sorted({principle for each in held for principle in each})


def evidence(graph: Graph, principle: str) -> list[str]:
    """The paths that a principle is linked to."""
    return sorted(path for path, each in graph["paths"].items() if principle in each["principles"])


def embedded_text(fact: Event) -> str | None:
    """What a fact's vector is made of: the summary of a principle."""
    return fact.summary if isinstance(fact, PrincipleInduced) and fact.vector else None


def anew(state: Graph, vector_of: VectorOf) -> dict[str, Any]:
    """The principles with vectors by another embedder; edges and their weights hang on none."""
    principles = {
        name: {**each, "vector": vector_of(each["summary"])} if each.get("vector") else each
        for name, each in state.get("principles", {}).items()
    }
    return {**state, "principles": principles} if principles else dict(state)


# ── Activation and weights ───────────────────────────────────────────────────────────────────


def active(graph: Graph, similar: Mapping[str, float], weighing: Weighing = "learned") -> Active:
    """The part of the graph that these cases activate: their edges, and those of their paths."""
    # The weighings other than ``learned`` are the ablations: they leave all weights on record and
    # pass over them here, so that one graph serves all three.
    learned = weighing == "learned"
    to_path: dict[tuple[str, str], float] = {}
    to_principle: dict[tuple[str, str], float] = {}
    for case in similar:
        for path, edge in graph["cases"].get(case, {"paths": {}})["paths"].items():
            to_path[case, path] = edge["weight"] if learned else 1.0
            for principle, link in graph["paths"][path]["principles"].items():
                to_principle[path, principle] = link["weight"] if learned else 1.0
    signals = dict.fromkeys(similar, 1.0) if weighing == "structural" else similar
    return Active(signals, to_path, to_principle)


def moved(graph: Graph, start: Graph, fact: PairCompared, step: float) -> dict[str, Any]:
    """w ← w + α ΔR ∂log p(m_k), the gradient taken where the pair was compared.

    Source: eq. (10), Algorithm 2 line 18. No difference in reward changes nothing, nor does a pair of a
    principle that is active no more, since a problem was forgotten.
    """
    utility = fact.with_reward - fact.without_reward
    part = active(start, dict(fact.active)).without(fact.out or ())
    if utility == 0 or fact.principle not in {name for _, name in part.to_principle}:
        return dict(graph)
    # Rivals' edges move too: the softmax makes every principle's share hang on all others.
    slopes = gradient(part, fact.principle)
    now = graph["version"]
    cases = _stepped(graph["cases"], "paths", slopes.to_path, step * utility, now)
    paths = _stepped(graph["paths"], "principles", slopes.to_principle, step * utility, now)
    return {**graph, "cases": cases, "paths": paths}


def _stepped(
    nodes: Mapping[str, Any], layer: str, slopes: Weights, step: float, now: int
) -> dict[str, Any]:
    """Nodes with the weights of their edges moved along these slopes."""
    held = dict(nodes)
    for (source, target), slope in sorted(slopes.items()):
        node = held[source]
        edge = node[layer][target]
        # ``at`` says in which version an edge changed: one that did not move must
        # not claim to have.
        if slope:
            edge = {**edge, "weight": edge["weight"] + step * slope, "at": now}
            held[source] = {**node, layer: {**node[layer], target: edge}}
    return held
