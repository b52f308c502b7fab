"""A policy without a model: hand it the replies, and see what it concludes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from handlers.limits import Ledger, Reservation
from schemas.asking import Ask, Steps
from schemas.events.base import AnswerEvent
from schemas.events.episode import Completed, ReviewAnswered
from schemas.memory import Memory
from schemas.questions import Complete, Review
from state.journal import MemoryRecorder
from streams.core.drive import Run, drive, replayed

R = TypeVar("R")


def play(steps: Steps[R], *replies: str) -> R:
    """Return what a policy comes to if the model says this: a reply for each completion, in order.

    A person who is asked (``Review``) takes the next of them: ``right`` or ``wrong`` to an answer that was
    proposed, else the answer that he gives. It is driven as a worker drives it, without limits. Lanes take
    their replies one lane after another. Raises ``LookupError`` where the policy asks for more than there
    is, or for anything else.
    """
    # Lanes in turn, for replies are handed out in one
    # order: at once, that would be anybody's guess.
    run = Run("play", {}, 0, Memory("play", 0), recorder=MemoryRecorder(), in_turn=True)
    run.world = Script(iter(replies))
    ended: R = replayed(drive(steps, run, Ledger()))
    return ended


@dataclass(frozen=True, slots=True)
class Script:
    """A world that holds replies only, and never waits."""

    replies: Iterator[str]

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        """The next reply. Raises ``LookupError``."""
        if not isinstance(question, (Complete, Review)):
            raise LookupError(f"a script holds replies only, and is asked for {question!r}")
        text = next(self.replies, None)
        if text is None:
            whom = "a person" if isinstance(question, Review) else question.role
            raise LookupError(f"no reply is left for {whom}")
        if isinstance(question, Review):
            return spoken(question, asked, text)
        return Completed(asked=asked, text=text, finish="stop", model="script")


def spoken(question: Review, asked: str, text: str) -> ReviewAnswered:
    """A person's reply: ``right`` or ``wrong`` to an answer that was proposed, else the answer that he gives."""
    verdict = {"right": True, "wrong": False}.get(text) if question.proposed is not None else None
    answer = text if verdict is None else None
    return ReviewAnswered(
        asked=asked, result="answered", answer=answer, verdict=verdict, by="script"
    )
