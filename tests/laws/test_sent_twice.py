"""Laws of sending again: whatever becomes of a batch and of its copies, the log means the same.

A worker that hears nothing of an append sends it again, and again. A copy may be lost, written before, written after
what was stated later, or by a process that is gone: folds take the first of an id, and no claim that does not follow
the one in force.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from orjson import dumps

from schemas.identity import is_numbered
from streams.engine.learner import Learner
from streams.engine.progress import Outcome
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.kafka.envelope import LogRecord
from streams.runtime.kafka.fence import CLAIMED, EventsFold
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.view import View
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka, in_one_process
from tests.memory_kafka.broker import Entry
from tests.memory_kafka.fixture import in_memory
from tests.memory_kafka.unsure import FATES, Fate, unsure_of
from tests.pupil import SIZE, find, meant, problems, publication

Answers = dict[str, bytes]


@pytest.fixture(scope="module")
def calm() -> tuple[tuple[str, str], Answers, int]:
    """What the problems come to where every batch is written once: digests, answers, completions."""
    with in_one_process() as runtime:
        runtime.log().publish(*publication(problems()))
        assert runtime.live(Life()) == Outcome()
        return meant(runtime.log()), answers(runtime.log()), completions(runtime.log())


def answers(log: SqliteLog) -> Answers:
    return {key: value for _, key, _, value in log.messages("answers")}


def completions(log: SqliteLog) -> int:
    return int(
        log.db.execute("select count(*) from records where kind = 'completed'").fetchone()[0]
    )


def in_order(log: SqliteLog) -> bool:
    """Whether each episode was admitted, opened, thought through in order and closed, as its reader sees it."""
    said = defaultdict[str, list[str]](list)
    query = "select episode, address from records where topic = 'events' and episode like 'p/%' order by offset"
    for episode, address in log.db.execute(query):
        said[episode].append(address)
    return all(
        each[:2] == ["admitted", "opened"] and each[-1] == "closed" and ascends(each)
        for each in said.values()
    )


def ascends(addresses: list[str]) -> bool:
    """Whether the numbers of each lane ascend."""
    lanes = defaultdict[str, list[int]](list)
    for lane, _, number in (each.rpartition(".") for each in addresses if is_numbered(each)):
        lanes[lane].append(int(number))
    return all(numbers == sorted(numbers) for numbers in lanes.values())


@example(fates=["lost", "written", "unheard", "last"], drains_after=10)
@given(
    st.lists(st.sampled_from(FATES), min_size=1, max_size=7),
    st.none() | st.integers(1, 12),
)
@settings(max_examples=12)
def test_folds_digests_and_answers_are_the_same_whatever_is_sent_twice(
    calm: tuple[tuple[str, str], Answers, int], fates: list[Fate], drains_after: int | None
) -> None:
    """No question that is on record is asked again, and none twice by one worker: that is checked as it asks."""
    with (
        TemporaryDirectory() as folder,
        in_memory(PARTITIONS) as (place, _),
        closing(KafkaLog(place, Path(folder))) as log,
        unsure_of(fates),
    ):
        runtime = OnKafka(place, log)
        log.publish(*publication(problems()))
        if drains_after is not None:
            runtime.live(Life(drains_after=drains_after))
        assert runtime.live(Life()) == Outcome()
        seen = runtime.log()
        assert (meant(seen), answers(seen), completions(seen)) == calm
        assert len(answers(seen)) == SIZE
        assert in_order(seen)
        assert seen.counter("repeated") == 0


def test_the_law_is_not_vacuous(tmp_path: Path) -> None:
    with (
        in_memory(PARTITIONS) as (place, broker),
        closing(KafkaLog(place, tmp_path)) as log,
        unsure_of(FATES) as unsure,
    ):
        log.publish(*publication(problems()))
        assert OnKafka(place, log).live(Life()) == Outcome()
        assert unsure.copies > SIZE
        held = Counter(
            (entry.topic, dict(entry.headers).get("ce_id"))
            for entries in broker.logs.values()
            for entry in entries
        )
        assert sum(count > 1 for (topic, _), count in held.items() if "events" in topic) > SIZE


# -- the fold alone -----------------------------------------------------------------------------------


def a_log(owners: int, steps: int, copies: Sequence[tuple[int, int]]) -> list[LogRecord]:
    """A partition: each owner claims after the former and goes on with one episode; then copies are put in.

    A copy of the record at the first number comes so many places after it.
    """
    said: list[LogRecord] = []
    epoch, at = -1, 0
    for owner in range(owners):
        # an owner's epoch is where its claim lies; copies move it, so it is told by the fold below
        said.append(LogRecord("w/0", f"claimed.{owner}", CLAIMED, epoch, b"{}"))
        epoch = owner
        for _ in range(steps):
            address = "admitted" if at == 0 else str(at - 1)
            kind = "problem.admitted" if at == 0 else "completed"
            said.append(LogRecord("p/d/1/r", address, kind, epoch, b"%d" % at))
            at += 1
    for first, distance in copies:
        place = first % len(said)
        said.insert(min(place + 1 + distance, len(said)), said[place])
    return said


def placed(said: Sequence[LogRecord]) -> EventsFold:
    """The fold of these records, with each claim's number as the offset where its first copy came to lie."""
    fold, offsets = EventsFold(), dict[int, int]()
    for offset, each in enumerate(said):
        owner = int(each.address.rpartition(".")[2]) if each.kind == CLAIMED else None
        if owner is not None:
            offsets.setdefault(owner, offset)
        epoch = -1 if each.epoch == -1 else offsets[each.epoch or 0]
        fold.take(offset, LogRecord(each.episode, each.address, each.kind, epoch, each.body))
    return fold


@given(
    st.integers(1, 4),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=8),
)
def test_no_copy_changes_a_partition_s_fold(
    owners: int, steps: int, copies: list[tuple[int, int]]
) -> None:
    alone, crowded = placed(a_log(owners, steps, [])), placed(a_log(owners, steps, copies))
    assert list(crowded.journal("p/d/1/r")) == list(alone.journal("p/d/1/r"))
    assert [s.body for s in crowded.journal("p/d/1/r").values()] == [
        b"%d" % n for n in range(owners * steps)
    ]
    assert len(crowded.fence.claims) == owners
    assert crowded.fence.by == alone.fence.by


def test_a_late_copy_of_a_former_claim_takes_nothing_from_the_owner() -> None:
    """Whoever took it for a claim would call stale what the owner goes on to pay for."""
    rng = random.Random(7)
    said = a_log(2, 3, [(0, 5 + rng.randrange(2))])
    assert [each.address for each in said].count("claimed.0") == 2
    assert len(placed(said).journal("p/d/1/r")) == 6


@given(
    st.lists(st.sampled_from(["next", "over", "parked"]), min_size=1, max_size=25),
    st.integers(0, 60),
    st.lists(st.integers(0, 24), max_size=6),
)
def test_who_begins_at_a_checkpoint_takes_no_late_copy_for_an_admission(
    acts: list[str], cut: int, copies: list[int]
) -> None:
    """Not even of what was closed long ago, and is not in the index yet: it would be worked on twice."""
    said: list[LogRecord] = []
    for act in acts:
        asked = sum(each.kind == "problem.admitted" for each in said)
        going = [f"p/d/{n}/r" for n in range(asked)]
        for each in said:
            if each.kind in ("episode.closed", "episode.parked"):
                going.remove(each.episode)
        if act == "next" or not going:
            name, body = f"p/d/{asked}/r", dumps({"offset": 3 * asked})
            said.append(LogRecord(name, "admitted", "problem.admitted", -1, body))
        else:
            ends = ("closed", "episode.closed") if act == "over" else ("parked", "episode.parked")
            said.append(LogRecord(going[len(said) % len(going)], *ends, -1, b"{}"))
    end = cut % (len(said) + 1)
    admitted = [each for each in said[:end] if each.kind == "problem.admitted"]
    late = [admitted[n % len(admitted)] for n in copies if admitted]
    told = [*said[:end], *late, *said[end:]]
    whole = read(EventsFold(), told, 0, end)
    last = max((orjson.loads(each.body)["offset"] for each in admitted), default=-1)
    asked_from = whole.needed_from()
    fresh = EventsFold(
        asked_from=last + 1 if asked_from is None else asked_from, upto=whole.needed()
    )
    shelved = {each for each, times in whole.parked.items() if times > 0}
    start = fresh.upto
    read(fresh, told, start, len(told))
    read(whole, told, end, len(told))
    assert {*fresh.open} | shelved == {*whole.open}
    # An index of what lies before the beginning has the other closings.
    assert all(e.episode in fresh.closed for e in told[start:] if e.kind == "episode.closed")
    # Of what lies on the shelf nothing is open here, but for what was admitted behind the beginning.
    assert all(fresh.parked.get(each) == 1 for each in shelved & {*fresh.open})


def read(fold: EventsFold, told: Sequence[LogRecord], start: int, end: int) -> EventsFold:
    """The fold after these records, as the owner has it: what is closed is relayed at once, and forgotten."""
    for offset, each in enumerate(told[start:end], start):
        if fold.take(offset, each) and each.kind == "problem.admitted":
            fold.asked[each.episode] = orjson.loads(each.body)["offset"]
        elif each.kind == "episode.closed" and each.episode in fold.open:
            fold.forget(each.episode)
    return fold


def test_a_late_copy_of_a_checkpoint_is_not_the_latest() -> None:
    """Whoever took it for that would wait for ever for an owner that has nothing more to say."""
    place = KafkaAddress.of("kafka://nowhere:1")
    view = View(place, Learner(find), 1, lambda _, __, ___: None)
    for number in (1, 2, 1):
        value = dumps({"partition": 0, "epoch": 5, "number": number, "events": number})
        entry = Entry(place.topic("checkpoints"), 0, number, b"0", value, [], 0)
        view.take(entry.topic, 0, entry)
    assert view.checkpoints[0]["events"] == 2
