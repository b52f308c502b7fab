"""Episodes on the shelf: parked, and admitted before the checkpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import EpisodeAdopted
from state.folds.budgets import day_of
from streams.engine.progress import Outcome
from streams.runtime.embedded.log import now_ms
from streams.runtime.kafka import ownership
from streams.runtime.kafka.envelope import LogRecord, headers_of
from streams.runtime.kafka.idle import Idle
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.reread import Rereader
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
from tests.contracts.test_budgets import calls
from tests.memory_kafka.broker import Broker, Died
from tests.memory_kafka.fixture import in_memory
from tests.pupil import alone, newer, problems


@pytest.fixture
def setting(tmp_path: Path) -> Generator[tuple[OnKafka, Broker]]:
    with in_memory(PARTITIONS) as (place, broker), closing(KafkaLog(place, tmp_path)) as log:
        yield OnKafka(place, log), broker


@pytest.fixture
def runtime(setting: tuple[OnKafka, Broker]) -> OnKafka:
    return setting[0]


def shelved(runtime: OnKafka, tenant: str | None = None) -> str:
    """An episode that is parked, and lies before the checkpoint."""
    one = problems()[0].model_copy(update={"series": None, "position": None, "tenant": tenant})
    runtime.log().publish([("problems", "one", {}, one.model_dump_json().encode())])
    runtime.live(Life(drains_after=1, delays=(4,)))
    parked = runtime.live(Life(find=newer))
    assert parked is not None
    (episode,) = parked.parked
    assert runtime.live(Life()) == Outcome(parked=[episode])
    return episode


def adopt(runtime: OnKafka, episode: str, number: int = 0, *, void: bool = False) -> None:
    said = EpisodeAdopted(void=void)
    runtime.log().publish((), [(episode, f"adopted.{number}", said)])


def test_one_that_goes_on_is_known_under_the_next_checkpoint_too(runtime: OnKafka) -> None:
    """That one begins where it was admitted: by a claim which its new owner had no need to read."""
    episode = shelved(runtime)
    adopt(runtime, episode)
    assert runtime.live(Life(drains_after=1, delays=(4,))) is not None
    assert "closed" not in runtime.log().journal(episode)
    runtime.log().publish([alone("later")])
    assert runtime.live(Life(settle=True)) == Outcome()
    assert "closed" in runtime.log().journal(episode)
    assert len(list(runtime.log().messages("answers"))) == 2


def test_one_whose_claim_a_checkpoint_does_not_name_goes_on_all_the_same(
    runtime: OnKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode, beginning = shelved(runtime), Owned.beginning

    def unclaimed(index: int, checkpoint: dict[str, Any] | None, *more: Any) -> Owned:
        made = beginning(index, checkpoint, *more)
        made.shelf = {name: replace(each, claim=-1) for name, each in made.shelf.items()}
        return made

    adopt(runtime, episode)
    monkeypatch.setattr(Owned, "beginning", unclaimed)
    assert runtime.live(Life(settle=True)) == Outcome()
    assert "closed" in runtime.log().journal(episode)


def test_a_checkpoint_that_names_no_claim_is_none() -> None:
    noted: dict[str, Any] = {"claim": -1, "from": 7, "source": 3, "parked": [], "events": 9}
    assert Owned.beginning(0, noted, set[str]()).fold.upto == 0
    assert Owned.beginning(0, {**noted, "claim": 5}, set[str]()).fold.upto == 7


def say(setting: tuple[OnKafka, Broker], episode: str, number: int, *, void: bool = False) -> int:
    """A person's word while a worker lives; its offset."""
    runtime, broker = setting
    assert runtime.worker is not None
    owned = runtime.worker.owning.partitions.values()
    (partition,) = (each.index for each in owned if episode in each.shelf)
    headers = headers_of("episode.adopted", episode, f"adopted.{number}", 1)
    row = (b"e", EpisodeAdopted(void=void).to_json(), headers, 1)
    return broker.append(runtime.place.topic("events"), partition, [row])


def test_a_word_whose_episode_is_still_being_read_again_is_heard_by_the_next_owner(
    setting: tuple[OnKafka, Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner notes how far it is meanwhile, and dies."""
    runtime, _ = setting
    episode, said = shelved(runtime), list[int]()

    async def nothing_else(self: Idle, *, settle: bool) -> bool:
        owned = self.worker.owning.partitions.values()
        if owned and all(each.live for each in owned) and not said:
            said.append(say(setting, episode, 0))
        return settle  # which it is not

    async def noted_and_died(self: Rereader, owned: Owned, *_: object) -> None:
        while owned.told.get("events", 0) <= said[0]:  # noqa: ASYNC110 - a checkpoint is written meanwhile
            await asyncio.sleep(0.01)
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(Idle, "reached", nothing_else)
        patch.setattr(Rereader, "journal", noted_and_died)
        assert runtime.live(Life()) is None
    assert runtime.live(Life(settle=True)) == Outcome()
    assert "closed" in runtime.log().journal(episode)


def test_one_that_is_taken_out_while_it_is_being_read_again_does_not_go_on(
    setting: tuple[OnKafka, Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, _ = setting
    episode = shelved(runtime)
    adopt(runtime, episode)
    records, said = Rereader._records, list[int]()  # pyright: ignore[reportPrivateUsage]

    async def taken_out(
        self: Rereader, partition: int, offset: int, end: int
    ) -> AsyncIterator[tuple[int, LogRecord]]:
        async for each in records(self, partition, offset, end):
            yield each
        worker = runtime.worker
        assert worker is not None
        if not said:
            said.append(say(setting, episode, 1, void=True))
            while worker.owning.partitions[partition].fold.upto <= said[0]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    monkeypatch.setattr(Rereader, "_records", taken_out)
    assert runtime.live(Life(settle=True)) == Outcome()
    assert said
    assert not list(runtime.log().messages("answers"))


def spent(runtime: OnKafka) -> int:
    """Calls on today's sums of who owns the partitions."""
    assert runtime.worker is not None
    owned = runtime.worker.owning.partitions.values()
    return sum(each.spent.of("ann", day_of(now_ms())).calls for each in owned)


@pytest.mark.parametrize("dies_after", [13, 16])
def test_calls_after_the_last_checkpoint_stand_in_the_next_owner_s_sums(
    runtime: OnKafka, monkeypatch: pytest.MonkeyPatch, dies_after: int
) -> None:
    """It begins where the episode still lay on the shelf: once it was called twice, and once closed as well."""
    episode = shelved(runtime, "ann")
    adopt(runtime, episode)
    with monkeypatch.context() as patch:
        patch.setattr(ownership, "CHECKPOINT_S", 60.0)
        assert runtime.live(Life(dies_after=dies_after)) is None
    assert calls(runtime.log(), "ann") == 2
    for _ in range(2):
        assert runtime.live(Life(settle=True)) == Outcome()
        assert (spent(runtime), calls(runtime.log(), "ann")) == (2, 2)
