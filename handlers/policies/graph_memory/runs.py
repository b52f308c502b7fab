"""Runs of a problem for learning: the base policy as a probe, what it came to, and its path.

Source: trainable graph memory, Algorithm 1 lines 5 to 11, Algorithm 2 lines 11 to 15.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from handlers.policies.around import Watch, guided, through, unlearned
from handlers.policies.base import Conclusion, Member, Task
from handlers.policies.graph_memory.grounding import leading, path_of
from handlers.policies.graph_memory.machine import Machine, path_id
from handlers.policies.graph_memory.settings import GraphSettings, base_of
from handlers.roles.excerpt import excerpt
from handlers.roles.grounder import GROUNDER, on, path_said
from schemas.asking import Steps
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed
from schemas.outcome import Outcome
from schemas.questions import Check, Credit
from schemas.usage import Usage


@dataclass(frozen=True, slots=True)
class Ran:
    """One run: its path (none where it could not be read) and its outcome."""

    path: str | None
    outcome: Outcome
    source: str


def task_of(member: Member, seed: int) -> Task:
    """The member's problem once more; it knows of no memory."""
    told = member.reflected
    return Task(told.problem_id, told.problem, told.domain, seed, statement=told.statement)


def reward(outcome: Outcome) -> float | None:
    """R: exact match; an unknown outcome has none."""
    return None if outcome == "unknown" else float(outcome == "right")


def tried(
    member: Member, guidance: str, seed: int, settings: GraphSettings, watch: Watch | None = None
) -> Steps[Conclusion]:
    """The base policy on the member's problem, with this guidance alone or without."""
    base, own = base_of(settings)
    steps = guided(unlearned(base.solve(task_of(member, seed), own)), guidance)
    return (yield from (steps if watch is None else through(steps, watch=watch)))


def asked_of(member: Member, answer: str) -> tuple[str, str, str, str]:
    """What a grader is asked of an answer to the member's problem."""
    told = member.reflected
    return told.dataset or told.domain, told.problem, answer, member.subject


def rewarded(
    member: Member, guidance: str, seed: int, settings: GraphSettings
) -> Steps[float | None]:
    """What a side of a pair earned: nothing without an answer, unknown where nobody can say."""
    answer = (yield from tried(member, guidance, seed, settings)).answer
    if answer is None:
        return 0.0
    if settings.reward == "f1":
        return (yield from Credit(*asked_of(member, answer)))
    return reward((yield from Check(*asked_of(member, answer))))


def rolled_out(member: Member, seed: int, settings: GraphSettings) -> Steps[Ran]:
    """One roll-out more, read as a path."""
    watch = Watch()
    conclusion = yield from tried(member, "", seed, settings, watch)
    outcome: Outcome = "withheld"
    if conclusion.answer is not None:
        outcome = yield from Check(*asked_of(member, conclusion.answer))
    if settings.grounding == "model":
        text = transcript(watch.texts, settings)
        return Ran((yield from read(text, settings.states)), outcome, "probe")
    path = canonical(watch.events, conclusion, settings)
    return Ran(path, outcome, "probe")


def canonical(
    events: Sequence[tuple[str, Event]], conclusion: Conclusion, settings: GraphSettings
) -> str:
    """The canonical path of a run, by the table of events."""
    closed = EpisodeClosed(
        status="abstained" if conclusion.answer is None else "answered",
        ended_by=conclusion.ended_by,
        usage=Usage(),
    )
    found = leading(events, conclusion.answer)
    cycles = settings.path_cycles == "keep"
    return path_id(path_of([*found, closed], settings.states, cycles=cycles))


def transcript(texts: Sequence[str], settings: GraphSettings) -> str:
    """What a model reads a path from: the replies, head and tail."""
    return excerpt("\n\n".join(texts), settings.transcript_chars)


def read(text: str, machine: Machine) -> Steps[str | None]:
    """The path that a model reads from a transcript; asked twice at most, else there is none."""
    said = yield from GROUNDER.put(
        {"transitions": machine.described(), "transcript": text or "(nothing)"},
        check=on(machine.valid),
    )
    return path_id(path_said(said.values)) if said.readable else None
