"""A start reads what came since the worker's file was written last, however much was closed before."""

from __future__ import annotations

import gc
import logging
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from schemas.events.learning import ProblemForgotten
from schemas.problem import Feedback, Limits, Problem
from state.folds.state import State
from streams.engine.progress import Outcome
from streams.runtime.embedded.intake import scope_of
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.kept import KeptRows
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.view import View
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka, count
from tests.memory_kafka.broker import Batch, Broker, Died, Producer
from tests.memory_kafka.fixture import GLANCES, in_memory
from tests.pupil import SIZE, find, meant, only_the_other, problems, publication

Setting = tuple[OnKafka, KafkaAddress, Broker]
WHOLE = "topics are read from their beginning"


@pytest.fixture
def setting(tmp_path: Path) -> Generator[Setting]:
    with (
        in_memory(PARTITIONS, glances=GLANCES) as (place, broker),
        closing(KafkaLog(place, tmp_path)) as log,
    ):
        yield OnKafka(place, log, tmp_path / "closed.db", tmp_path / "t.learned"), place, broker


def solved(runtime: OnKafka, first: int, size: int, domain: str = "game24") -> None:
    """So many problems are answered, and what follows from them is learned."""
    given = [
        Problem(id=f"{n}", problem="1 2 3 4", domain=domain, policy="pupil")
        for n in range(first, first + size)
    ]
    rows = [
        ("problems", f"m{each.id}", dict[str, str](), each.model_dump_json().encode())
        for each in given
    ]
    labels = [
        ("feedback", f"f{each.id}", dict[str, str](), label(each.id, domain)) for each in given[::2]
    ]
    runtime.log().publish([*labels, *rows])
    assert runtime.live(Life(slots=200, settle=True)) == Outcome()


def label(problem_id: str, domain: str = "game24") -> bytes:
    said = Feedback(domain=domain, problem_id=problem_id, verdict=True, by="ann")
    return said.model_dump_json(exclude_none=True).encode()


def read_at_start(runtime: OnKafka, broker: Broker) -> dict[str, int]:
    """Records that a start reads, by topic: all that a worker does who finds nothing to do."""
    runtime.log()  # which reads too
    broker.read.clear()
    assert runtime.live(Life()) == Outcome()
    return {topic.split(".")[-2]: number for topic, number in broker.read.items()}


def began_at(runtime: OnKafka) -> int:
    assert runtime.worker is not None
    return runtime.worker.snapshot.began_at


def test_ten_times_the_closed_episodes_are_no_more_to_read_at_a_start(setting: Setting) -> None:
    runtime, _, broker = setting
    solved(runtime, 0, 20)
    few = read_at_start(runtime, broker)
    solved(runtime, 20, 180)
    many = read_at_start(runtime, broker)
    for topic in ("learning", "feedback", "events"):
        assert many.get(topic, 0) <= few.get(topic, 0) + PARTITIONS, topic
    assert sum(many.values()) <= sum(few.values()) + 2 * PARTITIONS
    assert began_at(runtime) > 400


def test_without_its_files_a_start_reads_what_was_ever_learned_and_closed(setting: Setting) -> None:
    """Else the test above would hold of a worker that reads nothing, or of a count that counts nothing."""
    runtime, _, broker = setting
    solved(runtime, 0, 40)
    runtime.kept = runtime.index = None
    found = read_at_start(runtime, broker)
    assert found["learning"] > 80
    assert found["feedback"] >= 20
    assert found["events"] > 120


def test_lives_that_end_anywhere_mean_what_one_life_means(setting: Setting) -> None:
    runtime, _, _ = setting
    runtime.log().publish(*publication(problems()))
    for records in (14, 23, 9, 31, 17):
        runtime.live(Life(dies_after=records, delays=(2, 1)))
    assert runtime.live(Life()) == Outcome()
    assert began_at(runtime) > 0
    with (
        in_memory(PARTITIONS, glances=GLANCES) as (other, _),
        closing(KafkaLog(other, runtime.imported.path.parent.parent / "other")) as log,
    ):
        log.publish(*publication(problems()))
        calm = OnKafka(other, log)
        assert calm.live(Life()) == Outcome()
        assert meant(calm.log()) == meant(runtime.log())
    assert len(list(runtime.log().messages("answers"))) == SIZE


def test_what_is_said_of_an_answer_that_was_not_read_again_grades_it(setting: Setting) -> None:
    runtime, _, _ = setting
    solved(runtime, 0, 10)
    before = count(runtime.log(), "graded")
    runtime.log().publish([("feedback", f"late{n}", {}, label(f"{n}")) for n in range(10)])
    assert runtime.live(Life()) == Outcome()
    assert began_at(runtime) > 0
    assert count(runtime.log(), "graded") == before + 5, "five were said to be right before"


def test_what_is_learned_after_a_start_is_what_the_whole_log_teaches(setting: Setting) -> None:
    runtime, _, _ = setting
    for first in range(0, 30, 10):
        solved(runtime, first, 10)
    assert began_at(runtime) > 0
    assert runtime.worker is not None
    assert meant(runtime.log())[1] == runtime.worker.learner.state_hash()


# -- files that are not gone on from -----------------------------------------------------------


def head_of(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    with closing(sqlite3.connect(path)) as db:
        ((body,),) = db.execute("select body from kept where part = 'head'")
        head = orjson.loads(body)
        change(head)
        db.execute("update kept set body = ? where part = 'head'", (orjson.dumps(head),))
        db.commit()


def of_another_build(path: Path) -> None:
    head_of(path, lambda head: head.update(build="0.0.0"))


def of_another_format(path: Path) -> None:
    head_of(path, lambda head: head.update(format=0))


def of_another_log(path: Path) -> None:
    head_of(path, lambda head: head.update(log="other"))


def of_a_log_that_began_alike(path: Path) -> None:
    def other(head: dict[str, Any]) -> None:
        head["marks"][0][3] = "0" * 16

    head_of(path, other)


def of_a_longer_log(path: Path) -> None:
    def longer(head: dict[str, Any]) -> None:
        head["starts"] = [[topic, p, at + 10_000] for topic, p, at in head["starts"]]

    head_of(path, longer)


def with_a_head_of_another_moment(path: Path) -> None:
    head_of(path, lambda head: head.update(records=head["records"] - 1))


def without_part_of_its_head(path: Path) -> None:
    head_of(path, lambda head: head.pop("fences"))


def no_database(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 99)


def overwritten(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\x00" * (len(whole) - 8192))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])


FAULTS = [
    of_another_build,
    of_another_format,
    of_another_log,
    of_a_log_that_began_alike,
    of_a_longer_log,
    with_a_head_of_another_moment,
    without_part_of_its_head,
    no_database,
    overwritten,
    cut,
]


@pytest.mark.parametrize("harm", FAULTS)
def test_a_file_that_is_not_sure_is_passed_over_and_said_to_be(
    setting: Setting, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    runtime, _, broker = setting
    solved(runtime, 0, 12)
    assert runtime.worker is not None
    known = runtime.worker.learner.state_hash()
    (path,) = runtime.imported.path.parents[1].glob("t.learned.*.db")
    harm(path)
    caplog.clear()
    found = read_at_start(runtime, broker)
    assert found["learning"] > 24
    assert began_at(runtime) == 0
    assert runtime.worker.learner.state_hash() == known
    assert [each.levelname for each in caplog.records if WHOLE in each.message] == ["WARNING"]
    again = read_at_start(runtime, broker)
    assert began_at(runtime) > 0, "it was written anew"
    assert again.get("learning", 0) < found["learning"]


def test_a_first_start_is_no_reason_to_warn(
    setting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    runtime, _, _ = setting
    solved(runtime, 0, 3)
    assert [each.levelname for each in caplog.records if WHOLE in each.message] == ["INFO"]


def test_a_file_older_than_what_a_topic_holds_is_passed_over(
    setting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    runtime, place, broker = setting
    solved(runtime, 0, 12)
    for partition in range(PARTITIONS):
        spot = place.topic("learning"), partition
        broker.begins[spot] = len(broker.logs[spot])
    assert runtime.live(Life()) == Outcome()
    assert began_at(runtime) == 0
    (said,) = [each.message for each in caplog.records if WHOLE in each.message]
    assert f"older than what {place.topic('learning')} still holds" in said


@pytest.mark.parametrize("why", ["policy", "forgotten"])
def test_what_no_file_is_sure_of_is_read_from_the_log(
    setting: Setting, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    runtime, _, _ = setting
    solved(runtime, 0, 12)
    life = Life(find=only_the_other) if why == "policy" else Life()
    if why == "forgotten":
        scope = scope_of(find("pupil"), replace_domain(problems()[0]))
        gone = ProblemForgotten(scope=scope, domain="game24", problem_id="3", limits=Limits())
        runtime.log().publish((), [(f"n/{scope}/-", "forgotten.x", gone)])
        assert runtime.live(Life()) == Outcome()
    assert runtime.live(life) == Outcome()
    assert began_at(runtime) == 0
    assert sum(WHOLE in each.message for each in caplog.records) == 1


def test_folds_that_cannot_take_a_record_cost_the_next_start_only(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runtime, _, _ = setting
    solved(runtime, 0, 6)

    def broken(*_: Any) -> None:
        raise LookupError("no such version")

    with monkeypatch.context() as patch:
        patch.setattr(State, "feed", broken)
        solved(runtime, 6, 6)
    assert "the next start reads the topics from their beginning: no such" in caplog.text
    assert runtime.live(Life()) == Outcome()
    assert began_at(runtime) == 0
    assert runtime.worker is not None
    assert meant(runtime.log())[1] == runtime.worker.learner.state_hash()
    assert runtime.live(Life()) == Outcome()
    assert began_at(runtime) > 0


def replace_domain(problem: Problem) -> Problem:
    return problem.model_copy(update={"domain": "game24"})


# -- whose files they are ----------------------------------------------------------------------


def test_each_worker_of_a_machine_has_a_file_of_its_own(tmp_path: Path) -> None:
    one, other = KeptRows.of(tmp_path / "t"), KeptRows.of(tmp_path / "t")
    assert (one.path, other.path) == (tmp_path / "t.0.db", tmp_path / "t.1.db")
    one.add("known", "a")
    one.commit()
    one.close()
    again = KeptRows.of(tmp_path / "t")
    assert again.path == one.path
    assert again.get("known", "a") == b""
    for each in (other, again):
        each.close()


def test_what_was_not_committed_is_gone(tmp_path: Path) -> None:
    rows = KeptRows.of(tmp_path / "t")
    rows.put("known", "a", b"1")
    rows.commit()
    rows.put("known", "a", b"2")
    assert rows.get("known", "a") == b"2"
    rows.close()
    with closing(KeptRows.of(tmp_path / "t")) as again:
        assert again.get("known", "a") == b"1"


def test_without_a_place_to_write_it_lives_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with closing(KeptRows.of(tmp_path / "file" / "t")) as rows:
        assert rows.path is None
        assert rows.add("known", "a")
        assert not rows.add("known", "a")
    assert "kept in memory" in caplog.text


def test_a_file_that_cannot_be_read_any_more_is_dropped(tmp_path: Path) -> None:
    """The next start reads the topics, instead of finding it again."""
    rows = KeptRows.of(tmp_path / "t")
    rows.db.execute("drop table kept")
    with pytest.raises(sqlite3.DatabaseError):
        rows.get("known", "a")
    rows.close()
    assert not (tmp_path / "t.0.db").exists()


def test_a_record_that_was_taken_in_part_is_read_again(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, _, _ = setting
    solved(runtime, 0, 6)
    runtime.log().publish([("feedback", "late", {}, label("1"))])
    look = View.episodes_of

    def broken(view: View, feedback: Feedback) -> list[str]:
        raise RuntimeError("in the middle")

    with monkeypatch.context() as patch:
        patch.setattr(View, "episodes_of", broken)
        with pytest.raises(RuntimeError, match="in the middle"):
            runtime.live(Life())
    before, asked = count(runtime.log(), "graded"), list[str]()

    def heard(view: View, feedback: Feedback) -> list[str]:
        asked.append(feedback.by)
        return look(view, feedback)

    monkeypatch.setattr(View, "episodes_of", heard)
    assert runtime.live(Life()) == Outcome()
    assert asked
    assert count(runtime.log(), "graded") == before + 1


def test_rows_that_nobody_closed_are_let_go_of_with_their_worker() -> None:
    """As of a worker that never ran; Python says so where it comes upon them, in whatever runs then."""
    rows = KeptRows()
    db = rows.db
    del rows
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        db.execute("select 1")


def test_feedback_that_cannot_be_read_gets_its_letter_though_its_first_worker_died_as_it_sent_it(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read is kept, up to where it was; whether its letter is on the log is not known then."""
    runtime, place, broker = setting
    solved(runtime, 0, 4)
    broker.append(place.topic("feedback"), 1, [(b"k", b"no feedback", [], 1)])
    send = Producer.send_batch

    async def die(self: Producer, batch: Batch, topic: str, *, partition: int) -> Any:
        if topic == place.dead("feedback"):
            raise Died
        return await send(self, batch, topic, partition=partition)

    with monkeypatch.context() as patch:
        patch.setattr(Producer, "send_batch", die)
        assert runtime.live(Life()) is None
    for _ in range(2):
        assert runtime.live(Life()) == Outcome()
        ((_, _, _, value),) = runtime.log().messages("dead-letters")
        assert value == b"no feedback"
    assert began_at(runtime)
