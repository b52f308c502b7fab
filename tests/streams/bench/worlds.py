"""Worlds whose truth is set by hand: closed episodes of which everything is known, as an analysis sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

from handlers.policies.base import Trace
from schemas.events.base import Event
from schemas.events.reasoning import Generated
from schemas.events.search import Grown, NodeExpanded, OracleScored
from schemas.outcome import Outcome
from schemas.problem import Limits, Problem
from schemas.usage import Usage
from state.folds.grades import Known, Word
from streams.analysis.cases import Case
from streams.bench.results import Episode


def case(
    problem: str,
    outcome: Outcome = "unknown",
    events: Sequence[Event] = (),
    *,
    reference: str | None = None,
    seed: int = 0,
    arms: Mapping[str, str] = MappingProxyType({}),
    **closed: Any,
) -> Case:
    """An episode with this outcome; its answer is ``x`` unless it was withheld or another is given."""
    said: dict[str, Any] = {
        "answer": None if outcome == "withheld" else "x",
        "usage": Usage(calls=1),
        "confidence": None,
        "confidence_source": None,
        "ended_by": "answered",
        "status": "closed",
    }
    word = None if outcome == "unknown" else Word(outcome, "exact@2", person=False)
    return Case(
        f"p/d/{problem}/{seed}",
        Problem(id=problem, problem=f"what is {problem}?", domain="d", policy="cot"),
        cast(
            "Any",
            SimpleNamespace(memory_version=0, policy="cot2_meta", backbones="m", limits=Limits()),
        ),
        cast("Any", SimpleNamespace(**(said | closed))),
        Trace([(f"{at}.0.0", event) for at, event in enumerate(events, 1)]),
        Known(feedback=word),
        None,
        reference,
        arms,
    )


def episodes(*cases: Case, seed: int = 0, walk: int = 1) -> list[Episode]:
    """The cases as one seed's episodes."""
    cell = cast("Any", SimpleNamespace(seed=seed, walk=walk, data="d", run="r", series="s"))
    return [Episode(cell, each) for each in cases]


def grown(*nodes: tuple[str, str | None, float]) -> list[Event]:
    """Children of the root: node, answer, process value."""
    made: list[Event] = []
    for node, answer, worth in nodes:
        made += [
            Generated(answer=answer, source=node),
            OracleScored(node=node, steps=(), rewards=(), value=worth, source=node),
        ]
    kept = tuple(Grown(node=n, strategy="direct", depth=1, value=v) for n, _, v in nodes)
    return [*made, NodeExpanded(round=0, node="opened", children=kept)]
