"""Episodes on the shelf: parked, and admitted before the checkpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import EpisodeAdopted
from streams.engine.progress import Outcome
from streams.runtime.kafka.envelope import LogRecord, headers_of
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.reread import Rereader
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
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


def shelved(runtime: OnKafka) -> str:
    """An episode that is parked, and lies before the checkpoint."""
    one = problems()[0].model_copy(update={"series": None, "position": None})
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


def test_a_checkpoint_that_names_no_claim_is_none() -> None:
    noted: dict[str, Any] = {"claim": -1, "from": 7, "source": 3, "parked": [], "events": 9}
    assert Owned.beginning(0, noted, set[str]()).fold.upto == 0
    assert Owned.beginning(0, {**noted, "claim": 5}, set[str]()).fold.upto == 7


def test_a_word_whose_episode_is_still_being_read_again_is_heard_by_the_next_owner(
    runtime: OnKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner notes how far it is meanwhile, and dies."""
    episode = shelved(runtime)
    adopt(runtime, episode)

    async def noted_and_died(self: Rereader, owned: Owned, *_: object) -> None:
        said = owned.fold.upto
        while owned.told.get("events", 0) < said:  # noqa: ASYNC110 - a checkpoint is written meanwhile
            await asyncio.sleep(0.01)
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(Rereader, "journal", noted_and_died)
        assert runtime.live(Life()) is None
    assert runtime.live(Life(settle=True)) == Outcome()
    assert "closed" in runtime.log().journal(episode)


def test_one_that_is_taken_out_while_it_is_being_read_again_does_not_go_on(
    setting: tuple[OnKafka, Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, broker = setting
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
            headers = headers_of("episode.adopted", episode, "adopted.1", 1)
            row = (b"e", EpisodeAdopted(void=True).to_json(), headers, 1)
            said.append(broker.append(runtime.place.topic("events"), partition, [row]))
            while worker.owning.partitions[partition].fold.upto <= said[0]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    monkeypatch.setattr(Rereader, "_records", taken_out)
    assert runtime.live(Life(settle=True)) == Outcome()
    assert said
    assert not list(runtime.log().messages("answers"))
