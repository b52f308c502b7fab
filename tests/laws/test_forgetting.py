"""Law: where no model call is involved, forgetting a problem ends where a log without it ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert

from handlers.learning.calibrate import RULE
from handlers.policies.registry import find
from schemas.events.base import Event
from schemas.events.codec import decode, encode
from schemas.events.learning import (
    BatchClosed,
    Graded,
    LessonDistilled,
    MemoryVersioned,
    ProblemForgotten,
    Reflected,
)
from schemas.identity import episode_id, learning_id
from schemas.memory import FIRST_RULE, Memory
from schemas.outcome import Outcome
from schemas.usage import Usage
from state.folds.state import State
from state.snapshot import Snapshots
from streams.engine.learner import Learner
from tests.scripted import run

POLICY = find("mgv_flavell")
SETTINGS = POLICY.settings.resolve("service", {})
SCOPE = "d/mgv_flavell/main/0"
GONE = "p0"
SPAN = 3


@dataclass(frozen=True)
class Ran:
    """One member of a batch: which problem, how it went, and what it had in its prompts."""

    problem: str
    outcome: Outcome
    confidence: float | None
    teaches: bool
    uses: tuple[int, ...]
    regraded: str | None
    again: bool = False
    """Whether it teaches what others teach too."""


RUNS = st.builds(
    Ran,
    st.sampled_from(["p0", "p1", "p2", "p3"]),
    st.sampled_from(["right", "wrong", "unknown"]),
    st.none() | st.sampled_from([0.2, 0.5, 0.9]),
    st.booleans(),
    st.lists(st.integers(0, 5), max_size=3, unique=True).map(tuple),
    st.none() | st.sampled_from(["right", "wrong", "unknown"]),
    st.booleans(),
)
HISTORIES = st.lists(st.lists(RUNS, min_size=1, max_size=4), min_size=1, max_size=5)


@dataclass
class Log:
    """A log in memory, with its state; versions are stated as they come out."""

    records: dict[tuple[str, str], Event] = field(default_factory=dict[tuple[str, str], Event])
    state: State = field(default_factory=State)
    scope: str = SCOPE
    span: int | None = SPAN
    """Batches whose lessons are live; none: all."""

    def __post_init__(self) -> None:
        self.state.attach(self)

    def say(self, episode: str, address: str, event: Event) -> None:
        self.records[episode, address] = event
        self.state.feed(len(self.records), episode, address, event)

    def find(self, episode: str, address: str) -> Event | None:
        return self.records.get((episode, address))

    def journal(self, episode: str) -> Mapping[str, Event]:
        return {at: event for (name, at), event in self.records.items() if name == episode}

    def episodes(self, scope: str, prefix: str) -> Iterable[str]:
        named = ((name, event) for (name, _), event in self.records.items())
        return {n for n, e in named if n.startswith(prefix) and getattr(e, "scope", "") == scope}

    def version(self, closed: BatchClosed) -> None:
        """State the version of a closed batch, as the folds have it."""
        fold = self.state.memory(self.scope)
        live_from = 1 if self.span is None else max(1, closed.batch - self.span + 1)
        memory = fold.following(fold.learned(closed), closed.batch, live_from, closed)
        event = MemoryVersioned(
            scope=self.scope,
            number=closed.batch,
            revision=closed.revision,
            live_from=live_from,
            state=memory.state(),
        )
        self.say(learning_id(self.scope, closed.batch, closed.revision), "version", event)

    def batch(self, number: int, members: Sequence[tuple[str, Ran]], held: list[str]) -> None:
        """Episodes, grades, lessons and the version of one batch."""
        memory = self.state.memory(SCOPE).latest
        for name, ran in members:
            self.say(name, "reflected", reflected(ran, memory, held))
            self.say(name, "graded.0", graded(ran.outcome, "checker"))
        episode = learning_id(SCOPE, number)
        closed = closing(number, members)
        self.say(episode, "batch", closed)
        for name, ran in members:
            if ran.teaches:
                lesson = taught(number, name, ran)
                self.say(episode, str(len(self.journal(episode)) - 1), lesson)
        self.version(closed)
        for name, ran in members:
            if ran.regraded is not None:
                self.say(name, "graded.1", graded(ran.regraded, "feedback"))


def reflected(ran: Ran, memory: Memory, held: list[str]) -> Reflected:
    return Reflected(
        scope=SCOPE,
        policy="mgv_flavell@1",
        problem_id=ran.problem,
        domain="d",
        problem=f"text of {ran.problem}",
        problem_digest=ran.problem,
        profile="service",
        learning={},
        labelled=False,
        status="answered",
        answer="1",
        confidence=ran.confidence,
        confidence_source=None if ran.confidence is None else "stated",
        usage=Usage(calls=2),
        items=tuple(dict.fromkeys(held[at] for at in ran.uses if at < len(held))),
        memory_version=memory.number,
        settings="s",
        backbones="m",
        summary={"class": "c", "confidence": ran.confidence},
    )


def graded(outcome: str, by: str) -> Graded:
    fields = {"scope": SCOPE, "outcome": outcome, "grader": "g@1", "by": by}
    return convert(fields, Graded)


def closing(number: int, members: Sequence[tuple[str, Ran]]) -> BatchClosed:
    return BatchClosed(
        scope=SCOPE,
        batch=number,
        members=tuple(name for name, _ in members),
        outcomes=tuple(ran.outcome for _, ran in members),
        previous=number - 1,
        policy=POLICY.name,
        policy_version=POLICY.version,
        settings="s",
        rule=POLICY.rule,
        constants=POLICY.rule_constants(SETTINGS),
        retirement="opportunities@2",
        # A build with another rule may have taken over in between.
        calibration=RULE if number % 2 else FIRST_RULE,
        seed=1,
    )


def taught(number: int, name: str, ran: Ran) -> LessonDistilled:
    return LessonDistilled(
        id=f"L{number}.{name}",
        role="solver",
        polarity="do",
        text="what many teach" if ran.again else f"from {name}",
        subject=f"d/{ran.problem}",
        evidence=(name,),
        source="0",
    )


def named(number: int, at: int, ran: Ran) -> tuple[str, Ran]:
    return f"{episode_id('d', ran.problem, '')}{number}-{at}", ran


def held(history: Sequence[Sequence[Ran]], number: int) -> list[str]:
    """Lessons that prompts of a batch may have had; some of a forgotten problem."""
    return [
        f"L{batch}.{name}"
        for batch in range(max(1, number - SPAN), number)
        for name, ran in (named(batch, at, ran) for at, ran in enumerate(history[batch - 1]))
        if ran.teaches
    ]


def without(history: Sequence[Sequence[Ran]]) -> Log:
    """The log of a world in which nobody ever asked that problem."""
    log = Log()
    for number, batch in enumerate(history, 1):
        members = [named(number, at, ran) for at, ran in enumerate(batch)]
        left = [(name, ran) for name, ran in members if ran.problem != GONE]
        log.batch(number, left, held(history, number))
    return log


def forgotten(history: Sequence[Sequence[Ran]], after: int) -> Log:
    """The log in which it was asked, and forgotten after so many batches."""
    log = Log()
    for number, batch in enumerate(history, 1):
        members = [named(number, at, ran) for at, ran in enumerate(batch)]
        if number > after:
            members = [(name, ran) for name, ran in members if ran.problem != GONE]
        log.batch(number, members, held(history, number))
        if number == after:
            forget(log)
    return log


def forget(log: Log, problem: str = GONE) -> None:
    """What the command says, and what the learner and the policy make of it."""
    learner = Learner(find, log)
    for (episode, address), event in list(log.records.items()):
        learner.feed(episode, address, event)

    def say(episode: str, address: str, event: Event) -> None:
        log.say(episode, address, event)
        learner.feed(episode, address, event)

    event = ProblemForgotten(scope=log.scope, domain="d", problem_id=problem)
    say(f"n/{log.scope}/-", f"forgotten.{problem}", event)
    scope = learner.scopes[log.scope]
    assert bool(scope.memory.forgetting.owed) == (scope.window.version_for(None, None) is None)
    while (due := scope.window.due()) is not None:
        closed = learner.batch_closed(scope, due, event.limits)
        episode = learning_id(log.scope, closed.batch, closed.revision)
        say(episode, "batch", closed)
        memory = scope.memory.versions[closed.previous]
        for address, fact in run(learner.steps(scope, closed), (), memory=memory).events:
            say(episode, address, fact)
        log.version(closed)
        learner.feed(episode, "version", log.records[episode, "version"])
    assert not scope.memory.forgetting.owed


def meant(memory: Memory) -> list[Any]:
    return [memory.number, memory.items, memory.learned, memory.aside, memory.standing]


@given(HISTORIES, st.integers(1, 5))
@settings(max_examples=60)
def test_forgetting_ends_where_a_log_without_the_problem_ends(
    history: list[list[Ran]], after: int
) -> None:
    log, other = forgotten(history, min(after, len(history))), without(history)
    mine, theirs = log.state.memory(SCOPE).versions, other.state.memory(SCOPE).versions
    assert [meant(memory) for memory in mine.values()] == [meant(m) for m in theirs.values()]
    assert [memory.state() for memory in mine.values()] == [m.state() for m in theirs.values()]
    assert log.state.hash() == other.state.hash()
    for life in log.state.lives.known.values():
        assert not (life.withdrawn and life.item.text)
        assert life.withdrawn == (life.item.text == "")


@given(HISTORIES, st.data())
@settings(max_examples=40)
def test_a_state_that_was_interrupted_while_forgetting_ends_alike(
    history: list[list[Ran]], data: st.DataObject
) -> None:
    log = forgotten(history, len(history))
    records = [(*place, event) for place, event in log.records.items()]
    at = data.draw(st.integers(0, len(records)))
    with TemporaryDirectory() as folder:
        kept = Snapshots(Path(folder) / "s.db", "log")
        kept.save(fed(kept.load(), log, records[:at]))
        again = Snapshots(kept.path, "log").load()
    assert again.hash() == fed(State(), log, records[:at]).hash()
    assert fed(again, log, records[at:]).hash() == log.state.hash()


def fed(state: State, log: Log, records: Sequence[tuple[str, str, Event]]) -> State:
    state.attach(log)
    for episode, address, event in records:
        read = decode(event.kind, encode(event))
        state.feed(state.offset + 1, episode, address, read)
    return state


@given(HISTORIES)
@settings(max_examples=40)
def test_finished_episodes_find_the_version_that_they_named(history: list[list[Ran]]) -> None:
    versions = forgotten(history, len(history)).state.memory(SCOPE).versions
    before = forgotten(history, 99).state.memory(SCOPE).versions
    assert [versions.pinned(number, None) for number in before] == list(before.values())
    touched = [n for n, batch in enumerate(history, 1) if any(r.problem == GONE for r in batch)]
    first = min(touched, default=len(history) + 1)
    assert all(versions[n].revision == (1 if n >= first else 0) for n in versions)
