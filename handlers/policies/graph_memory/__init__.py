"""Trainable graph memory: a base policy guided by the principles that similar cases activate.

Source: *From Experience to Strategy: Empowering LLM Agents with Trainable Graph Memory*.
"""

from __future__ import annotations

from typing import Any

from handlers.learning.graph import EMPTY
from handlers.policies.around import guided, unlearned
from handlers.policies.base import Batch, Conclusion, Member, Policy, Task, Trace
from handlers.policies.bases import BASES
from handlers.policies.graph_memory.activate import PRINCIPLE, advise
from handlers.policies.graph_memory.build import Growing, build, consolidated, keep_cases
from handlers.policies.graph_memory.runs import canonical, transcript
from handlers.policies.graph_memory.settings import GraphSettings, base_of
from handlers.policies.graph_memory.weigh import weigh
from schemas.asking import Steps
from schemas.events.episode import Completed
from schemas.problem import Profile

__all__ = ["GRAPH_MEMORY", "GraphSettings"]


def solve(task: Task, settings: GraphSettings) -> Steps[Conclusion]:
    """π(· | q̃), q̃ = [m_1 … m_k; q]; the bare base while the graph is built and weighed."""
    base, own = base_of(settings)
    steps = unlearned(base.solve(task, own))
    if settings.phase == "use" and settings.principles_shown and task.memory_version > 0:
        guidance = yield from advise(task.problem, task.subject, settings)
        steps = guided(steps, guidance)
    return (yield from steps)


def reflect(trace: Trace, conclusion: Conclusion, settings: GraphSettings) -> dict[str, Any]:
    """The phase, and the episode's path, or the transcript that a model reads it from."""
    if settings.phase == "use":
        return {}
    if settings.grounding == "model":
        texts = [event.text for _, event in trace.events if isinstance(event, Completed)]
        return {"phase": settings.phase, "transcript": transcript(texts, settings)}
    path = canonical(trace.events, conclusion, settings)
    return {"phase": settings.phase, "path": path}


def learn(batch: Batch, settings: GraphSettings) -> Steps[None]:
    """What a batch adds to the graph, or what it moves. ``use`` leaves nothing to learn from."""
    built, weighed = _in_phase(batch, "build"), _in_phase(batch, "weigh")
    growing = Growing({**EMPTY, **batch.memory.learned}, settings.constants, batch.number)
    yield from keep_cases(batch, built)
    for member in built:
        yield from build(batch, member, growing, settings)
    if growing.changed:
        yield consolidated(growing)
    for member in weighed:
        yield from weigh(batch, member, settings)


def relearn(batch: Batch, settings: GraphSettings) -> Steps[None]:
    """A batch without a problem that was forgotten: nobody is asked, principles are as they now stand."""
    yield from keep_cases(batch, _in_phase(batch, "build"))
    growing = Growing({**EMPTY, **batch.memory.learned}, settings.constants, batch.number)
    for fact in batch.facts:
        growing.take(fact)
    if growing.changed and PRINCIPLE in batch.stale:
        yield consolidated(growing)


def _in_phase(batch: Batch, phase: str) -> list[Member]:
    return [m for m in batch.members if m.reflected.summary.get("phase") == phase]


def usual(profile: Profile, tools: bool) -> dict[str, Any]:
    """What is guided where nobody says: what calls tools, and in ``service`` without any ``mc2``."""
    return {} if tools or profile == "paper" else {"base": "mc2"}


GRAPH_MEMORY = Policy(
    name="graph_memory",
    version="4",
    about="principles that similar cases activate in a weighted graph guide search and answer",
    settings=GraphSettings,
    roles=(*dict.fromkeys(r for base in BASES.values() for r in base.roles), "inducer", "grounder"),
    solve=solve,
    learns="labels",
    reflect=reflect,
    learn=learn,
    relearn=relearn,
    window=lambda settings, size: settings.batch_size,
    rule="graph@2",
    retirement="pairs@1",
    usual=usual,
    rule_constants=lambda settings: settings.constants,
)
