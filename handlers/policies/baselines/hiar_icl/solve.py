"""Solving by thought cards: the nearest are carried out side by side, and their answers vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from handlers.policies.base import Conclusion, Task
from handlers.policies.baselines.hiar_icl.cards import (
    ROLE,
    STANDARD,
    Card,
    cards_of,
    complexity,
    matched,
)
from handlers.policies.facts import by_vote, generated, voted
from handlers.policies.last_call import close
from handlers.roles.again import Meter
from handlers.roles.atomic import ACTIONS, Action
from handlers.roles.steps import shown
from handlers.roles.thinker import GENERATION, Thought, think
from schemas.asking import All, OutOfLimit, Steps, Stopped
from schemas.events.strategy import StrategyChosen
from schemas.questions import Recall, Remain
from schemas.settings import Lanes, PolicySettings


class CardSettings(PolicySettings):
    """Settings of thought cards."""

    caps: ClassVar[frozenset[str]] = frozenset({"thinker", "reasoner"})
    paper: ClassVar[Mapping[str, Any]] = {}
    learning: ClassVar[frozenset[str]] = frozenset(
        {"seeds", "rollouts", "depth", "exploration", "offline_batches", "batch_size"}
    )

    matched: Lanes = 3
    """Cards that are carried out."""
    seeds: Lanes = 5
    """Problems of a batch that are searched for a card."""
    rollouts: Lanes = 6
    """Ways that are tried on each."""
    depth: PositiveInt = 3
    """Actions of a way, before it is carried to its end."""
    exploration: NonNegativeFloat = 1.4
    """The weight of the visit term."""
    offline_batches: NonNegativeInt = 1
    """Batches that cards are found on; later ones leave them alone."""
    batch_size: PositiveInt = 10
    """Problems that are learned from together."""


def solve(task: Task, settings: CardSettings) -> Steps[Conclusion]:
    """As many calls as the matched cards have actions, within the limit; without an answer one more."""
    cards: Sequence[Card] = STANDARD
    if task.memory_version > 0:
        found = yield from Recall(task.problem, (ROLE,), 0, ("rule",))
        cards = cards_of(item.text for item in found.items) or STANDARD
    wanted = complexity(task.problem)
    remaining = yield from Remain()
    room = None if remaining.calls is None else remaining.calls - 1  # one is kept for an answer
    chosen = affordable(matched(cards, wanted, settings.matched), room)
    if room is not None and len(chosen[0].path) > room:
        chosen = []
    distances = tuple((each.name, float(abs(each.complexity - wanted))) for each in chosen)
    for at, card in enumerate(chosen):
        yield StrategyChosen(round=at, arm=card.name, how="matched", scores=distances)
    lanes = [carry_out(task.stated, card, at) for at, card in enumerate(chosen)]
    results = yield from All(lanes, [len(card.path) for card in chosen])
    limit = next((lane.which for lane in results if isinstance(lane, Stopped)), None)
    answers = [None if isinstance(lane, Stopped) else lane for lane in results]
    if any(each is not None for each in answers):
        won = voted(answers, task.problem)
        yield won
        return by_vote(won, limit)
    return (yield from finish(task, answers, limit))


def finish(task: Task, answers: Sequence[str | None], limit: str | None) -> Steps[Conclusion]:
    """Where no card led to an answer: one plain chain of thought, if a call is left."""
    if answers:
        yield voted(answers, task.problem)
    # A limit of calls that stopped a lane may have left the one that was kept; any
    # other leaves nothing.
    remaining = yield from Remain()
    if limit not in (None, "calls") or remaining.calls == 0:
        return Conclusion(answer=None, ended_by="limit" if limit else "voted", limit=limit)
    try:
        said = yield from close(task, (), GENERATION)
    except OutOfLimit as reached:
        return Conclusion(answer=None, ended_by="limit", limit=reached.which)
    return Conclusion(answer=said.answer, ended_by="closed", limit=limit)


def affordable(cards: Sequence[Card], room: int | None) -> list[Card]:
    """The first cards whose actions the calls left cover together; the first one in any case."""
    # A card whose last action is not paid for gives no answer, and its calls are
    # lost: whole cards only.
    chosen = [cards[0]]
    for card in cards[1:]:
        if room is None or sum(len(each.path) for each in (*chosen, card)) <= room:
            chosen.append(card)
    return chosen


def carry_out(problem: str, card: Card, draw: int) -> Steps[str | None]:
    """The answer that a card's actions come to, one call each."""
    done: list[str] = []
    answer: str | None = None
    for action in card.path:
        thought = yield from act(problem, done, action, draw)
        done.append(thought.text)
        answer = thought.answer or answer
    return answer


def act(problem: str, done: Sequence[str], action: Action, draw: int) -> Steps[Thought]:
    """One atomic action on the trajectory so far."""
    role = ACTIONS[action]
    said = [text for text in done if text]  # a reply that could not be read is no step
    question = role.question({"problem": problem, "trajectory": shown(said)}, draw=draw)
    thought = yield from think(question, role, Meter(), to_the_end=False)
    yield generated(thought, len(done), role.name)
    return thought
