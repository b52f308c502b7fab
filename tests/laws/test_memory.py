"""Laws of memory versions: the same from nothing, step by step, and after any interruption."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import dataclass

import orjson
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import convert, structs

from handlers.limits import Ledger
from handlers.policies.registry import POLICIES
from schemas.asking import All, Steps
from schemas.events.base import Event
from schemas.events.codec import decode, encode
from schemas.events.episode import Embedded
from schemas.events.learning import (
    BatchClosed,
    Graded,
    KnowledgeConsolidated,
    LessonDistilled,
    LessonDropped,
    MemoryVersioned,
)
from schemas.identity import digest, learning_id
from schemas.memory import Memory
from schemas.questions import Complete, Embed
from schemas.vectors import pack
from state.folds.memory import Learned, MemoryFold, MemoryMismatch, next_memory
from state.journal import MemoryRecorder
from streams.core.drive import Run, drive
from streams.engine.learner import Learner
from tests.laws.programs import TEMPLATE
from tests.laws.series import opened, reflected
from tests.laws.worlds import MEMORY, Paced

SCOPE = "d/mc2/main/0"
ROLES = ("reasoner", "monitor")
TEXT = st.text(max_size=6)
Said = tuple[str, str, Event]
"""Episode, address, event."""


def lesson(name: str, role: str, text: str) -> LessonDistilled:
    return LessonDistilled(
        id=name, role=role, polarity="do", text=text, subject="d/x", evidence=("e",), source="0"
    )


@dataclass(frozen=True)
class Taught:
    """What one batch teaches: lessons by role, how many of them are embedded, rules of some roles."""

    lessons: tuple[tuple[str, str], ...]
    embedded: int
    rules: tuple[tuple[str, tuple[str, ...]], ...]
    dropped: bool

    def events(self, number: int) -> list[Event]:
        said: list[Event] = [
            lesson(f"L{number}.{n}", role, text) for n, (role, text) in enumerate(self.lessons)
        ]
        if self.dropped:
            said.append(LessonDropped(role="monitor", reason="unreadable", evidence=()))
        vectors = tuple(pack((float(number), float(n))) for n in range(self.embedded))
        said.append(Embedded(asked="Embed x", embedder="h", dimensions=2, vectors=vectors))
        for role, texts in self.rules:
            rules = tuple((f"R{number}.{n}", text) for n, text in enumerate(texts))
            said.append(KnowledgeConsolidated(role=role, rules=rules, result="consolidated"))
        return said


TAUGHT = st.builds(
    Taught,
    st.lists(st.tuples(st.sampled_from(ROLES), TEXT), max_size=4).map(tuple),
    st.integers(0, 4),
    st.lists(
        st.tuples(st.sampled_from(ROLES), st.lists(TEXT, max_size=3).map(tuple)),
        max_size=2,
        unique_by=lambda rule: rule[0],
    ).map(tuple),
    st.booleans(),
)
HISTORIES = st.lists(TAUGHT, max_size=6)
SPANS = st.integers(1, 4)


def told(history: list[Taught], span: int) -> tuple[list[Said], list[Memory]]:
    """The records of a scope's learning episodes, and each version worked out beside the fold."""
    log: list[Said] = []
    versions = [Memory(SCOPE, 0)]
    for number, taught in enumerate(history, 1):
        episode = learning_id(SCOPE, number)
        learned = Learned()
        for at, event in enumerate(taught.events(number)):
            log.append((episode, str(at), event))
            learned.feed(str(at), event)
        live_from = max(1, number - span + 1)
        memory = next_memory(versions[-1], learned, number, live_from)
        versions.append(memory)
        said = MemoryVersioned(
            scope=SCOPE, number=number, live_from=live_from, state=memory.state()
        )
        log.append((episode, "version", said))
    return log, versions


def folded(log: list[Said]) -> MemoryFold:
    fold = MemoryFold(SCOPE)
    for episode, address, event in log:
        fold.feed(episode, address, decode(event.kind, encode(event)))
    return fold


@given(HISTORIES, SPANS)
def test_a_rebuild_from_nothing_is_what_was_worked_out_step_by_step(
    history: list[Taught], span: int
) -> None:
    log, versions = told(history, span)
    fold = folded(log)
    assert list(fold.versions.values()) == versions
    assert [m.state() for m in fold.versions.values()] == [m.state() for m in versions]
    assert fold.latest == versions[-1]


@given(HISTORIES, SPANS, st.data())
def test_a_fold_that_was_interrupted_in_the_middle_of_learning_ends_alike(
    history: list[Taught], span: int, data: st.DataObject
) -> None:
    """A restart reads the part that was recorded, and is then told the rest."""
    log, _ = told(history, span)
    assume(log)
    at = data.draw(st.integers(0, len(log)))
    restarted = folded(log[:at])
    for episode, address, event in log[at:]:
        restarted.feed(episode, address, event)
    assert restarted == folded(log)
    assert list(restarted.versions) == list(range(len(history) + 1))


@given(HISTORIES, SPANS)
def test_a_version_that_is_announced_twice_counts_once(history: list[Taught], span: int) -> None:
    log, _ = told(history, span)
    doubled = [each for said in log for each in ([said] * 2 if _versions(said) else [said])]
    assert folded(doubled).versions == folded(log).versions


def _versions(said: Said) -> bool:
    return isinstance(said[2], MemoryVersioned)


@given(HISTORIES, SPANS)
def test_a_lesson_lives_for_its_window_of_batches_exactly(history: list[Taught], span: int) -> None:
    _, versions = told(history, span)
    for number, taught in enumerate(history, 1):
        mine = {f"L{number}.{n}" for n in range(len(taught.lessons))}
        for memory in versions:
            live = {item.id for item in memory.items if item.kind == "lesson"}
            alive = number <= memory.number < number + span
            assert mine & live == (mine if alive else set())


@given(HISTORIES, SPANS)
def test_rules_are_the_newest_of_their_role(history: list[Taught], span: int) -> None:
    _, versions = told(history, span)
    newest: dict[str, list[str]] = {}
    for memory, taught in zip(versions[1:], history, strict=True):
        newest |= {role: sorted(texts) for role, texts in taught.rules}
        for role in ROLES:
            held = sorted(item.text for item in memory.of(role, "rule"))
            assert held == newest.get(role, [])


@given(HISTORIES, SPANS)
def test_each_lesson_has_the_vector_that_stands_in_its_place(
    history: list[Taught], span: int
) -> None:
    _, versions = told(history, span)
    for memory in versions[1:]:
        for item in memory.items:
            if item.kind == "lesson":
                batch, _, place = item.id.removeprefix("L").partition(".")
                known = int(place) < history[int(batch) - 1].embedded
                assert item.vector == (pack((float(batch), float(place))) if known else None)


@given(HISTORIES, SPANS, st.data())
@settings(max_examples=100)
def test_a_record_that_was_tampered_with_is_noticed_at_its_version(
    history: list[Taught], span: int, data: st.DataObject
) -> None:
    log, _ = told(history, span)
    able = [at for at, (_, _, e) in enumerate(log) if isinstance(e, LessonDistilled) or _rules(e)]
    assume(able)
    at = data.draw(st.sampled_from(able))
    episode, address, event = log[at]
    if isinstance(event, KnowledgeConsolidated):
        changed: Event = structs.replace(event, rules=(*event.rules, ("R?", "one more")))
    else:
        name = data.draw(st.sampled_from(["text", "subject", "id", "role"]))
        changed = structs.replace(event, **{name: f"{getattr(event, name)}!"})
    log[at] = (episode, address, changed)
    with pytest.raises(MemoryMismatch, match="does not add up"):
        folded(log)


def _rules(event: Event) -> bool:
    return isinstance(event, KnowledgeConsolidated) and bool(event.rules)


@given(HISTORIES, SPANS, st.data())
def test_a_lost_record_is_noticed_at_its_version(
    history: list[Taught], span: int, data: st.DataObject
) -> None:
    log, _ = told(history, span)
    able = [at for at, (_, _, e) in enumerate(log) if isinstance(e, LessonDistilled)]
    assume(able)
    del log[data.draw(st.sampled_from(able))]
    with pytest.raises(MemoryMismatch):
        folded(log)


# -- the whole of what was learned ------------------------------------------------------------------


def learning_log(history: list[Taught], outcomes: list[str], span: int) -> list[Said]:
    """A series of one scope, batch by batch, with grades."""
    series = structs.replace(opened("s", len(history), 1), scope=SCOPE, policy="mc2")
    log: list[Said] = [(f"n/{SCOPE}/s", "series", series)]
    facts, _ = told(history, span)
    for number in range(1, len(history) + 1):
        name, episode = f"p/{number}", learning_id(SCOPE, number)
        said = reflected("s", number - 1, labelled=False)
        told_of = structs.replace(said, scope=SCOPE, policy="mc2@1")
        log.append((name, "reflected", told_of))
        if outcomes:
            outcome = outcomes[number % len(outcomes)]
            fields = {"scope": SCOPE, "outcome": outcome, "grader": "g@1", "by": "feedback"}
            log.append((name, "graded.0", convert(fields, Graded)))
        closing = BatchClosed(
            scope=SCOPE,
            batch=number,
            series="s",
            members=(name,),
            outcomes=("unknown",),
            previous=number - 1,
            policy="mc2",
            policy_version="1",
            settings="x",
            seed=1,
        )
        log.append((episode, "batch", closing))
        log.extend(said for said in facts if said[0] == episode)
    return log


OUTCOMES = st.lists(st.sampled_from(["right", "wrong", "unknown"]), max_size=3)
HASH = """
import sys, orjson
from handlers.policies.registry import POLICIES
from schemas.events.codec import decode
from streams.engine.learner import Learner
learner = Learner(lambda name: POLICIES[name])
for episode, address, kind, body in orjson.loads(sys.stdin.buffer.read()):
    learner.feed(episode, address, decode(kind, body))
print(learner.state_hash())
"""


def learner_of(log: list[Said]) -> Learner:
    learner = Learner(lambda name: POLICIES[name])
    for episode, address, event in log:
        learner.feed(episode, address, event)
    return learner


@given(HISTORIES, OUTCOMES, SPANS, st.data())
@settings(max_examples=30)
def test_the_state_hash_follows_from_what_was_recorded(
    history: list[Taught], outcomes: list[str], span: int, data: st.DataObject
) -> None:
    log = learning_log(history, outcomes, span)
    learner = learner_of(log)
    read = [(name, at, decode(event.kind, encode(event))) for name, at, event in log]
    assert learner_of(read).state_hash() == learner.state_hash()
    if history:
        fewer = log[: data.draw(st.integers(0, len(log) - 1))]
        if any(_versions(said) for said in log[len(fewer) :]):
            assert learner_of(fewer).state_hash() != learner.state_hash()


@pytest.mark.slow
def test_the_state_hash_is_the_same_in_processes_with_other_hash_seeds() -> None:
    taught = Taught(
        (("monitor", "b"), ("reasoner", "a"), ("reasoner", "\U0001f600")),
        2,
        (("reasoner", ("z", "y")), ("monitor", ("x",))),
        True,
    )
    log = learning_log([taught] * 5, ["right", "wrong", "unknown"], 2)
    body = orjson.dumps([[name, at, e.kind, encode(e).decode()] for name, at, e in log])
    printed = {
        subprocess.run(
            [sys.executable, "-c", HASH],
            input=body,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout.decode()
        for seed in ("1", "2", "77")
    }
    assert printed == {learner_of(log).state_hash() + "\n"}


# -- what is stated in lanes ------------------------------------------------------------------------


class Heard(MemoryRecorder):
    """A recorder that tells a fold what a learning episode says, as the worker's does."""

    def __init__(self, learned: Learned) -> None:
        super().__init__()
        self.learned = learned

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        super().state(topic, episode, address, event)
        self.learned.feed(address, event)


def in_lanes(lanes: int) -> Steps[None]:
    """A learner that states and embeds a lesson in each lane, as soon as it has it."""

    def one(lane: int) -> Steps[None]:
        reply = yield from Complete("distiller", TEMPLATE, (("seen", str(lane)),))
        yield lesson(f"L1.{lane}", "reasoner", reply.text)
        yield from Embed((reply.text,))

    yield from All(one(lane) for lane in range(lanes))


def memory_after(order: list[int]) -> Memory:
    learned = Learned()
    world = Paced(order)
    run = Run(learning_id(SCOPE, 1), {}, 7, MEMORY, "learning", Heard(learned), world)

    async def learn() -> None:
        task = asyncio.create_task(drive(in_lanes(3), run, Ledger()))
        while not task.done():
            await asyncio.sleep(0)
            world.release()
        await task

    asyncio.run(learn())
    return next_memory(Memory(SCOPE, 0), learned, 1, 1)


def test_lessons_stated_in_lanes_make_one_memory_whatever_order_the_lanes_end_in() -> None:
    orders = [[0, 0], [1, 2, 0], [2, 1, 1, 0], [0, 2, 1, 1, 0]]
    assert len({digest(memory_after(order).state()) for order in orders}) == 1
