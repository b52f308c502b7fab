"""Tree of Thoughts, breadth-first: candidate thoughts a node, valued each by itself, the best kept.

Source: Yao et al. 2023, Algorithm 1; design/baselines.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

from pydantic import PositiveInt

from handlers.policies.base import Conclusion, Policy, Task, Trajectory
from handlers.policies.baselines.chain import think as chain
from handlers.policies.facts import generated
from handlers.policies.unread import Unread, standings, taken
from handlers.roles.again import Meter
from handlers.roles.judge import judge
from handlers.roles.steps import shown
from handlers.roles.thinker import THINKERS, think
from schemas.asking import All, OutOfLimit, Steps
from schemas.events.search import ROOT, ThoughtsKept
from schemas.questions import Remain, Sampling
from schemas.settings import Lanes, PolicySettings

NEED = 2
"""Calls of a candidate: generation and value."""


class TreeSettings(PolicySettings):
    """Settings of breadth-first search."""

    caps: ClassVar[frozenset[str]] = frozenset({"thinker", "judge", "reasoner"})
    paper: ClassVar[Mapping[str, Any]] = {"unread": "zero"}

    candidates: Lanes = 5
    """Thoughts a node."""
    beam: Lanes = 2
    """b: nodes kept a level."""
    depth: PositiveInt = 2
    """Steps of thought from the problem to a leaf."""
    widen: bool = True
    """Whether a tree under a limit of calls is grown again from its root, with new thoughts, until they are used."""
    unread: Unread = "unknown"
    """What a value is that the judge's reply does not tell: unknown, or 0."""


@dataclass(frozen=True, slots=True)
class State:
    """A partial solution and its value; ``limit`` names what cut its lane short."""

    id: str
    steps: tuple[str, ...]
    answer: str | None
    value: float | None = None
    """Unknown where the judge was not asked, or could not be read."""
    limit: str | None = None


START = State(ROOT, (), None)


def keep_best(values: Sequence[float | None], beam: int) -> list[int]:
    """The places of the ``beam`` highest values, ties first seen; an unknown one stands for the average."""
    standing = standings(values)
    return sorted(range(len(values)), key=lambda at: -standing[at])[:beam]


def solve(task: Task, settings: TreeSettings) -> Steps[Conclusion]:
    """Level by level while calls are left; the best answered state, ties first seen.

    Methods are compared at equal calls: a tree that is done before its calls are spent grows wider.
    """
    # More calls do not go into depth: a thought behind the last level would be one more
    # than the method has.
    kept, seen = list[State](), list[State]()
    limit: str | None = None
    for turn in count():
        known = any(state.answer is not None for state in seen)
        last, grown = yield from _grow(task, settings, turn, known=known)
        kept += last
        seen += grown
        limit = next((state.limit for state in grown if state.limit is not None), None)
        if not grown or limit is not None or not settings.widen:
            break
        # Where nothing limits calls the method itself says how wide it is.
        remaining = yield from Remain()
        if remaining.calls is None or remaining.calls < NEED:
            break
    answered = [state for state in (*kept, *seen) if state.answer is not None]
    if answered or limit is not None:
        return concluded(answered, limit)
    return (yield from closing(task))


def _grow(
    task: Task, settings: TreeSettings, turn: int, *, known: bool
) -> Steps[tuple[list[State], list[State]]]:
    """One tree from its root down: what its last level kept, and all that grew. ``known``: there is an answer."""
    kept, seen = [START], list[State]()
    # Every tree draws thoughts of its own, else a second one from the same root
    # would repeat the first.
    draws = range(turn * settings.candidates, (turn + 1) * settings.candidates)
    for depth in range(1, settings.depth + 1):
        known = known or any(state.answer is not None for state in seen)
        wanted = [(state, draw) for state in kept if state.answer is None for draw in draws]
        remaining = yield from Remain()
        grown, _ = yield from grow_all(task, wanted, remaining.calls, settings.unread, known=known)
        seen += grown
        if not grown:
            break
        found = [state.value for state in grown]
        chosen = keep_best(found, settings.beam)
        values = tuple(zip((state.id for state in grown), standings(found), strict=True))
        kept = [grown[at] for at in chosen]
        yield ThoughtsKept(depth=depth, values=values, kept=tuple(s.id for s in kept))
        if any(state.limit is not None for state in grown):
            break
    return kept, seen


def concluded(answered: Sequence[State], limit: str | None) -> Conclusion:
    """The answered state of the highest value; kept ones come first."""
    places = keep_best([state.value for state in answered], 1)
    best = answered[places[0]] if places else None
    known = best is not None and best.value is not None
    return Conclusion(
        answer=None if best is None else best.answer,
        ended_by="searched" if limit is None else "limit",
        confidence=None if best is None else best.value,
        confidence_source="value" if known else None,
        limit=limit,
        trajectory=None if best is None else Trajectory(best.id, best.steps),
    )


def closing(task: Task) -> Steps[Conclusion]:
    """Without any answer: one greedy chain, if a call is left."""
    remaining = yield from Remain()
    if remaining.calls == 0:
        return Conclusion(answer=None, ended_by="searched")
    try:
        said = yield from chain(task.stated, Sampling(temperature=0.0, max_tokens=2_048))
    except OutOfLimit as limit:
        return Conclusion(answer=None, ended_by="limit", limit=limit.which)
    trajectory = Trajectory(said.source, said.text)
    return Conclusion(answer=said.answer, ended_by="closed", trajectory=trajectory)


def grow_all(
    task: Task,
    wanted: Sequence[tuple[State, int]],
    room: int | None,
    unread: Unread,
    *,
    known: bool = False,
) -> Steps[tuple[list[State], int]]:
    """New states, one lane each, and the calls spent: two each, and a re-prompt while any is left.

    Until an answer is ``known`` one call of the room is kept back for the closing.
    """
    # Each lane is granted its need in advance, so as many open as are sure to be valued: a thought
    # without a value would have to be kept or dropped blindly.
    left = None if room is None else max(0, room - (not known))
    chosen = wanted if left is None else wanted[: left // NEED]
    surplus = len(chosen) if left is None else left - NEED * len(chosen)
    meters = [Meter(spare=int(at < surplus)) for at in range(len(chosen))]
    lanes = [
        grow(task, state, draw, meter, unread)
        for (state, draw), meter in zip(chosen, meters, strict=True)
    ]
    grown = yield from All(lanes, [NEED + meter.spare for meter in meters])
    states = [state for state in grown if isinstance(state, State)]
    return states, sum(meter.calls for meter in meters)


def grow(task: Task, parent: State, draw: int, meter: Meter, unread: Unread) -> Steps[State | None]:
    """One thought after a state, and its value; nothing of a blank reply."""
    role = THINKERS["direct"]
    state: State | None = None
    try:
        own = {"problem": task.stated, "trajectory": shown(parent.steps)}
        thought = yield from think(role.question(own, draw=draw), role, meter)
        yield generated(thought, len(parent.steps), role.name)
        if not thought.text:
            return None
        state = State(thought.source, (*parent.steps, thought.text), thought.answer)
        value = yield from judge(state.id, task.posed, state.steps, meter, taken(None, unread))
    except OutOfLimit as limit:
        # A thought that could not be valued any more may still hold the answer.
        was = state or START
        return State(was.id, was.steps, was.answer, taken(None, unread), limit.which)
    return State(state.id, state.steps, state.answer, value)


TOT = Policy(
    name="tot",
    version="5",
    about="breadth-first tree of thoughts: five candidates a node, valued, two kept, depth two",
    settings=TreeSettings,
    roles=("thinker", "judge", "reasoner"),
    solve=solve,
    confidence_source="value",
)
