"""Activation: which principles similar cases lead to, how relevant each is, and which are shown.

Source: trainable graph memory, eq. (3), (8), (9); stage 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from handlers.learning import graph
from handlers.learning.graph import CASE, PRINCIPLE
from handlers.learning.reinforce import Active, best, relevance
from handlers.policies.graph_memory.settings import GraphSettings
from schemas.asking import Steps
from schemas.events.graph import ExperienceShown
from schemas.identity import text_digest
from schemas.questions import Recall, Recollection


@dataclass(frozen=True, slots=True)
class Activation:
    """What a problem activates: similar cases, their part of the graph, principles with their texts."""

    version: int
    graph: graph.Graph
    similar: Mapping[str, float]
    active: Active
    scores: Mapping[str, float]
    texts: Mapping[str, str]
    out: tuple[str, ...] = ()
    """Active principles that are out of service."""


def activate(problem: str, subject: str, settings: GraphSettings) -> Steps[Activation]:
    """One recall of the nearest cases, the case itself left out, and of the principles there are."""
    # One case more than is wanted: the problem's own may be among them under another subject.
    known = yield from Recall(
        problem, (CASE, PRINCIPLE), settings.active_cases + 1, ("rule", "lesson"), exclude=subject
    )
    return activated(known, problem, settings)


def activated(known: Recollection, problem: str, settings: GraphSettings) -> Activation:
    """ρ over everything that these cases activate. Source: eq. (9)."""
    held = {**graph.EMPTY, **known.learned}
    similar = near(known, text_digest(problem), settings)
    active = graph.active(held, similar, settings.weights)
    texts = {item.id: item.text for item in known.of(PRINCIPLE, "rule")}
    # A retired principle has no text here. It keeps its edges, for it may be restored, but a pair
    # must know of it: without it the others' shares are different ones.
    every = relevance(active)
    scores = {name: rho for name, rho in every.items() if name in texts}
    out = tuple(sorted(every.keys() - texts.keys()))
    return Activation(known.version, held, similar, active, scores, texts, out)


def near(known: Recollection, own: str, settings: GraphSettings) -> dict[str, float]:
    """The active cases with their similarity, nearest first; none that is not like the problem."""
    least = settings.floor(known.embedder)
    found = {
        item.id: item.similarity
        for item in known.of(CASE, "lesson")
        if item.similarity is not None and item.id != own and item.similarity >= least
    }
    return dict(list(found.items())[: settings.active_cases])


def advise(problem: str, subject: str, settings: GraphSettings) -> Steps[str]:
    """q̃ without q: the principles of highest relevance, best first, ties by id."""
    found = yield from activate(problem, subject, settings)
    chosen = best(found.scores, settings.principles_shown)
    if not chosen:
        return ""
    scores = tuple(found.scores[name] for name in chosen)
    yield ExperienceShown(sort=PRINCIPLE, items=tuple(chosen), scores=scores)
    return "\n\n".join(found.texts[name] for name in chosen)
