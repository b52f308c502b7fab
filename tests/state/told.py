"""The record of one scope, said event by event, and the state that it comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schemas.events.base import Event
from schemas.events.learning import BatchClosed, Graded, LessonDistilled, MemoryVersioned
from schemas.identity import learning_id
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.vectors import pack
from state.folds.state import State
from tests.reflections import reflected

SCOPE = "d/p/main/0"
VECTOR = pack((1.0, 0.0))


class Told:
    """Records as they were said, for what folds do not keep."""

    def __init__(self, told: list[tuple[str, str, Event]]) -> None:
        self.told = told

    def find(self, episode: str, address: str) -> Event | None:
        return self.journal(episode).get(address)

    def journal(self, episode: str) -> Mapping[str, Event]:
        return {at: event for name, at, event in self.told if name == episode}

    def episodes(self, scope: str, prefix: str) -> Iterable[str]:
        return {name for name, _, _ in self.told if name.startswith(prefix)}


class Log(Told):
    """A state, and the records that it was fed, as forgetting reads them."""

    def __init__(self) -> None:
        super().__init__([])
        self.state = State()
        self.state.attach(self)

    def say(self, episode: str, address: str, event: Event) -> None:
        self.told.append((episode, address, event))
        self.state.feed(len(self.told), episode, address, event)

    # -- what a worker and a learner say ------------------------------------------------------------

    def ended(self, name: str, version: int = 0, *items: str) -> None:
        said = reflected(
            scope=SCOPE, problem_id=name, memory_version=version, items=items, confidence=0.5,
            confidence_source="stated", settings="0f", backbones="m",
        )  # fmt: skip
        self.say(f"p/d/{name}/r", "reflected", said)

    def graded(self, name: str, outcome: Outcome, **more: Any) -> None:
        told: dict[str, Any] = {"grader": "g@1", "by": "feedback", **more}
        said = Graded(scope=SCOPE, outcome=outcome, **told)
        self.say(f"p/d/{name}/r", f"graded.{len(self.told)}", said)

    def learns(self, *names: str, lessons: Iterable[str] = (), **more: Any) -> Memory:
        """A batch of these is closed, says these lessons, and has its version."""
        fold = self.state.memory(SCOPE)
        number = fold.latest.number + 1
        known = self.state.outcomes.outcome
        outcomes: tuple[Outcome, ...] = tuple(known(f"p/d/{name}/r") for name in names)
        members = tuple(f"p/d/{name}/r" for name in names)
        closed = BatchClosed(
            scope=SCOPE, batch=number, members=members, outcomes=outcomes, previous=number - 1,
            policy="p", policy_version="1", settings="0f", seed=1, calibration="platt-isotonic@1", **more,
        )  # fmt: skip
        episode = learning_id(SCOPE, number)
        self.say(episode, "batch", closed)
        for at, lesson in enumerate(lessons):
            said = LessonDistilled(
                id=lesson, role="a", polarity="do", text=f"text {lesson}", subject=f"d/{lesson}",
                evidence=members, source="3", vector=VECTOR,
            )  # fmt: skip
            self.say(episode, str(at), said)
        memory = fold.following(fold.learned(closed), number, 1, closed)
        version = MemoryVersioned(scope=SCOPE, number=number, live_from=1, state=memory.state())
        self.say(episode, "version", version)
        return fold.latest


def begun() -> Log:
    """Two problems were solved, and one lesson was learned of each."""
    log = Log()
    for name in "xy":
        log.ended(name)
    log.learns("x", "y", lessons="xy")
    return log
