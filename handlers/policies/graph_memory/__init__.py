"""Trainable graph memory: a base policy guided by the principles that similar cases activate.

Source: *From Experience to Strategy: Empowering LLM Agents with Trainable Graph Memory*.
"""

from __future__ import annotations

from typing import Any

from handlers.learning.graph import EMPTY, PRINCIPLE
from handlers.policies.around import guided, unlearned
from handlers.policies.base import Around, Batch, Conclusion, Member, Policy, Task, Trace
from handlers.policies.bases import BASES
from handlers.policies.graph_memory.activate import advise
from handlers.policies.graph_memory.build import Growing, build, consolidated, keep_cases
from handlers.policies.graph_memory.runs import canonical, transcript
from handlers.policies.graph_memory.settings import GraphSettings, base_of, unlearnable
from handlers.policies.graph_memory.weigh import weigh
from handlers.policies.taken import ENDED_BY, trace_of
from schemas.asking import Steps
from schemas.events.traces import TraceTaken
from schemas.problem import Profile

__all__ = ["GRAPH_MEMORY", "GraphSettings"]


# Three phases, each a setting of its own run over problems: ``build`` grounds runs as paths
# (``runs``, ``grounding``, ``machine``) and induces principles (``build``, ``induce``), ``weigh``
# compares pairs, ``use`` shows what is relevant (``activate``). Facts are stated here and folded by
# ``handlers.learning.graph``. Grounding must never see an outcome: a path that knew how it ended
# would tell right from wrong by itself. And the base policy must work as if nothing was ever
# learned of it, or principles would be credited with its memory.


def solve(task: Task, settings: GraphSettings) -> Steps[Conclusion]:
    """π(· | q̃), q̃ = [m_1 … m_k; q]; the bare base while the graph is built and weighed."""
    base, own = base_of(settings)
    steps = unlearned(base.solve(task, own))
    if settings.phase == "use" and settings.principles_shown and task.memory_version > 0:
        guidance = yield from advise(task.problem, task.subject, settings)
        steps = guided(steps, guidance)
    return (yield from steps)


def reflect(trace: Trace, conclusion: Conclusion, settings: GraphSettings) -> dict[str, Any]:
    """The phase; of a building episode its path, or the transcript that a model reads it from.

    Of a weighing one its answer: it is the side without a principle of a pair.
    """
    match settings.phase:
        case "use":
            return {}
        case "weigh":
            return {"phase": "weigh", "answer": conclusion.answer, "lone": settings.lone}
        case _ if settings.grounding == "model":
            chars = settings.transcript_chars
            return {"phase": "build", "transcript": transcript(trace.events, conclusion, chars)}
        case _:
            return {"phase": "build", **grounded(trace, conclusion, settings)}


def take(taken: TraceTaken, settings: GraphSettings) -> dict[str, Any]:
    """What another tool's trace leaves: as of a building episode, whatever the phase is."""
    # To weigh a pair the problem would have to be run here, and nobody put it here
    # (design/graph_memory.md D14).
    conclusion = Conclusion(answer=taken.answer, ended_by=ENDED_BY)
    building = settings.model_copy(update={"phase": "build"})
    return reflect(trace_of(taken), conclusion, building)


def grounded(trace: Trace, conclusion: Conclusion, settings: GraphSettings) -> dict[str, Any]:
    """An episode's path by the table of events, and an excerpt where the Inducer is shown one."""
    path = {"path": canonical(trace.events, conclusion, settings)}
    if not settings.excerpt_chars:
        return path
    return {**path, "excerpt": transcript(trace.events, conclusion, settings.excerpt_chars)}


def learn(batch: Batch, settings: GraphSettings) -> Steps[None]:
    """What a batch adds to the graph, or what it moves. ``use`` leaves nothing to learn from."""
    # A batch may hold both: the phase is no part of the scope, and each member says
    # under which it worked.
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


def batch_of(settings: GraphSettings, size: int | None) -> int:
    """How many learn together: one by one, as in the paper; a whole series where nothing is learned."""
    return size if settings.phase == "use" and size else settings.batch_size


def usual(profile: Profile, around: Around) -> dict[str, Any]:
    """What is guided where nobody says: what calls tools, and in ``service`` without any ``mc2``."""
    return {} if around.tools or profile == "paper" else {"base": "mc2"}


GRAPH_MEMORY = Policy(
    name="graph_memory",
    version="10",
    about="principles that similar cases activate in a weighted graph guide search and answer",
    settings=GraphSettings,
    roles=(*dict.fromkeys(r for base in BASES.values() for r in base.roles), "inducer", "grounder"),
    solve=solve,
    learns="labels",
    reflect=reflect,
    takes=take,
    learn=learn,
    relearn=relearn,
    window=batch_of,
    reads=lambda settings: settings.phase == "use",
    unlearnable=unlearnable,
    rule="graph@2",
    retirement="pairs@1",
    usual=usual,
    rule_constants=lambda settings: settings.constants,
)
