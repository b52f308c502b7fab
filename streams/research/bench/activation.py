"""``bench activation``: which principles a problem activates in a large graph, and how relevant each is.

What an episode of the graph memory waits for between its query vector and its guidance: the nearest
cases (the mirror), their texts' references resolved, the edges that they activate, ρ, and the best three.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from handlers.learning.graph import CASE, PRINCIPLE
from handlers.learning.reinforce import best
from handlers.policies.graph_memory.activate import activated
from handlers.policies.graph_memory.settings import GraphSettings
from schemas.events.episode import Recalled
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Recall
from schemas.vectors import as_kept, pack
from state.mirror import Mirrors
from streams.core.replies import recollection
from streams.research.bench.recall import quantile, vectors

CASES, PATHS, PRINCIPLES = 10_000, 2_000, 200
PATHS_OF_CASE, PRINCIPLES_OF_PATH = 4, 5
QUERIES = 500


def memory(cases: int = CASES, paths: int = PATHS, principles: int = PRINCIPLES) -> Memory:
    """A graph of this size: each case took four paths, five principles rest on each path."""
    draw = random.Random(7)
    rules = [_item(f"M{at}", "rule", PRINCIPLE, f"advice {at}") for at in range(principles)]
    known = [
        _item(text_digest(f"problem {at}"), "lesson", CASE, f"problem {at}", pack(vector))
        for at, vector in enumerate(vectors(cases, 7))
    ]
    edge = {"weight": 1.0, "right": 1, "wrong": 0, "runs": 1, "at": 1}
    held = {
        "version": 1,
        "cases": {
            item.id: {
                "subject": item.subject,
                "paths": {f"T{n}": edge for n in draw.sample(range(paths), PATHS_OF_CASE)},
            }
            for item in known
        },
        "paths": {
            f"T{at}": {
                "principles": {
                    f"M{n}": {"weight": draw.random(), "at": 1}
                    for n in draw.sample(range(principles), PRINCIPLES_OF_PATH)
                }
            }
            for at in range(paths)
        },
        "principles": {},
    }
    return Memory("bench", 1, (*rules, *known), held)


def _item(name: str, kind: str, role: str, text: str, vector: str | None = None) -> MemoryItem:
    digest = text_digest(text)
    subject = f"bench/{text}" if kind == "lesson" else ""
    return MemoryItem(
        id=name,
        kind=kind,
        role=role,
        text=text,
        text_digest=digest,
        batch=1,
        subject=subject,
        vector=vector,
    )


def timed(known: Memory, queries: int = QUERIES) -> Iterator[tuple[float, float]]:
    """Milliseconds of each activation, by this thread's CPU and by the wall."""
    mirrors, settings = Mirrors(), GraphSettings(relevance_floor=None)
    # Made before the first is timed, as a worker makes
    # it with each memory version, and not for a problem.
    mirrors.block(known, CASE)
    for at, vector in enumerate(vectors(queries, 13)):
        question = Recall(
            f"query {at}", (CASE, PRINCIPLE), settings.active_cases + 1, ("rule", "lesson")
        )
        query = as_kept(vector)
        began, cpu = time.perf_counter_ns(), time.thread_time_ns()
        hits = mirrors.select(known, question, query)
        items = tuple((item.id, item.text_digest, similarity) for item, similarity in hits)
        # References and back to items, as an episode does
        # it: its record holds references, never texts.
        found = recollection(question, Recalled(asked="-", memory_version=1, items=items), known)
        chosen = best(activated(found, question.query, settings).scores, settings.principles_shown)
        busy, wall = time.thread_time_ns() - cpu, time.perf_counter_ns() - began
        assert len(chosen) == settings.principles_shown
        yield busy / 1e6, wall / 1e6


def run() -> dict[str, Any]:
    """Every figure of ``metalogue bench activation``."""
    spent = list(timed(memory()))
    busy, wall = [each[0] for each in spent], [each[1] for each in spent]
    return {
        "activation_p50_ms": quantile(busy, 0.5),
        "activation_p99_ms": quantile(busy, 0.99),
        "activation_wall_p50_ms": quantile(wall, 0.5),
        "activation_wall_p99_ms": quantile(wall, 0.99),
        "queries": CASES,
        "paths": PATHS,
        "principles": PRINCIPLES,
    }
