"""Answers on Kafka are graded anew by who may append no grade: the owner of their scope states what was proposed."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from handlers.answers.grade import Grade
from schemas.events.episode import EpisodeClosed
from schemas.events.learning import BatchClosed, Graded, GradeProposed, MemoryVersioned
from schemas.outcome import Outcome as Known
from schemas.problem import Feedback
from streams.engine.progress import Outcome
from streams.engine.scopes import Scope
from streams.replay.verify import Verifier
from streams.runtime.embedded.forgetting import close_again
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.scopes import closed_again
from streams.runtime.embedded.records import learned as learned_by
from streams.runtime.embedded.regrading import Regrading
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.kept import KeptRows
from streams.runtime.kafka.learning import KafkaLearner
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.view import PROPOSED, REFLECTED
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka, Runtime, in_one_process
from tests.memory_kafka.broker import Broker, Died
from tests.memory_kafka.fixture import GLANCES, in_memory
from tests.pupil import find, meant, problems, publication

Setting = tuple[OnKafka, KafkaAddress, Broker]
MINE = "mine@2+0123456789ab"


@pytest.fixture
def setting(tmp_path: Path) -> Generator[Setting]:
    with (
        in_memory(PARTITIONS, glances=GLANCES) as (place, broker),
        closing(KafkaLog(place, tmp_path)) as log,
    ):
        yield OnKafka(place, log, tmp_path / "closed.db", tmp_path / "t.learned"), place, broker


def solved(runtime: Runtime) -> None:
    runtime.log().publish(*publication(problems()))
    assert runtime.live(Life(settle=True)) == Outcome()


def outcome_of(episode: str, turn: int) -> Known:
    """What the grader of these tests says: of every second answer the one, of the others the opposite."""
    return "right" if (int(episode.split("/")[2]) + turn) % 2 else "wrong"


def regrading(log: SqliteLog, turn: int = 0) -> Regrading:
    done = Regrading(log, find)
    for put in done.answers():
        done.grade(
            put, Grade(outcome=outcome_of(put.episode, turn), grader=MINE, detail="by turns")
        )
    return done


def regraded_here(log: SqliteLog, turn: int = 0) -> None:
    """As the command does where it may append."""

    async def work() -> None:
        await regrading(log, turn).write("regrade:1")
        await close_again(log, find, None, "regrade:1")

    asyncio.run(work())


def grades(log: SqliteLog) -> dict[str, list[Graded]]:
    found: dict[str, list[Graded]] = {}
    for record in log.records(kinds=["graded"]):
        assert isinstance(record.event, Graded)
        found.setdefault(record.episode, []).append(record.event)
    return found


def newest(log: SqliteLog) -> dict[str, Known]:
    return {episode: said[-1].outcome for episode, said in grades(log).items()}


def versions(log: SqliteLog) -> list[tuple[int, int | None]]:
    events = [record.event for record in log.records(kinds=["memory.versioned"])]
    return [(each.number, each.revision) for each in events if isinstance(each, MemoryVersioned)]


def test_it_ends_where_a_log_ends_that_is_graded_anew_in_one_file(setting: Setting) -> None:
    runtime, _, _ = setting
    with in_one_process() as other:
        solved(runtime)
        solved(other)
        assert meant(runtime.log()) == meant(other.log())
        for turn in (0, 1, 0):
            regrading(runtime.log(), turn).propose()
            assert runtime.live(Life(settle=True)) == Outcome()
            regraded_here(other.log(), turn)
            assert newest(runtime.log()) == newest(other.log())
            assert versions(runtime.log()) == versions(other.log())
            assert meant(runtime.log())[1] == meant(other.log())[1]
        assert (1, 1) in versions(other.log()), "a batch was learned with another outcome"


def test_nothing_counts_before_its_owner_states_it(setting: Setting) -> None:
    runtime, _, _ = setting
    solved(runtime)
    before, learned = newest(runtime.log()), meant(runtime.log())
    regrading(runtime.log()).propose()
    assert newest(runtime.log()) == before
    assert meant(runtime.log())[1] == learned[1]
    assert runtime.live(Life(settle=True)) == Outcome()
    assert {each.by for said in grades(runtime.log()).values() for each in said[-1:]} == {"regrade"}
    assert {said[-1].detail for said in grades(runtime.log()).values()} == {"by turns"}


def test_twice_is_once(setting: Setting) -> None:
    runtime, _, _ = setting
    solved(runtime)
    regrading(runtime.log()).propose()
    regrading(runtime.log()).propose()
    assert runtime.live(Life(settle=True)) == Outcome()
    said = meant(runtime.log())
    assert not regrading(runtime.log()).new
    assert runtime.live(Life(settle=True)) == Outcome()
    assert meant(runtime.log()) == said


@pytest.mark.parametrize("records", range(1, 28, 3))
def test_owners_that_die_anywhere_leave_the_rest_to_the_next(
    setting: Setting, records: int
) -> None:
    runtime, _, _ = setting
    with in_one_process() as other:
        solved(runtime)
        solved(other)
        regrading(runtime.log()).propose()
        runtime.live(Life(dies_after=records))
        assert runtime.live(Life(settle=True)) == Outcome()
        regraded_here(other.log())
        assert newest(runtime.log()) == newest(other.log())
        assert meant(runtime.log())[1] == meant(other.log())[1]


def test_a_grade_that_comes_in_between_makes_the_proposed_one_outdated(setting: Setting) -> None:
    """What it says it follows would not be what it follows; the same command proposes it again."""
    runtime, _, _ = setting
    solved(runtime)
    done = regrading(runtime.log())
    heard = next(each for each in done.new if each.after is not None)
    told = Feedback(episode=heard.episode, reference="7", by="eve")
    body = told.model_dump_json(exclude_none=True).encode()
    runtime.log().publish([("feedback", "eve", {}, body)])
    assert runtime.live(Life(settle=True)) == Outcome()
    done.propose()
    assert runtime.live(Life(settle=True)) == Outcome()
    meant(runtime.log())
    said = grades(runtime.log())
    assert said.pop(heard.episode)[-1].by == "feedback"
    assert {each[-1].by for each in said.values()} == {"regrade"}
    regrading(runtime.log()).propose()
    assert runtime.live(Life(settle=True)) == Outcome()
    assert grades(runtime.log())[heard.episode][-1].by == "regrade"
    meant(runtime.log())


def test_a_verdict_of_a_person_stands_and_outdates_nothing(setting: Setting) -> None:
    runtime, _, _ = setting
    solved(runtime)
    done = regrading(runtime.log())
    episode = next(each.episode for each in done.new if each.event.relearned_from is not None)
    said = Feedback(episode=episode, verdict=True, by="ann").model_dump_json(exclude_none=True)
    runtime.log().publish([("feedback", "ann", {}, said.encode())])
    assert runtime.live(Life(settle=True)) == Outcome()
    done.propose()
    assert runtime.live(Life(settle=True)) == Outcome()
    meant(runtime.log())
    stated = grades(runtime.log())[episode][-1]
    assert (stated.by, stated.relearned_from) == ("regrade", None)


def test_a_batch_that_closed_after_the_command_looked_is_closed_again(setting: Setting) -> None:
    """Who proposes a grade may not know yet what was learned; who states it does."""
    runtime, _, _ = setting
    runtime.log().publish(*publication(problems()))
    while len(grades(runtime.log())) < 2:  # of a batch of three that is not closed yet
        runtime.live(Life(drains_after=2, slots=1))
    done = regrading(runtime.log())
    assert not list(runtime.log().records(kinds=["batch.closed"]))
    assert {each.event.relearned_from for each in done.new} == {None}
    assert runtime.live(Life(settle=True)) == Outcome()
    done.propose()
    assert runtime.live(Life(settle=True)) == Outcome()
    meant(runtime.log())
    named = {each.episode: grades(runtime.log())[each.episode][-1] for each in done.new}
    closed = runtime.log().find(f"b/{next(iter(named.values())).scope}/1", "batch")
    assert isinstance(closed, BatchClosed)
    was = dict(zip(closed.members, closed.outcomes, strict=True))
    turned = {name for name, said in named.items() if was.get(name, said.outcome) != said.outcome}
    assert turned
    assert {name for name, said in named.items() if said.relearned_from == 1} == turned


def test_words_about_answers_that_are_not_there_are_passed_over(setting: Setting) -> None:
    runtime, _, _ = setting
    solved(runtime)
    one, two, three, four, *_ = (each.proposed for each in regrading(runtime.log()).new)
    before = meant(runtime.log())
    words = [
        (*one[:2], structs.replace(one[2], scope="d/pupil/other/0123456789ab")),
        (*two[:2], structs.replace(two[2], after="graded.0")),
        # Of no address but that of a grade: its owner would state it there under a claim.
        (*three[:2], structs.replace(three[2], grade="elsewhere")),
        (four[0], "proposed.reflected", structs.replace(four[2], grade="reflected")),
    ]
    for word in words:
        runtime.log().publish(commands=[word])
        assert runtime.live(Life(settle=True)) == Outcome()
        assert not regrading_was_stated(runtime.log())
    assert learned(runtime.log()) == before[1]
    runtime.log().publish(commands=[("p/d/99/nowhere", *one[1:])])
    assert runtime.live(Life(settle=True)) == Outcome()
    assert not regrading_was_stated(runtime.log())
    runtime.log().publish(commands=[each.proposed for each in regrading(runtime.log()).new[4:]])
    assert runtime.live(Life(settle=True)) == Outcome()
    assert regrading_was_stated(runtime.log()), "what stands where it may counts as ever"


def learned(log: SqliteLog) -> str:
    """What was learned, whatever else somebody put there."""
    verifier = Verifier(log, find)
    verifier.run()
    return verifier.learner.state_hash()


def regrading_was_stated(log: SqliteLog) -> bool:
    return any(each.by == "regrade" for said in grades(log).values() for each in said)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=4), st.integers(1, 40), st.booleans())
@settings(max_examples=12, deadline=None)
def test_whatever_is_said_in_turns_and_whoever_dies_learned_state_follows(
    turns: list[int], records: int, together: bool
) -> None:
    with (
        in_memory(PARTITIONS, glances=GLANCES) as (place, _),
        TemporaryDirectory() as folder,
        closing(KafkaLog(place, Path(folder))) as log,
        in_one_process() as other,
    ):
        runtime = OnKafka(place, log)
        solved(runtime)
        solved(other)
        for turn in turns:
            regrading(runtime.log(), turn).propose()
            if not together:
                runtime.live(Life(dies_after=records))
                assert runtime.live(Life(settle=True)) == Outcome()
        assert runtime.live(Life(settle=True)) == Outcome()
        regraded_here(other.log(), turns[-1])
        assert newest(runtime.log()) == newest(other.log())
        meant(runtime.log())


def none_proposed(learner: KafkaLearner, scope: Scope, partition: int) -> dict[str, GradeProposed]:
    return {}


def test_what_waits_for_its_owner_outlasts_a_start_that_reads_nothing_again(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, _, _ = setting
    solved(runtime)
    regrading(runtime.log()).propose()
    with monkeypatch.context() as patch:
        patch.setattr(KafkaLearner, "proposed", none_proposed)
        assert runtime.live(Life(settle=True)) == Outcome()
    assert not regrading_was_stated(runtime.log())
    assert runtime.live(Life(settle=True)) == Outcome()
    assert runtime.worker is not None
    assert runtime.worker.snapshot.began_at > 0
    assert regrading_was_stated(runtime.log())
    meant(runtime.log())
    with closing(KeptRows.of(runtime.kept)) as rows:
        assert rows.under(REFLECTED, "")
        assert not rows.under(PROPOSED, "")


async def dies(*_: object) -> EpisodeClosed:
    raise Died


def test_a_grade_waits_while_a_version_is_half_made(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its closing does not know of the grade, and its version would be taken for what the grade asks for."""
    runtime, _, _ = setting
    with in_one_process() as other:
        solved(runtime)
        solved(other)
        regrading(runtime.log()).propose()
        with monkeypatch.context() as patch:
            patch.setattr("streams.runtime.kafka.learning.learn", dies)
            assert runtime.live(Life(settle=True)) is None
        assert versions(runtime.log()) == [(1, None), (2, None), (3, None)]
        (scope,) = learned_by(runtime.log(), find).scopes
        assert closed_again(runtime.log(), scope) is not None
        regrading(runtime.log(), 1).propose()
        assert runtime.live(Life(settle=True)) == Outcome()
        for turn in (0, 1):
            regraded_here(other.log(), turn)
        assert newest(runtime.log()) == newest(other.log())
        assert meant(runtime.log())[1] == meant(other.log())[1]
