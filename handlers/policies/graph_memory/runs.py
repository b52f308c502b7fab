"""Runs of a problem for learning: the base policy as a probe, what it came to, and its path.

Source: trainable graph memory, Algorithm 1 lines 5 to 11, Algorithm 2 lines 11 to 15.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from handlers.policies.around import Watch, guided, through, unlearned
from handlers.policies.base import Conclusion, Member, task_of, told, type_of
from handlers.policies.graph_memory.grounding import leading, path_of
from handlers.policies.graph_memory.machine import Machine, path_id
from handlers.policies.graph_memory.settings import GraphSettings, base_of
from handlers.roles.excerpt import excerpt
from handlers.roles.grounder import GROUNDER, on, path_said
from schemas.answer_type import AnswerType
from schemas.asking import Steps
from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeClosed
from schemas.events.graph import ToolCalled
from schemas.outcome import Outcome
from schemas.questions import Check, Credit
from schemas.usage import Usage

# Roll-outs run within the learning episode, as lanes: their calls stand in its column of cost, they
# are recorded and resumed like any other, and nothing of them is ever an answer to the problem.


@dataclass(frozen=True, slots=True)
class Ran:
    """One run: its path (none where it could not be read), its outcome, and what was done and said."""

    path: str | None
    outcome: Outcome
    source: str
    said: str = ""
    """An excerpt of its transcript; empty where none is kept."""


def reward(outcome: Outcome) -> float | None:
    """R: exact match; an unknown outcome has none."""
    return None if outcome == "unknown" else float(outcome == "right")


def tried(
    member: Member, guidance: str, seed: int, settings: GraphSettings, watch: Watch | None = None
) -> Steps[Conclusion]:
    """The base policy on the member's problem, with this guidance alone or without."""
    base, own = base_of(settings)
    steps = guided(unlearned(base.solve(task_of(member.reflected, seed), own)), guidance)
    return (yield from (steps if watch is None else through(steps, watch=watch)))


def asked_of(member: Member, answer: str) -> tuple[str, str, str, str, AnswerType | None]:
    """What a grader is asked of an answer to the member's problem."""
    left = member.reflected
    return left.dataset or left.domain, left.problem, answer, member.subject, type_of(left)


def rewarded(
    member: Member, guidance: str, seed: int, settings: GraphSettings
) -> Steps[float | None]:
    """What a side of a pair earned: nothing without an answer, unknown where nobody can say."""
    answer = (yield from tried(member, guidance, seed, settings)).answer
    return (yield from worth(member, answer, settings))


def worth(member: Member, answer: str | None, settings: GraphSettings) -> Steps[float | None]:
    """R of an answer to the member's problem."""
    if answer is None:
        return 0.0
    if settings.reward == "f1":
        return (yield from Credit(*asked_of(member, answer)))
    return reward((yield from Check(*asked_of(member, answer))))


def earned(member: Member, settings: GraphSettings) -> Steps[float | None]:
    """What the member's own episode earned, which ran without a principle; unknown where nobody can say.

    Source: Algorithm 2 line 12: R_w/o is one run of the bare policy, and that run was made already.
    """
    if settings.reward == "exact_match":
        return reward(cast("Outcome", member.outcome))
    left = member.reflected.summary
    if "answer" not in left:
        return None
    return (yield from worth(member, left["answer"], settings))


def rolled_out(member: Member, seed: int, settings: GraphSettings) -> Steps[Ran]:
    """One roll-out more, read as a path."""
    # A roll-out has no record of its own that could be read afterwards: its events are
    # watched as they pass.
    watch = Watch()
    conclusion = yield from tried(member, "", seed, settings, watch)
    outcome: Outcome = "withheld"
    if conclusion.answer is not None:
        outcome = yield from Check(*asked_of(member, conclusion.answer))
    said = transcript(watch.events, conclusion, settings.excerpt_chars)
    if settings.grounding == "model":
        whole = transcript(watch.events, conclusion, settings.transcript_chars)
        path = yield from read(member, whole, settings.states)
        return Ran(path, outcome, "probe", said)
    return Ran(canonical(watch.events, conclusion, settings), outcome, "probe", said)


def canonical(
    events: Sequence[tuple[str, Event]], conclusion: Conclusion, settings: GraphSettings
) -> str:
    """The canonical path of a run, by the table of events."""
    # A policy does not state its own end, the driver does; the machine needs one to
    # know how it ended.
    closed = EpisodeClosed(
        status="abstained" if conclusion.answer is None else "answered",
        ended_by=conclusion.ended_by,
        usage=Usage(),
    )
    found = leading(events, conclusion.answer)
    cycles = settings.path_cycles == "keep"
    return path_id(path_of([*found, closed], settings.states, cycles=cycles))


def transcript(events: Sequence[tuple[str, Event]], conclusion: Conclusion, chars: int) -> str:
    """What the agent said, what its tools returned and how it ended, in order, head and tail.

    Up to four replies take an equal share of the room each, with their reasoning; of more, a quarter each, the first
    and the last are seen. What a tool returned takes half a share: a path hangs on what the agent does with it.

    Source: trainable graph memory, App. B.1 (the sequence of reasoning and tool calls).
    """
    told = [e for e in leading(events, conclusion.answer) if isinstance(e, (Completed, ToolCalled))]
    share = chars // max(min(len(told), 4), 1)
    parts: list[str] = []
    for event in told:
        if isinstance(event, Completed):
            parts.append(f"[reply]\n{excerpt(event.text.strip(), share)}")
        else:
            came = excerpt(event.text, share // 2) or "nothing"
            parts.append(f"[tool {event.tool}: {event.result}]\n{came}")
    ended = "an answer" if conclusion.answer is not None else "no answer"
    return excerpt("\n\n".join((*parts, f"[end: {ended}]")), chars)


def read(member: Member, text: str, machine: Machine) -> Steps[str | None]:
    """The path that a model reads from a transcript; asked twice at most, else there is none."""
    said = yield from GROUNDER.put(
        {
            "transitions": machine.described(),
            "problem": told(member.reflected),
            "transcript": text or "(nothing)",
        },
        check=on(machine.fault),
    )
    return path_id(path_said(said.values)) if said.readable else None
