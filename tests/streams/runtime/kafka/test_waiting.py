"""What waits costs little: no slot, no text, no paused partition."""

from __future__ import annotations

import tracemalloc
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from schemas.events.episode import EpisodeAdopted
from schemas.problem import Problem
from streams.engine.progress import Outcome
from streams.engine.schedule import PendingEpisode
from streams.runtime.kafka.envelope import LogRecord
from streams.runtime.kafka.fence import EventsFold
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.relay import Relay
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
from tests.memory_kafka.broker import Died
from tests.memory_kafka.fixture import in_memory
from tests.pupil import meant, newer, problems, publication

BYTES = 300
"""Of a waiting problem; its name alone is 80."""


@pytest.fixture
def runtime(tmp_path: Path) -> Generator[OnKafka]:
    with in_memory(PARTITIONS) as (place, _), closing(KafkaLog(place, tmp_path)) as log:
        yield OnKafka(place, log)


def open_now(runtime: OnKafka) -> dict[str, object]:
    assert runtime.worker is not None
    owned = runtime.worker.owning.partitions.values()
    return {episode: journal for each in owned for episode, journal in each.fold.open.items()}


def test_a_waiting_problem_keeps_its_place_and_gets_its_text_back(runtime: OnKafka) -> None:
    given = [problem for problem in problems() if problem.position != 1]
    runtime.log().publish(*publication(given))
    held = runtime.live(Life())
    assert held is not None
    assert len(open_now(runtime)) == 5
    assert set(open_now(runtime).values()) == {None}
    assert runtime.live(Life(settle=True)) == Outcome()
    meant(runtime.log())
    assert open_now(runtime) == {}


def test_a_waiting_problem_is_small() -> None:
    """Its text may be long: it is not kept."""
    fold, seats, scope = EventsFold(), dict[str, PendingEpisode](), "d/mc2/main/0"
    tracemalloc.start()
    for number in range(10_000):
        episode = f"p/game24/{number:06}/0123456789ab"
        text = b"t" * 2_000
        fold.take(1_000 + number, LogRecord(episode, "admitted", "problem.admitted", None, text))
        fold.fence.epoch = -1
        fold.take(1_000 + number, LogRecord(episode, "admitted", "problem.admitted", -1, text))
        fold.lighten(episode)
        seats[episode] = PendingEpisode(scope, "series", number, number % 8)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert set(fold.open.values()) == {None}
    assert held / len(seats) < BYTES


def test_problems_that_could_open_hold_admission_and_not_those_that_wait(runtime: OnKafka) -> None:
    many: list[tuple[str, str, dict[str, str], bytes]] = [
        (
            "problems",
            f"m{n}",
            {},
            Problem(id=f"{n}", problem="1", domain="d").model_dump_json().encode(),
        )
        for n in range(60)
    ]
    runtime.log().publish(many)
    runtime.ready = 5
    assert runtime.live(Life(slots=2, settle=True)) == Outcome()
    assert len(list(runtime.log().messages("answers"))) == 60
    assert runtime.most_ready <= (PARTITIONS + 1) * runtime.ready


def park_one(runtime: OnKafka) -> str:
    alone = problems()[0].model_copy(update={"series": None, "position": None})
    runtime.log().publish([("problems", "one", {}, alone.model_dump_json().encode())])
    runtime.live(Life(drains_after=2, delays=(4,)))
    parked = runtime.live(Life(find=newer))
    assert parked is not None
    (episode,) = parked.parked
    return episode


def test_a_parked_episode_holds_no_checkpoint_back_and_comes_back_whole(runtime: OnKafka) -> None:
    episode = park_one(runtime)
    assert runtime.worker is not None
    for owned in runtime.worker.owning.partitions.values():
        assert owned.fold.needed() == owned.fold.upto
    before = len(runtime.log().journal(episode))
    assert runtime.live(Life()) == Outcome(parked=[episode])
    assert open_now(runtime) == {}
    runtime.log().publish((), [(episode, "adopted.0", EpisodeAdopted(void=False))])
    assert runtime.live(Life(settle=True)) == Outcome()
    assert len(runtime.log().journal(episode)) > before
    assert len(list(runtime.log().messages("answers"))) == 1


@pytest.mark.parametrize("dies_after", [14, 15, 16])
def test_one_that_was_adopted_and_closed_by_a_worker_that_died_is_answered(
    runtime: OnKafka, dies_after: int
) -> None:
    """Whoever comes next begins where it still lay on the shelf, and met the end of it first."""
    episode = park_one(runtime)
    runtime.live(Life())
    runtime.log().publish((), [(episode, "adopted.0", EpisodeAdopted(void=False))])
    assert runtime.live(Life(dies_after=dies_after)) is None
    assert "closed" in runtime.log().journal(episode)
    assert runtime.live(Life(settle=True)) == Outcome()
    assert open_now(runtime) == {}
    assert len(list(runtime.log().messages("answers"))) == 1


@pytest.mark.parametrize("dies_after", [14, 15, 16])
def test_it_is_answered_though_the_next_worker_dies_before_that_too(
    runtime: OnKafka, tmp_path: Path, dies_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checkpoint begins where the episode was admitted, and no index of that machine may hold it for closed."""
    runtime.index = tmp_path / "index.db"
    episode = park_one(runtime)
    runtime.live(Life())
    runtime.log().publish((), [(episode, "adopted.0", EpisodeAdopted(void=False))])
    assert runtime.live(Life(dies_after=dies_after)) is None
    assert "closed" in runtime.log().journal(episode)

    async def noted(_: Relay, owned: Owned) -> None:
        worker, began = runtime.worker, owned.fold.began[episode]
        assert worker is not None
        known = worker.view.checkpoints
        await worker.shared.until(lambda: int(known[owned.index]["from"]) <= began)
        raise Died

    if not list(runtime.log().messages("answers")):
        with monkeypatch.context() as patch:
            patch.setattr(Relay, "take", noted)
            assert runtime.live(Life()) is None
    assert runtime.live(Life(settle=True)) == Outcome()
    assert len(list(runtime.log().messages("answers"))) == 1


def test_a_voided_episode_is_over_for_good(runtime: OnKafka) -> None:
    alone = Problem(id="a", problem="1", domain="d", policy="pupil")
    body = alone.model_dump_json().encode()
    runtime.log().publish([("problems", "one", {}, body)])
    runtime.live(Life(drains_after=2, delays=(4,)))
    parked = runtime.live(Life(find=newer))
    assert parked is not None
    (episode,) = parked.parked
    runtime.log().publish((), [(episode, "adopted.0", EpisodeAdopted(void=True))])
    for _ in range(2):
        assert runtime.live(Life(settle=True)) == Outcome()
        assert open_now(runtime) == {}
    assert not list(runtime.log().messages("answers"))


def test_a_waiting_problem_is_taken_out_while_its_owner_looks_on() -> None:
    """Of one that waits the owner keeps its name alone; a person's word is understood all the same."""
    episode = "p/d/1/r"
    fold = EventsFold()
    fold.fence.epoch = 0
    fold.take(1, LogRecord(episode, "admitted", "problem.admitted", 0, b"{}"))
    fold.lighten(episode)
    for at, body in enumerate((b"{}", b'{"void": false}', b"[]", b"{", b"null")):
        assert not fold.take(
            2 + at, LogRecord(episode, f"adopted.{at}", "episode.adopted", None, body)
        )
        assert fold.journal(episode) == {}
    said = LogRecord(episode, "adopted.9", "episode.adopted", None, b'{"void": true}')
    assert fold.take(9, said)
    assert fold.journal(episode) == {"adopted.9": said}
    assert not fold.take(10, said)
    fold.forget(episode)
    assert episode in fold.closed
    assert not fold.take(11, LogRecord(episode, "admitted", "problem.admitted", 0, b"{}"))
