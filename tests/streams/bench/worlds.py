"""Worlds whose truth is set by hand: closed episodes of which everything is known, as an analysis sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

import pytest

from handlers.policies.base import Trace
from schemas.events.base import Event
from schemas.events.reasoning import Generated
from schemas.events.search import Grown, NodeExpanded, OracleScored
from schemas.outcome import Outcome
from schemas.problem import Limits, Problem
from schemas.usage import Usage
from state.folds.grades import Known, Word
from streams.research.analysis.cases import Case
from streams.research.bench.results import Episode

OPENED: Any = SimpleNamespace(memory_version=0, policy="cot2_meta", backbones="m", limits=Limits())
"""How every episode began."""
ONE_CALL = Usage(calls=1)


@cache
def posed(name: str) -> Problem:
    """The problem of this name: the same in every world, and checked once."""
    return Problem(id=name, problem=f"what is {name}?", domain="d", policy="cot")


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
        "usage": ONE_CALL,
        "confidence": None,
        "confidence_source": None,
        "ended_by": "answered",
        "status": "closed",
    }
    word = None if outcome == "unknown" else Word(outcome, "exact@2", person=False)
    return Case(
        f"p/d/{problem}/{seed}",
        posed(problem),
        OPENED,
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


# ── Stand-ins ────────────────────────────────────────────────────────────────────────────────


def always(value: Any) -> Callable[..., Any]:
    """What gives this, whatever it is asked."""

    def given(*_: Any, **__: Any) -> Any:
        return value

    return given


def noting(told: list[Any]) -> Callable[..., None]:
    """What remembers how it was called, and gives nothing."""

    def noted(*words: Any) -> None:
        told.append(words)

    return noted


class ReadOnce:
    """Stands in for folding all that a log taught, which side runs do once for all of them."""

    def __init__(self, patch: pytest.MonkeyPatch, module: Any) -> None:
        self.times = 0
        patch.setattr(module, "learned", self.read)

    def read(self, log: Any, find: Any) -> str:
        self.times += 1
        return "learned"
