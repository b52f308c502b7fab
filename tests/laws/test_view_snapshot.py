"""A view goes on from its file as from the whole topics, wherever it was committed and whenever its process ended."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.events.base import Event
from schemas.events.episode import PartitionClaimed
from schemas.events.learning import Reflected
from schemas.problem import Feedback
from schemas.written import feedback_of
from state.folds.state import State
from streams.core.closing import check, evidence_of
from streams.engine.judgements import Judgements
from streams.engine.learner import Learner
from streams.runtime.kafka.envelope import headers_of
from streams.runtime.kafka.follow import Follower, Spot
from streams.runtime.kafka.kept import KeptJudgements, KeptRows
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.snapshot import ViewSnapshot
from streams.runtime.kafka.view import View, ViewRecords
from tests.laws.series import reflected
from tests.memory_kafka.broker import Broker
from tests.memory_kafka.fixture import in_memory
from tests.streams.test_resuming import Drawn, of_pupil, same

PARTITIONS = 2


class Checked(Drawn):
    """A scope's life in which the domain's own checker grades too."""

    def reflects(self) -> None:
        super().reflects()
        episode, _, event = self.said[-1]
        assert isinstance(event, Reflected)
        self.owed.extend((episode, address, grade) for address, grade in check(event))


class Told:
    """The shared topics of a log, drawn: claims, what was learned, judgements, checkpoints, what nobody can read."""

    def __init__(self, place: KafkaAddress, broker: Broker, seed: int) -> None:
        self.place, self.broker, self.draw = place, broker, random.Random(seed)
        self.epoch, self.number = -1, 0
        life = Checked(seed)
        life.live(120)
        self.claims()
        for said in life.said:
            self.draw.choice([self.nothing] * 6 + [self.claims, self.stale, self.judges])(*said)
            self.learns(*said)
            if self.draw.random() < 0.1:
                self.learns(*said)  # once more
            if self.draw.random() < 0.2:
                self.notes()

    def put(self, topic: str, partition: int, key: bytes, value: bytes, headers: Any = ()) -> int:
        self.number += 1
        return self.broker.append(topic, partition, [(key, value, [*headers], self.number)])

    def nothing(self, *said: Any) -> None: ...

    def claims(self, *said: Any) -> None:
        after = str(self.epoch).encode()
        headers = headers_of("partition.claimed", "w/0", f"claimed.{self.number}", 1, after)
        body = PartitionClaimed(worker="w").to_json()
        self.epoch = self.put(self.place.topic("learning"), 0, b"w", body, headers)

    def learns(self, episode: str, address: str, event: Event, epoch: int | None = None) -> None:
        at = str(self.epoch if epoch is None else epoch).encode()
        headers = headers_of(event.kind, episode, address, 1, at)
        self.put(self.place.topic("learning"), 0, episode.encode(), event.to_json(), headers)

    def stale(self, episode: str, address: str, event: Event) -> None:
        self.learns(episode, address + "9", event, self.epoch - 1)

    def judges(self, episode: str, address: str, event: Event) -> None:
        who = self.draw.choice(["ann", "bob"])
        about: dict[str, Any] = {"episode": episode}
        if self.draw.random() < 0.4:
            about = {"domain": "game24", "problem_id": f"x{self.draw.randrange(60)}"}
        body = orjson.dumps({**about, "verdict": self.draw.random() < 0.5, "by": who})
        if self.draw.random() < 0.2:
            body = b"{"
        partition = len(str(about)) % PARTITIONS
        at = self.put(self.place.topic("feedback"), partition, b"f", body)
        if body == b"{" and self.draw.random() < 0.5:
            self.put(self.place.dead("feedback"), 0, b"feedback/%d/%d" % (partition, at), body)

    def notes(self) -> None:
        said: dict[str, Any] = {
            "partition": 0,
            "epoch": self.epoch,
            "number": self.number,
            "parked": [],
        }
        self.put(self.place.topic("checkpoints"), 0, b"0", orjson.dumps(said))


class Reader:
    """A worker's view, of which any moment may be the last."""

    def __init__(self, place: KafkaAddress, kept: Path | None) -> None:
        self.learner = Learner(of_pupil)
        self.view = View(
            place, self.learner, PARTITIONS, lambda _, __, ___: None, KeptRows.of(kept)
        )
        self.snapshot = ViewSnapshot(self.view, self.learner)
        self.follower = Follower(place, self.view.take)
        asyncio.run(self.snapshot.begin(self.follower))

    def take(self, broker: Broker, spot: Spot) -> bool:
        at, log = self.follower.positions[spot], broker.logs[spot]
        if at == len(log):
            return False
        self.follower.positions[spot] = at + 1
        self.view.take(*spot, log[at])
        return True

    def die(self) -> None:
        """As by SIGKILL: nothing more is written, and the system lets go of the lock."""
        self.view.rows.db.close()
        if self.view.rows.lock is not None:
            self.view.rows.lock.close()

    def meant(self) -> tuple[Any, ...]:
        view = self.view
        rows = view.rows.db.execute(
            "select * from kept where part not in ('head', 'owing') order by part, key"
        ).fetchall()
        graders = {source: set(known) for source, known in view.graders.items()}
        fences = [(fence.epoch, fence.by) for fence in view.fences]
        upto = view.upto, view.feedback_upto, view.said_ms
        journals = {episode: journal for episode, journal in view.journals.items() if journal}
        return rows, graders, fences, upto, journals, view.owing, view.checkpoints, {*view.unread}


def read_on(reader: Reader, broker: Broker, draw: random.Random, most: int | None = None) -> bool:
    """Read so many records, of the partitions in turns that are drawn. Returns whether more are there."""
    spots = [*reader.follower.positions]
    while spots and most != 0:
        spot = draw.choice(spots)
        for _ in range(draw.randint(1, 9)):
            if most == 0 or not reader.take(broker, spot):
                break
            most = None if most is None else most - 1
        if reader.follower.positions[spot] == len(broker.logs[spot]):
            spots.remove(spot)
    return bool(spots)


@contextmanager
def drawn(seed: int) -> Generator[tuple[KafkaAddress, Broker, random.Random]]:
    with in_memory(PARTITIONS) as (place, broker):
        Told(place, broker, seed)
        yield place, broker, random.Random(seed)


@pytest.mark.parametrize("seed", range(16))
def test_whenever_it_dies_it_comes_to_the_same(seed: int, tmp_path: Path) -> None:
    with drawn(seed) as (place, broker, draw):
        whole = Reader(place, None)
        read_on(whole, broker, draw)
        began = list[int]()
        while True:
            reader = Reader(place, tmp_path / "kept")
            began.append(reader.snapshot.began_at)
            more = read_on(reader, broker, draw, draw.randint(1, 60))
            reader.snapshot.save()
            if not (more and read_on(reader, broker, draw, draw.randint(0, 25))):
                break
            reader.die()
        assert reader.meant() == whole.meant()
        assert same(reader.learner, whole.learner)
        assert reader.learner.state_hash() == whole.learner.state_hash()
        reader.die()
        whole.die()
        assert len(began) > 2
        assert began[-1] > 0, "it read on from the file"


@pytest.mark.parametrize("seed", range(4))
def test_the_folds_in_the_file_are_those_of_the_log(seed: int, tmp_path: Path) -> None:
    """Else the next start would go on from something that no log holds."""
    with drawn(seed) as (place, broker, draw):
        reader = Reader(place, tmp_path / "kept")
        while read_on(reader, broker, draw, 50):
            reader.snapshot.close()
            reader = Reader(place, tmp_path / "kept")
        reader.snapshot.close()
        state = State()
        whole = Reader(place, None)

        def fed(episode: str, address: str, event: Event) -> None:
            state.feed(state.offset + 1, episode, address, event)

        whole.view.on_accepted = fed
        read_on(whole, broker, draw)
        assert reader.snapshot.state.offset == state.offset
        assert reader.snapshot.state.hash() == state.hash()
        whole.die()


def test_lives_that_are_drawn_owe_grades_and_hold_what_nobody_can_read() -> None:
    """The laws above say something of each."""
    seen = [0, 0, 0, 0]
    for seed in range(16):
        with drawn(seed) as (place, broker, draw):
            whole = Reader(place, None)
            read_on(whole, broker, draw)
            view = whole.view
            found = (view.owing, view.unread, view.checkpoints, view.rows.under("taught", ""))
            seen = [one + bool(more) for one, more in zip(seen, found, strict=True)]
            whole.die()
    assert min(seen) > 4, seen


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([{"episode": "p/d/1/0"}, {"domain": "d", "problem_id": "1"}]),
            st.sampled_from(["verdict", "score", "reference"]),
            st.floats(0, 1),
            TEXTS | st.lists(TEXTS, max_size=2) | st.integers(-9, 9),
            TEXTS,
            st.integers(0, 3),
        ),
        max_size=6,
    )
)
def test_judgements_in_rows_say_what_those_in_memory_say(drawn: list[Any]) -> None:
    rows, memory, event = KeptJudgements(KeptRows()), Judgements(), reflected(None, None, False)
    for about, kind, score, reference, who, at in drawn:
        value = {"verdict": score > 0.5, "score": score, "reference": reference}[kind]
        said = feedback_of(orjson.dumps({**about, kind: value, "by": who}))
        assert rows.add(at, said) == memory.add(at, said)
    both = [each.of("p/d/1/0", event) for each in (rows, memory)]
    assert both[0] == both[1]
    assert [evidence_of(each) for each in both[0]] == [evidence_of(each) for each in both[1]]
    assert rows.reference("d", "1") == memory.reference("d", "1")
    assert bool(rows) == bool(memory)


def test_what_is_said_of_one_problem_is_said_of_no_other() -> None:
    rows = KeptJudgements(KeptRows())
    rows.add(1, Feedback(domain="d", problem_id="1", verdict=True))
    rows.add(1, Feedback(episode="p/d/1/0", verdict=True))
    assert [rows.reference("d", each) for each in ("1", "11", "")] == [None] * 3
    assert rows.about(("d", "11")) == rows.about(("p/d/1/00",)) == []
    assert len(rows.about(("d", "1"))) == len(rows.about(("p/d/1/0",))) == 1


def test_a_problem_s_runs_are_found_by_their_names_and_by_what_they_say(tmp_path: Path) -> None:
    """Whoever named them: of one id in another domain none is, and what may not stand there is no run at all."""
    with in_memory(PARTITIONS) as (place, broker):
        told, reader = Told(place, broker, 1), Reader(place, tmp_path / "w")
        run, mine = reflected(None, None, True), Feedback(domain="d", problem_id="x", verdict=True)
        for name in ("p/d/x/r", "p/d/x/taken-1", "p/strange/y/r", "q/p/d/x/r/0/probe/1"):
            told.learns(name, "reflected", run)
        told.learns("p/d/x/closed", "reflected", PartitionClaimed(worker="w"))
        told.learns("p/d/x/closed", "reflected", run)  # the first of an id is there already
        told.learns("p/e/x/r", "reflected", reflected(None, None, True, "e"))
        read_on(reader, broker, random.Random(1))
        wanted = ["p/d/x/r", "p/d/x/taken-1", "p/strange/y/r"]
        assert reader.view.episodes_of(mine) == wanted
        assert reader.view.knows("p/d/x/closed", "reflected")
        assert reader.view.reflection("p/d/x/closed") is None
        assert reader.view.reflection("p/strange/y/r") == run
        found = ViewRecords(reader.view)
        assert [*found.episodes("s", "p/d/x/")] == wanted[:2]
        assert found.find("p/d/x/r", "reflected") == run
        assert found.find("p/d/x/closed", "reflected") is None
        reader.die()
