"""The runner over a store in memory: the smallest log that an episode can be worked on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.base import Policy
from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import (
    Completed,
    EpisodeClosed,
    EpisodeOpened,
    EpisodeParked,
    ProblemAdmitted,
)
from schemas.memory import Memory
from schemas.problem import Problem
from state.journal import Crashed, MemoryRecorder
from streams.answering.backbones.rehearsal.backbone import Rehearsal
from streams.answering.budgets import OutOfBudget
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import SetupBroken, Stuck
from streams.core.closing import Closing
from streams.core.drive import Run, Waiting
from streams.core.grants import Terms
from streams.engine.policies import NoPolicy, find
from streams.engine.running import parking, run_episode, run_set
from streams.runtime.embedded.intake import episode_of, scope_of

BLANK: Mapping[int, Memory] = {0: Memory("-", 0)}


class MemoryStore:
    """Implements ``streams.engine.running.EpisodeStore``."""

    room = None

    def __init__(
        self, policy: str, world: Any, log: MemoryRecorder, purpose: str | None = None
    ) -> None:
        self.name, self.world, self.writer, self.purpose = policy, world, log, purpose
        self.waited: list[tuple[str, Waiting]] = []
        self.parked: dict[str, EpisodeParked] = {}
        self.ends: dict[str, Closing] = {}
        self.were_fresh: list[bool] = []
        self.left: list[str] = []

    def journal(self, episode: str) -> dict[str, Event]:
        return self.writer.journal(episode)

    def policy(self, admitted: ProblemAdmitted) -> Policy[Any]:
        return find(self.name)

    def terms(self, chosen: str | None) -> Terms:
        return Terms("rehearsal (SIMULATED)")

    def memories(self, scope: str) -> Mapping[int, Memory]:
        return BLANK

    def wait(self, episode: str, run: Run | None, why: Waiting) -> None:
        self.waited.append((episode, why))

    def leave(self, episode: str) -> None:
        self.left.append(episode)

    async def park(self, episode: str, error: Exception, journal: dict[str, Event]) -> None:
        at, self.parked[episode] = parking(error, journal)
        self.writer.state("events", episode, at, self.parked[episode])

    async def close(self, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        for episode, end in ends:
            self.writer.state("events", episode, "closed", end.closed)
            self.ends[episode] = end
            self.were_fresh.append(fresh)


class Saying:
    """A world that raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def answer(self, *_: object) -> AnswerEvent:
        raise self.error


def rehearsed() -> World:
    return World({"*": Rehearsal()}, HashedEmbedder(), patient=False)


def put(log: MemoryRecorder, policy: str, text: str = "4 4 10 10") -> str:
    """Admit a problem; the name of its episode."""
    problem = Problem(id=f"p-{text}", problem=text, domain="game24", policy=policy)
    admitted = ProblemAdmitted(problem=problem, scope=scope_of(find(policy), problem), offset=0)
    episode = episode_of(problem, policy)
    log.state("events", episode, "admitted", admitted)
    return episode


def ended(policy: str) -> tuple[MemoryRecorder, str]:
    """The log of an episode that nothing disturbed."""
    log = MemoryRecorder()
    episode = put(log, policy)
    asyncio.run(run_episode(MemoryStore(policy, rehearsed(), log), episode))
    return log, episode


@given(policy=st.sampled_from(["cot", "mc2", "cot2_meta"]), stops=st.lists(st.integers(1, 12)))
def test_wherever_its_log_stops_an_episode_ends_alike_and_no_record_is_made_twice(
    policy: str, stops: list[int]
) -> None:
    whole, episode = ended(policy)
    log = MemoryRecorder()
    put(log, policy)
    for more in stops:
        log.stop_after = len(log.records) + more
        with suppress(Crashed):
            if "closed" not in log.journal(episode):
                asyncio.run(run_episode(MemoryStore(policy, rehearsed(), log), episode))
    log.stop_after = None
    if "closed" not in log.journal(episode):
        asyncio.run(run_episode(MemoryStore(policy, rehearsed(), log), episode))
    assert log.journal(episode) == whole.journal(episode)
    assert log.repeated == 0


def test_an_opening_names_the_purpose_of_its_store_and_its_settings_are_kept() -> None:
    log = MemoryRecorder()
    episode = put(log, "cot")
    asyncio.run(run_episode(MemoryStore("cot", rehearsed(), log, purpose="solve"), episode))
    opened = log.journal(episode)["opened"]
    assert isinstance(opened, EpisodeOpened)
    assert opened.purpose == "solve"
    assert opened.settings in log.texts


def test_a_store_is_told_whether_an_episode_was_opened_in_this_run() -> None:
    whole, episode = ended("cot")
    log = MemoryRecorder(stop_after=2)
    put(log, "cot")
    with suppress(Crashed):
        asyncio.run(run_episode(MemoryStore("cot", rehearsed(), log), episode))
    assert list(log.journal(episode)) == ["admitted", "opened"]
    log.stop_after = None
    again = MemoryStore("cot", rehearsed(), log)
    asyncio.run(run_episode(again, episode))
    assert again.were_fresh == [False]
    fresh = MemoryStore("cot", rehearsed(), other := MemoryRecorder())
    asyncio.run(run_episode(fresh, put(other, "cot")))
    assert fresh.were_fresh == [True]
    assert whole.journal(episode) == log.journal(episode)


@pytest.mark.parametrize("why", [Waiting("for a person"), OutOfBudget("spent")])
def test_who_waits_stays_open(why: Waiting) -> None:
    log = MemoryRecorder()
    episode = put(log, "cot")
    store = MemoryStore("cot", Saying(why), log)
    asyncio.run(run_episode(store, episode))
    assert store.waited == [(episode, why)]
    assert not store.ends
    assert not store.parked
    assert list(log.journal(episode)) == ["admitted", "opened"]


def test_who_cannot_go_on_is_parked_each_time_at_an_address_of_its_own() -> None:
    log = MemoryRecorder()
    episode = put(log, "cot")
    for _ in range(2):
        asyncio.run(run_episode(MemoryStore("cot", Saying(Stuck("no reply fits")), log), episode))
    parked = {at: e for at, e in log.journal(episode).items() if isinstance(e, EpisodeParked)}
    assert list(parked) == ["parked.0", "parked.1"]
    assert {each.reason for each in parked.values()} == {"Stuck: no reply fits"}


def test_an_episode_of_a_policy_that_is_not_here_is_parked_and_never_opened() -> None:
    log = MemoryRecorder()
    episode = put(log, "cot")
    store = MemoryStore("nobody", rehearsed(), log)
    asyncio.run(run_episode(store, episode))
    assert store.parked[episode].reason.startswith(NoPolicy.__name__)
    assert "opened" not in log.journal(episode)


def test_a_broken_set_up_is_no_outcome_and_stops_whoever_works() -> None:
    log = MemoryRecorder()
    episode = put(log, "cot")
    store = MemoryStore("cot", Saying(SetupBroken("auth", "there", "key refused")), log)
    with pytest.raises(SetupBroken):
        asyncio.run(run_episode(store, episode))
    assert not store.ends
    assert not store.parked
    assert not store.waited


@given(stops=st.lists(st.integers(1, 30), max_size=5))
def test_wherever_its_log_stops_a_set_ends_alike(stops: list[int]) -> None:
    def run(log: MemoryRecorder) -> None:
        members = [put(log, "mgv_acquisition", text) for text in ("1 2 3 4", "2 3 4 5")]
        if all("closed" in log.journal(each) for each in members):
            return
        asyncio.run(run_set(MemoryStore("mgv_acquisition", rehearsed(), log), "s/set/1", members))

    whole = MemoryRecorder()
    run(whole)
    closed = [e for _, e in whole.records.values() if isinstance(e, EpisodeClosed)]
    assert len(closed) == 3  # two members and the set
    log = MemoryRecorder()
    for more in stops:
        log.stop_after = len(log.records) + more
        with suppress(Crashed):
            run(log)
    log.stop_after = None
    run(log)
    assert log.records == whole.records


def test_a_member_that_was_begun_alone_is_finished_alone() -> None:
    log = MemoryRecorder(stop_after=3)
    first = put(log, "mgv_acquisition", "1 2 3 4")
    with suppress(Crashed):
        asyncio.run(run_episode(MemoryStore("mgv_acquisition", rehearsed(), log), first))
    log.stop_after = None
    second = put(log, "mgv_acquisition", "2 3 4 5")
    store = MemoryStore("mgv_acquisition", rehearsed(), log)
    asyncio.run(run_set(store, "s/set/1", [first, second]))
    assert set(store.ends) == {first, second}
    opened = {each: log.journal(each)["opened"] for each in (first, second)}
    within = {e: o.within for e, o in opened.items() if isinstance(o, EpisodeOpened)}
    assert within == {first: None, second: "s/set/1"}
    assert any(isinstance(event, Completed) for event in log.journal(first).values())
