"""Trainable graph memory: a base policy guided by the principles that similar cases activate.

Source: *From Experience to Strategy: Empowering LLM Agents with Trainable Graph Memory*.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from handlers.learning import graph
from handlers.learning.reinforce import best, relevance
from handlers.policies.base import Conclusion, Policy, Task, Trace
from handlers.policies.baselines.tool_reasoning import reason
from handlers.policies.graph_memory.grounding import path_of
from handlers.policies.graph_memory.machine import path_id
from schemas.asking import Steps
from schemas.events.episode import Embedded, EpisodeClosed
from schemas.events.graph import ExperienceShown
from schemas.identity import text_digest
from schemas.questions import Embed, Recall, Recollection
from schemas.settings import PolicySettings
from schemas.usage import Usage

ROLE = "principle"


class GraphSettings(PolicySettings):
    """Settings of the graph memory."""

    paper: ClassVar[Mapping[str, Any]] = {"path_cycles": "keep"}
    learning: ClassVar[frozenset[str]] = frozenset({"initial_weight", "path_cycles", "batch_size"})

    phase: Literal["build", "use"] = "use"
    """``build`` folds cases and paths; ``use`` only reads."""
    active_cases: PositiveInt = 5
    principles_shown: NonNegativeInt = 3
    """k; 0 is the base policy byte for byte."""
    initial_weight: PositiveFloat = 1.0
    path_cycles: Literal["collapse", "keep"] = "collapse"
    tool_calls: PositiveInt = 6
    batch_size: PositiveInt = 1
    output_cap: PositiveInt | None = 8_192


def solve(task: Task, settings: GraphSettings) -> Steps[Conclusion]:
    """q̃ = [m_1 … m_k; q], then tool-integrated reasoning."""
    guidance = ""
    if settings.principles_shown and (task.memory_version > 0 or settings.phase == "build"):
        query = (yield from Embed((task.problem,)))[0]
        if task.memory_version > 0:
            known = yield from Recall(task.problem, (ROLE,), 1, ("rule",))
            guidance = yield from advise(task, known, query, settings)
    return (yield from reason(task, settings.tool_calls, settings.output_cap, guidance))


def advise(
    task: Task, known: Recollection, query: tuple[float, ...], settings: GraphSettings
) -> Steps[str]:
    """The principles of highest relevance as guidance, best first."""
    state = {**graph.EMPTY, **known.learned}
    near = graph.similar_cases(state, query, settings.active_cases, text_digest(task.problem))
    scores = relevance(graph.active(state, near))
    texts = {item.id: item.text for item in known.items}
    chosen = best({m: rho for m, rho in scores.items() if m in texts}, settings.principles_shown)
    if not chosen:
        return ""
    yield ExperienceShown(sort=ROLE, items=tuple(chosen), scores=tuple(scores[m] for m in chosen))
    return "\n\n".join(texts[m] for m in chosen)


def reflect(trace: Trace, conclusion: Conclusion, settings: GraphSettings) -> dict[str, Any]:
    """The canonical path of the episode, and its problem's embedding; nothing where only reading."""
    if settings.phase == "use":
        return {}
    answered = conclusion.answer is not None
    closed = EpisodeClosed(
        status="answered" if answered else "abstained", ended_by=conclusion.ended_by, usage=Usage()
    )
    events = [event for _, event in trace.events]
    path = path_of([*events, closed], cycles=settings.path_cycles == "keep")
    vectors = (event.vectors[0] for event in events if isinstance(event, Embedded))
    return {"path": path_id(path), "vector": next(vectors, None)}


GRAPH_MEMORY = Policy(
    name="graph_memory",
    version="1",
    about="principles that similar cases activate in a weighted graph guide search and answer",
    settings=GraphSettings,
    solve=solve,
    learns="labels",
    reflect=reflect,
    window=lambda settings, size: settings.batch_size,
    rule="graph@1",
    rule_constants=lambda settings: {"initial_weight": settings.initial_weight},
)
