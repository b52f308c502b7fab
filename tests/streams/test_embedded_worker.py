"""The law of learning on the embedded log: one worker or twenty tasks, crashes or none, one outcome.

A small learner stands for every policy: it recalls lessons, asks in two lanes, and learns from labels
in batches of three, of which two stay live.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.limits import Reservation
from handlers.policies.base import Batch, Conclusion, Policy, Task, Trace
from schemas.asking import All, Ask, Steps, Stopped
from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import Completed, EpisodeOpened
from schemas.events.learning import (
    BatchClosed,
    KnowledgeConsolidated,
    LessonDistilled,
    MemoryVersioned,
    PositionVoided,
    Reflected,
    SeriesOpened,
)
from schemas.events.reasoning import KnowledgeReached, Voted
from schemas.identity import digest, hash01
from schemas.problem import Feedback, Problem
from schemas.prompt import Section, Template
from schemas.questions import Complete, Embed, Recall
from schemas.record import Record
from schemas.reply import Reply
from schemas.settings import PolicySettings
from state.journal import Crashed
from streams.backbones.port import ModelReply, ModelRequest, Tried, Unreachable
from streams.drive import Run
from streams.embedders.hashed import HashedEmbedder
from streams.replay.digest import log_digest
from streams.replay.verify import Verifier
from streams.runtime.embedded.intake import episode_of, scope_of
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.embedded.worker import Outcome, Worker
from streams.world import World
from tests.normal import spelled_otherwise

WINDOW, LIVE, SIZE = 3, 2, 8
TEMPLATE = Template("pupil", "Answer.", (Section("Problem", "problem"),), Reply(()))


class PupilSettings(PolicySettings):
    """No settings."""


def say(text: str, draw: int = 0) -> Complete:
    return Complete("pupil", TEMPLATE, (("problem", text),), draw=draw)


def solve(task: Task, given: PupilSettings) -> Steps[Conclusion]:
    known = yield from Recall(task.problem, ("pupil",), 2, exclude=task.subject)
    shown = [item.text for item in known.items]
    replies = yield from All(say(f"{task.problem} {shown}", draw) for draw in range(2))
    votes = [reply.text for reply in replies if not isinstance(reply, Stopped)]
    items = tuple(item.id for item in known.items)
    yield KnowledgeReached(
        round=0, role="pupil", source="0", result="composed", bullets=0, items=items
    )
    yield Voted(answer=votes[0], votes=1, of=2)
    return Conclusion(answer=votes[0], ended_by="vote")


def reflect(trace: Trace, conclusion: Conclusion, given: PupilSettings) -> dict[str, Any]:
    return {"calls": sum(isinstance(event, Completed) for _, event in trace.events)}


def learn(batch: Batch, given: PupilSettings) -> Steps[None]:
    replies = yield from All(say(f"{m.outcome} {m.reflected.problem}") for m in batch.members)
    texts: list[str] = []
    for number, (member, reply) in enumerate(zip(batch.members, replies, strict=True)):
        text = "" if isinstance(reply, Stopped) else reply.text
        yield LessonDistilled(
            id=f"L{batch.number}.{number}",
            role="pupil",
            polarity="do",
            text=f"{text} {member.outcome}",
            subject=f"d/{member.reflected.problem_id}",
            evidence=(member.episode,),
            source="0",
        )
        texts.append(text)
    yield from Embed(tuple(texts))
    rules = ((f"R{batch.number}", f"{len(batch.memory.items)} were known"),)
    yield KnowledgeConsolidated(role="pupil", rules=rules, result="consolidated")


PUPIL = Policy(
    name="pupil",
    version="1",
    about="a small learner",
    settings=PupilSettings,
    solve=solve,
    learns="labels",
    reflect=reflect,
    learn=learn,
    window=lambda given, size: WINDOW,
    live_batches=lambda given: LIVE,
)


def find(name: str) -> Policy[Any]:
    return PUPIL


@dataclass
class Numbers:
    """A model that answers by prompt and draw, after a number of turns of the loop that was drawn."""

    delays: Iterator[int]
    name: str = "numbers"
    simulated: bool = True
    silent_on: str | None = None
    """What a prompt says that is never answered."""
    answered: int = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        if self.silent_on is not None and self.silent_on in request.messages[-1][1]:
            raise Unreachable("here", "it hurts", Tried(attempts=1, answered=self.answered))
        self.answered += 1
        for _ in range(next(self.delays)):
            await asyncio.sleep(0)
        lucky = hash01("numbers", request.messages, request.draw)
        return ModelReply(
            text=str(int(lucky * 3)),
            finish="stop",
            model="numbers",
            prompt_tokens=3,
            completion_tokens=1,
            seconds=lucky,
        )

    async def close(self) -> None:
        pass


class Asking(World):
    """A world that is never asked what is on record."""

    def __init__(self, log: SqliteLog, delays: list[int]) -> None:
        super().__init__({"*": Numbers(cycle(delays))}, HashedEmbedder(16))
        self.log, self.asked = log, Counter[tuple[str, str]]()

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        assert self.log.find(run.episode, address) is None, "a recorded answer was asked for again"
        self.asked[run.episode, address] += 1
        return await super().answer(run, question, asked, address, reserved)


class Dying(Writer):
    """A writer whose process dies at its n-th append; what was not yet committed is lost."""

    left = -1

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        if self.left == 0:
            raise Crashed
        self.left -= 1
        super().state(topic, episode, address, event)

    def flush(self) -> None:
        if self.left == 0:
            self.rows.clear()
            self.sent.clear()
            self.positions.clear()
        super().flush()


@dataclass
class Fragile(SqliteLog):
    """A log whose writers die; ``meanwhile`` is published between two reads of the next worker."""

    left: int = -1
    meanwhile: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        super().__init__(":memory:", create=True)
        self.reads = 0

    def claim(self, worker: str, partition: int = 0) -> Writer:
        made = super().claim(worker, partition)
        writer = Dying(self, made.partition, made.epoch)
        writer.left = self.left
        return writer

    def records(self, topic: str | None = None, **given: Any) -> Iterator[Record]:
        yield from super().records(topic, **given)
        self.reads += 1
        if self.reads > 1:  # the first reads what was there at the start
            self._meanwhile()

    def messages(
        self, topic: str, after: int = 0, limit: int = -1
    ) -> Iterator[tuple[int, str, dict[str, Any], bytes]]:
        yield from super().messages(topic, after, limit)
        if topic == "problems":
            self._meanwhile()

    def _meanwhile(self) -> None:
        while self.meanwhile:
            self.publish(*self.meanwhile.pop())


def problems(labelled: bool = True, size: int = SIZE) -> list[Problem]:
    return [
        Problem(
            id=str(n),
            problem=f"problem {n} of {n % 4}",
            domain="d",
            policy="pupil",
            series="s",
            position=n,
            labelled=labelled and n % 3 != 1,
        )
        for n in range(size)
    ]


def publication(
    given: list[Problem], voids: tuple[int, ...] = (), size: int = SIZE
) -> tuple[list[tuple[str, str, dict[str, Any], bytes]], list[tuple[str, str, Event]]]:
    """What ``produce`` appends in one commit."""
    scope = scope_of(PUPIL, given[0])
    messages: list[tuple[str, str, dict[str, Any], bytes]] = []
    for problem in given:
        if problem.labelled:
            label = Feedback(domain="d", problem_id=problem.id, reference="1", by="source")
            body = label.model_dump_json(exclude_none=True).encode()
            messages.append(("feedback", digest(problem.id), {}, body))
        value = problem.model_dump_json().encode()
        messages.append(("problems", episode_of(problem, "pupil"), {}, value))
    opened = SeriesOpened(
        scope=scope,
        series="s",
        size=size,
        window=WINDOW,
        timing="barrier",
        policy="pupil",
        policy_version="1",
        profile="service",
        settings={},
        seed=0,
        walk=1,
    )
    commands: list[tuple[str, str, Event]] = [(f"n/{scope}/s", "series", opened)]
    for at in voids:
        void = PositionVoided(scope=scope, series="s", position=at, reason="refused")
        commands.append((f"n/{scope}/s", f"void.{at}", void))
    return messages, commands


def work(log: SqliteLog, delays: list[int], concurrency: int = 20, *, settle: bool = False) -> Any:
    """One life of a worker, to its end or its crash."""
    worker = Worker(
        log, Asking(log, delays), find, default_policy="pupil", max_concurrency=concurrency
    )
    try:
        return asyncio.run(worker.run(until_idle=True, settle=settle))
    except Crashed as crash:
        return crash


def new_log(left: int = -1, *, labelled: bool = True) -> Fragile:
    log = Fragile(left)
    log.publish(*publication(problems(labelled)))
    return log


def meant(log: SqliteLog) -> tuple[str, str]:
    """The digests of what was said and of what was learned."""
    verifier = Verifier(log, find)
    verified = verifier.run()
    assert not verified.diverged, verified.diverged
    assert not verified.unverifiable
    assert spelled_otherwise(log) == []
    return log_digest(log), verifier.learner.state_hash()


def closed(log: SqliteLog, delays: list[int], concurrency: int = 20) -> tuple[str, str]:
    assert work(log, delays, concurrency) == Outcome()
    assert log.counter("repeated") == log.counter("stale") == 0
    return meant(log)


@pytest.fixture(scope="module")
def whole() -> tuple[str, str]:
    with closing(new_log()) as log:
        return closed(log, [0])


def test_three_batches_are_closed_and_learned_from() -> None:
    with closing(new_log()) as log:
        closed(log, [0])
        batches = [r.event for r in log.records(kinds=["batch.closed"])]
        versions = [r.event for r in log.records(kinds=["memory.versioned"])]
        assert [len(b.members) for b in batches if isinstance(b, BatchClosed)] == [3, 3, 2]
        assert [v.number for v in versions if isinstance(v, MemoryVersioned)] == [1, 2, 3]
        outcomes = {o for b in batches if isinstance(b, BatchClosed) for o in b.outcomes}
        assert outcomes == {"right", "wrong", "unknown"}


DELAYS = st.lists(st.integers(0, 7), min_size=1, max_size=9)


@given(DELAYS, st.integers(1, 20))
@settings(max_examples=25)
def test_any_completion_order_and_concurrency_means_the_same(
    whole: tuple[str, str], delays: list[int], concurrency: int
) -> None:
    with closing(new_log()) as log:
        assert closed(log, delays, concurrency) == whole


def test_a_crash_after_any_record_means_the_same(whole: tuple[str, str]) -> None:
    with closing(new_log()) as log:
        closed(log, [0])
        records = log.end()
    for left in range(records):
        with closing(new_log(left)) as log:
            crash = work(log, [left % 5, 0, left % 3])
            log.left = -1
            assert isinstance(crash, Crashed) or left >= records - 3
            assert closed(log, [1, 0]) == whole, left


@given(st.lists(st.integers(1, 40), min_size=2, max_size=12), DELAYS)
@settings(max_examples=15)
def test_many_crashes_mean_the_same(
    whole: tuple[str, str], lives: list[int], delays: list[int]
) -> None:
    with closing(new_log()) as log:
        for left in lives:
            log.left = left
            work(log, delays)
        log.left = -1
        assert closed(log, delays) == whole


@pytest.mark.parametrize("left", range(0, 60, 7))
def test_the_record_of_a_crashed_worker_verifies(left: int) -> None:
    """Open episodes too: verification finds nothing to object to at any moment."""
    with closing(new_log(left)) as log:
        work(log, [2, 0, 3])
        meant(log)


def opened_with(log: SqliteLog) -> dict[int, int]:
    """The memory version that each position's episode pinned."""
    names = {episode_of(problem, "pupil"): problem.position or 0 for problem in problems()}
    return {
        names[record.episode]: record.event.memory_version
        for record in log.records(kinds=["episode.opened"])
        if isinstance(record.event, EpisodeOpened) and record.episode in names
    }


@given(DELAYS, st.integers(1, 20))
@settings(max_examples=10)
def test_no_episode_opens_before_its_version(delays: list[int], concurrency: int) -> None:
    with closing(new_log()) as log:
        closed(log, delays, concurrency)
        assert opened_with(log) == {at: at // WINDOW for at in range(SIZE)}


def test_a_series_that_is_produced_while_a_worker_looks_is_seen_before_its_problems(
    whole: tuple[str, str],
) -> None:
    """``produce`` commits between the worker's two reads: the problems must not run without order."""
    with closing(Fragile()) as log:
        log.meanwhile = [publication(problems())]
        work(log, [0])
        work(log, [0])
        assert opened_with(log) == {at: at // WINDOW for at in range(SIZE)}
        assert meant(log) == whole


def test_positions_that_never_arrive_are_voided_when_told_to_settle() -> None:
    with closing(Fragile()) as log:
        missing = [problem for problem in problems() if problem.position not in (1, 5)]
        log.publish(*publication(missing))
        held = work(log, [0])
        assert isinstance(held, Outcome)
        assert held.held
        assert work(log, [0], settle=True) == Outcome()
        meant(log)
        batches = [r.event for r in log.records(kinds=["batch.closed"])]
        assert [len(b.members) for b in batches if isinstance(b, BatchClosed)] == [2, 2, 2]


def test_two_problems_in_one_place_are_both_learned_from() -> None:
    with closing(Fragile()) as log:
        given = problems(labelled=False)
        twin = given[4].model_copy(update={"id": "twin"})
        log.publish(*publication([*given, twin]))
        work(log, [0], settle=True)
        meant(log)
        batches = [r.event for r in log.records(kinds=["batch.closed"])]
        members = [m for b in batches if isinstance(b, BatchClosed) for m in b.members]
        reflected = [r.episode for r in log.records("learning") if isinstance(r.event, Reflected)]
        assert sorted(members) == sorted(reflected)
        assert len(members) == SIZE + 1


def test_a_defect_in_a_reflection_is_the_episodes_and_not_the_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One policy's own bug must not stop a queue; nor may it come back at each restart."""

    def broken(trace: Trace, conclusion: Conclusion, given: PupilSettings) -> dict[str, Any]:
        raise ZeroDivisionError("reflect")

    monkeypatch.setattr("tests.streams.test_embedded_worker.PUPIL", _with(reflect=broken))
    with closing(new_log()) as log:
        work(log, [0])
        assert len(list(log.records("events", kinds=["episode.closed"]))) == SIZE


def _with(**changed: Any) -> Policy[Any]:
    from dataclasses import replace

    return replace(PUPIL, **changed)
