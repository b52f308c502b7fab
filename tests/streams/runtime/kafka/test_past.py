"""What was closed before a worker began: its own index knows, and the log rebuilds it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from handlers.policies.base import Conclusion, Task
from schemas.asking import Steps
from schemas.events.episode import EpisodeAdopted
from schemas.problem import Problem
from streams.engine.progress import Outcome
from streams.runtime.embedded.intake import episode_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.kafka.envelope import headers_of
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.ownership import Ownership
from streams.runtime.kafka.past import ClosedEpisodeIndex
from streams.runtime.kafka.relay import Relay
from streams.runtime.kafka.reread import Rereader
from tests.contracts import runtimes
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka, Watching
from tests.memory_kafka.broker import Died
from tests.memory_kafka.fixture import broker_of, in_memory
from tests.pupil import PUPIL, PupilSettings, newer, problems, say, solve


@pytest.fixture
def runtime(tmp_path: Path) -> Generator[OnKafka]:
    with in_memory(PARTITIONS) as (place, _), closing(KafkaLog(place, tmp_path)) as log:
        yield OnKafka(place, log, tmp_path / "closed.db")


def given(name: str, text: str = "1") -> tuple[str, str, dict[str, str], bytes]:
    """A problem under a name of its message's own, so that it reaches the intake every time."""
    problem = Problem(id="a", problem=text, domain="d", policy="pupil")
    return "problems", name, {}, problem.model_dump_json().encode()


def completions(runtime: OnKafka) -> int:
    return len(list(runtime.log().records(kinds=["completed"])))


@pytest.fixture
def lived(runtime: OnKafka) -> OnKafka:
    """One problem was answered; its worker is gone."""
    runtime.log().publish([given("first")])
    assert runtime.live(Life(settle=True)) == Outcome()
    return runtime


def test_a_duplicate_is_recognised_after_a_restart(lived: OnKafka) -> None:
    before = completions(lived)
    lived.log().publish([given("again")])
    assert lived.live(Life(settle=True)) == Outcome()
    assert completions(lived) == before
    assert len(list(lived.log().records(kinds=["problem.admitted"]))) == 1


def test_a_duplicate_that_the_index_learns_of_after_its_admission_holds_nothing_up(
    lived: OnKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where an index was lost in part: the intake may ask it before it knows, the fold after."""
    before, asked, known = completions(lived), list[str](), ClosedEpisodeIndex.__contains__

    def late(self: ClosedEpisodeIndex, episode: str) -> bool:
        asked.append(episode)
        return len(asked) > 1 and known(self, episode)

    monkeypatch.setattr(ClosedEpisodeIndex, "__contains__", late)
    lived.log().publish([given("again")])
    assert lived.live(Life(settle=True)) == Outcome()
    assert len(asked) > 1, "the fold never asked"
    assert completions(lived) == before


def test_nothing_is_admitted_before_the_index_is_rebuilt(
    lived: OnKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A duplicate would run once more, and what was taken out of its batch would wait for a person."""
    before, fill = completions(lived), ClosedEpisodeIndex.fill

    async def slowly(self: ClosedEpisodeIndex, reread: Rereader, owned: Owned) -> None:
        await asyncio.sleep(0.5)
        await fill(self, reread, owned)

    monkeypatch.setattr(ClosedEpisodeIndex, "fill", slowly)
    lived.index = None
    lived.log().publish([given("again")])
    assert lived.live(Life(settle=True)) == Outcome()
    assert completions(lived) == before
    assert lived.worker is not None
    assert lived.worker.progress.admitted == 0


def test_what_another_worker_answered_is_known_though_it_was_closed_here(
    runtime: OnKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was closed before where the index was noted, and no part of it: nobody had answered it yet."""
    index = runtime.index

    async def die(self: Relay, owned: Owned) -> None:
        await asyncio.sleep(0.5)  # the index is noted meanwhile
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(Relay, "take", die)
        runtime.log().publish([given("first")])
        assert runtime.live(Life(settle=True)) is None
    runtime.index = None
    assert runtime.live(Life(settle=True)) == Outcome()
    before = completions(runtime)
    runtime.index = index
    runtime.log().publish([given("again")])
    assert runtime.live(Life(settle=True, asks_twice=True)) == Outcome()
    assert runtime.worker is not None
    assert (runtime.worker.progress.admitted, completions(runtime)) == (0, before)


def test_a_partition_that_moves_away_while_it_is_rebuilt_and_comes_back_is_rebuilt_anew(
    lived: OnKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its next owner may have closed something meanwhile, behind where the first look would have ended."""
    fill, began = ClosedEpisodeIndex.fill, list[int]()

    def move(owning: Ownership, partition: int) -> None:
        before = owning.partitions[partition]
        owning.let_go(partition)
        owning.partitions[partition] = Owned(partition, queue=before.queue)  # as it comes again
        owning._take(partition)  # pyright: ignore[reportPrivateUsage]

    async def moved(self: ClosedEpisodeIndex, reread: Rereader, owned: Owned) -> None:
        partition = owned.index
        began.append(partition)
        if began == [partition] and lived.worker is not None:
            asyncio.get_running_loop().call_soon(move, lived.worker.owning, partition)
            await asyncio.sleep(0.5)
        await fill(self, reread, owned)

    monkeypatch.setattr(ClosedEpisodeIndex, "fill", moved)
    lived.log().publish([given("again")])
    assert lived.live(Life(settle=True)) == Outcome()
    assert began.count(began[0]) == 2


def longer(task: Task, given: PupilSettings) -> Steps[Conclusion]:
    """What may come of a second run: more than the first one said."""
    found = yield from solve(task, given)
    yield from say("and again")
    return found


def test_of_a_second_run_nothing_counts(lived: OnKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of earlier builds admitted while they rebuilt the index: every reader keeps the first run."""
    (episode,) = (record.episode for record in lived.log().records(kinds=["episode.opened"]))
    before = lived.log().journal(episode)

    def unknown(self: ClosedEpisodeIndex, episode: str) -> bool:
        return False

    def nothing(log: SqliteLog) -> frozenset[tuple[str, str]]:
        return frozenset()

    monkeypatch.setattr(ClosedEpisodeIndex, "__contains__", unknown)
    monkeypatch.setattr(runtimes, "recorded", nothing)
    lived.log().publish([given("again")])
    assert (
        lived.live(Life(settle=True, find=lambda name: replace(PUPIL, solve=longer))) == Outcome()
    )
    assert lived.worker is not None
    assert lived.worker.world.calls_begun, "there was no second run"
    assert lived.log().journal(episode) == before


def test_another_text_under_a_known_name_is_refused_after_a_restart(lived: OnKafka) -> None:
    lived.log().publish([given("other", "another text")])
    assert lived.live(Life(settle=True)) == Outcome()
    ((_, _, headers, _),) = lived.log().messages("dead-letters")
    assert headers["__metalogue.errors.exception"] == "input.duplicate"


def test_what_was_refused_for_its_size_leaves_its_name_to_what_is_put_in_its_stead(
    runtime: OnKafka,
) -> None:
    runtime.log().publish([given("whole", "𝟙" * 260_000), given("mended")])
    assert runtime.live(Life(settle=True)) == Outcome()
    ((_, _, headers, _),) = runtime.log().messages("dead-letters")
    assert headers["__metalogue.errors.exception"] == "input.size"
    assert len(list(runtime.log().messages("answers"))) == 1


@pytest.mark.parametrize("earlier", [False, True])
def test_another_type_of_answer_is_refused_after_a_restart(lived: OnKafka, earlier: bool) -> None:
    """Also where the index is one of an earlier build, which kept no types: it is read again."""
    typed = given("typed")[-1].replace(b'"id":"a"', b'"id":"t"')
    typed = typed.replace(b'"answer_type":null', b'"answer_type":{"type":"number"}')
    lived.log().publish([("problems", "t", {}, typed)])
    assert lived.live(Life(settle=True)) == Outcome()
    assert lived.index is not None
    if earlier:
        with closing(sqlite3.connect(lived.index, isolation_level=None)) as index:
            index.executescript("drop table admitted; alter table admitted_upto rename to upto;")
    other = typed.replace(b'"number"', b'"expression"')
    lived.log().publish([("problems", "t2", {}, typed), ("problems", "t3", {}, other)])
    assert lived.live(Life(settle=True)) == Outcome()
    ((_, _, headers, value),) = lived.log().messages("dead-letters")
    assert value == other
    assert headers["__metalogue.errors.exception"] == "input.duplicate"
    assert headers["__metalogue.errors.message"].startswith("answer_type: ")


def test_a_lost_index_is_rebuilt_from_the_log(lived: OnKafka) -> None:
    with closing(ClosedEpisodeIndex(lived.index)) as past:
        (known,) = [row[0] for row in past.db.execute("select episode from closed")]
    assert lived.index is not None
    lived.index.unlink()
    assert lived.live(Life(settle=True)) == Outcome()
    with closing(ClosedEpisodeIndex(lived.index)) as past:
        assert known in past
        assert past.text("d", "a") is not None
        assert past.text("d", "b") is None


@pytest.fixture
def without_index(runtime: OnKafka) -> OnKafka:
    """Each worker makes its index anew, and begins to read at a problem that waits."""
    runtime.index = None
    one, waiting = problems()[1], problems()[3]
    alone = one.model_copy(update={"series": None, "position": None})
    runtime.log().publish([put("first", alone), put("waits", waiting)])
    return runtime


def put(name: str, problem: Problem) -> tuple[str, str, dict[str, str], bytes]:
    return "problems", name, {}, problem.model_dump_json().encode()


def again(runtime: OnKafka) -> tuple[str, str, dict[str, str], bytes]:
    """The problem that does not wait, once more."""
    [said] = [value for _, name, _, value in runtime.log().messages("problems") if name == "first"]
    return "problems", "again", {}, said


def test_what_was_closed_behind_the_checkpoint_s_beginning_is_known_without_an_index(
    without_index: OnKafka,
) -> None:
    """It was admitted before: neither who reads on from there nor who looks back met all of it."""
    runtime = without_index
    first = runtime.live(Life())
    assert first is not None
    assert first.held
    assert len(list(runtime.log().messages("answers"))) == 1
    runtime.log().publish([again(runtime)])
    assert runtime.live(Life()) == first
    assert runtime.worker is not None
    assert isinstance(runtime.worker.world, Watching)
    assert not runtime.worker.world.asked


def test_what_a_person_took_out_behind_the_checkpoint_s_beginning_is_known_without_an_index(
    without_index: OnKafka,
) -> None:
    runtime = without_index
    runtime.live(Life(drains_after=2, delays=(4,)))
    parked = runtime.live(Life(find=newer))
    assert parked is not None
    [episode] = parked.parked
    runtime.log().publish((), [(episode, "adopted.0", EpisodeAdopted(void=True))])
    taken_out = runtime.live(Life())
    assert taken_out is not None
    assert not taken_out.parked
    runtime.log().publish([again(runtime)])
    assert runtime.live(Life()) == taken_out
    assert not list(runtime.log().messages("answers"))


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_word_that_takes_out_what_nobody_admitted_keeps_no_problem_out(
    lived: OnKafka, is_kept: bool
) -> None:
    """Anybody may say it: the problem that came later was passed over without an answer, and without a word."""
    lived.index = lived.index if is_kept else None
    other = Problem(id="b", problem="2", domain="d", policy="pupil")
    lived.log().publish((), [(episode_of(other, "pupil"), "adopted.0", EpisodeAdopted(void=True))])
    assert lived.live(Life(settle=True)) == Outcome()
    lived.log().publish([put("b", other)])
    assert lived.live(Life(settle=True)) == Outcome()
    assert len(list(lived.log().messages("answers"))) == 2


def waits(runtime: OnKafka) -> tuple[str, int, Outcome]:
    """A problem that waits for others of its series: its episode, its partition, and what its worker ended with."""
    runtime.log().publish([put("waits", problems()[3])])
    ended = runtime.live(Life())
    assert ended is not None
    assert ended.held
    (admitted,) = runtime.log().records(kinds=["problem.admitted"])
    return admitted.episode, admitted.partition, ended


def word(runtime: OnKafka, partition: int, episode: str, body: bytes) -> None:
    """A client of somebody's says that an episode is adopted."""
    row = episode.encode(), body, headers_of("episode.adopted", episode, "adopted.0", 1), 1
    broker_of(runtime.place).append(runtime.place.topic("events"), partition, [row])


def test_a_word_on_another_partition_ends_nothing_that_waits(runtime: OnKafka) -> None:
    """What waits was taken for closed by the next worker: nobody worked on it."""
    episode, home, ended = waits(runtime)
    word(runtime, (home + 1) % PARTITIONS, episode, b'{"void":true}')
    assert runtime.live(Life()) == ended
    assert runtime.live(Life()) == ended


def test_an_index_that_is_ahead_of_what_is_open_is_kept(lived: OnKafka) -> None:
    """The owner reads again from its oldest open problem on: that is no other log."""
    other = Problem(id="b", problem="2", domain="d", policy="pupil").model_dump_json().encode()
    lived.log().publish([("problems", "b", {}, other)])
    lived.live(Life(drains_after=1, delays=(5,)))
    assert lived.live(Life(settle=True)) == Outcome()
    before = completions(lived)
    lived.log().publish([given("again"), ("problems", "b2", {}, other)])
    assert lived.live(Life(settle=True)) == Outcome()
    assert completions(lived) == before


def test_without_a_place_to_write_the_index_lives_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with closing(ClosedEpisodeIndex(tmp_path / "file" / "i.db")) as past:
        past.add("p/d/a/0")
        past.note(0, 1, 0)
        assert "p/d/a/0" in past
