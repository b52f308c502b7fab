"""Numbers that learning rules keep: arms, beliefs, and the graph of cases, paths and principles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from handlers.learning.beliefs import rate
from handlers.roles.inducer import strength
from state.folds.memory import MemoryFold
from state.folds.state import State
from streams.research.analysis.graph_page import page
from streams.research.analysis.graphs import Edge, drawn

HEAVIEST: Final = 60
SHOWN_EACH: Final = 4
BELIEFS_SHOWN: Final = 100
SPARK: Final = (120, 24)


@dataclass(frozen=True, slots=True)
class Arm:
    """A strategy with its statistics, and its pulls from version to version as a line."""

    id: str
    name: str
    when: str
    text: str
    origin: str
    parent: str | None
    pulls: int
    mean: float | None
    """Mean reward; none without a pull."""
    retired: bool
    spark: str


@dataclass(frozen=True, slots=True)
class Belief:
    """A learned rate with its count."""

    parts: tuple[str, ...]
    """What it is about: agent, task or strategy; task class; diagnosis; strategy; band."""
    solved: int
    trials: int
    rate: float
    retired: bool


# Policies learn numbers of their own kinds, and a page knows a few of them
# by their keys. Everything is read with a default: what an older or a newer
# build wrote is shown as far as it is there.
def learned(fold: MemoryFold) -> Mapping[str, Any]:
    """What the newest version keeps in numbers."""
    return fold.latest.learned


def arms_page(state: State) -> list[dict[str, Any]]:
    """Every scope that has arms or beliefs."""
    found: list[dict[str, Any]] = []
    for scope, fold in sorted(state.memories.items()):
        now = learned(fold)
        if now.get("arms") or now.get("beliefs"):
            beliefs = [
                Belief(
                    tuple(key.split("|")),
                    belief["solved"],
                    belief["trials"],
                    rate(belief["solved"], belief["trials"]),
                    bool(belief.get("retired")),
                )
                for key, belief in now.get("beliefs", {}).items()
            ]
            # What rests on most trials is most to be relied on, and there may be thousands.
            beliefs.sort(key=lambda belief: (-belief.trials, belief.parts))
            found.append(
                {
                    "scope": scope,
                    "version": fold.latest.number,
                    "arms": _arms(fold, now),
                    "beliefs": beliefs[:BELIEFS_SHOWN],
                    # How many are left out is said, so that the end of a list is not taken for all.
                    "more": max(len(beliefs) - BELIEFS_SHOWN, 0),
                    "cases": len(now.get("cases", ())),
                }
            )
    return found


def _arms(fold: MemoryFold, now: Mapping[str, Any]) -> list[Arm]:
    """The arms of the newest version, each with its pulls in every version as a line."""
    width, height = SPARK
    history = [
        {arm["id"]: arm.get("pulls", 0) for arm in fold.versions[number].learned.get("arms", ())}
        for number in sorted(fold.versions)
    ]
    found: list[Arm] = []
    for arm in now.get("arms", ()):
        name, count = arm["id"], arm.get("pulls", 0)
        # An arm that came later had no pull before, so that its line begins where
        # those of others do.
        pulls = [version.get(name, 0) for version in history]
        top, step = max([*pulls, 1]), width / max(len(pulls) - 1, 1)
        spark = (f"{at * step:.1f},{height - height * n / top:.1f}" for at, n in enumerate(pulls))
        made = Arm(
            id=name,
            name=arm.get("name", ""),
            when=arm.get("when", ""),
            text=arm.get("text", ""),
            origin=arm.get("origin", "start"),
            parent=arm.get("parent"),
            pulls=count,
            mean=arm.get("rated", 0.0) / count if count else None,
            retired=bool(arm.get("retired")),
            spark=" ".join(spark),
        )
        found.append(made)
    return found


# ── The graph ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Principle:
    """A principle with how sure it is, and how much leads to it."""

    id: str
    text: str
    strength: str
    uncertainty: str
    edges: Sequence[Edge]
    """From paths to it, heaviest first."""


def graph_page(state: State) -> list[dict[str, Any]]:
    """Every scope that keeps a graph: its principles, and its heaviest edges on the way to them."""
    found: list[dict[str, Any]] = []
    for scope, fold in sorted(state.memories.items()):
        graph = drawn(fold.latest)
        if graph is not None:
            principles: list[Principle] = []
            for name, held in list(graph.principles.items())[:HEAVIEST]:
                word = f"{strength(held['score'])} ({held['score']:g})"
                text, leading = graph.texts.get(name, held["summary"]), graph.into(name)
                principles.append(
                    Principle(name, text, word, held["uncertainty"], leading[:SHOWN_EACH])
                )
            # A graph of a thousand edges is drawn on a page of its own; a table shows
            # what weighs most.
            heaviest = sorted(graph.edges, key=lambda edge: (-edge.weight, edge.source))
            found.append(
                {
                    "scope": scope,
                    "graph": graph,
                    "principles": principles,
                    "to_paths": [e for e in heaviest if e.source in graph.cases][:HEAVIEST],
                }
            )
    return found


def graph_drawn(state: State, scope: str) -> str | None:
    """The drawing of a scope's graph as a page of its own, if it keeps one."""
    fold = state.memories.get(scope)
    graph = None if fold is None else drawn(fold.latest)
    return None if graph is None else page(graph)
