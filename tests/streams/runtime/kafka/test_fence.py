"""The claim fence as a law: whatever two or more owners append, late or not, readers never contradict."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.kafka.envelope import LogRecord
from streams.runtime.kafka.fence import CLAIMED, EventsFold, Fence, OddReplies
from streams.runtime.kafka.owned import Owned

EPISODE = "p/d/1/r"


def claim(name: str) -> LogRecord:
    return LogRecord("w/0", f"claimed.{name}", CLAIMED, None, b"{}")


@dataclass
class Owner:
    """Claims, reads up to its claim, then believes what it read and what it says itself."""

    log: list[LogRecord]
    rng: random.Random
    epoch: int = 0
    known: dict[str, bytes] = field(default_factory=dict[str, bytes])
    late: list[LogRecord] = field(default_factory=list[LogRecord])

    def __post_init__(self) -> None:
        self.log.append(claim(str(self.rng.random())))
        self.epoch = len(self.log) - 1
        fold = read(self.log)
        self.known = {a: said.body for a, said in fold.journal(EPISODE).items()}
        self.said = 0

    def say(self) -> None:
        address = "admitted" if not self.known else str(len(self.known) - 1)
        kind = "problem.admitted" if address == "admitted" else "completed"
        because = b"|".join(self.known.values())
        body = f"{self.rng.random():.9f}".encode() + b"<" + str(hash(because)).encode()
        self.late.append(LogRecord(EPISODE, address, kind, self.epoch, body))
        self.known[address] = body

    def land(self) -> None:
        if self.late:
            self.log.append(self.late.pop(0))


def read(log: list[LogRecord], upto: int | None = None) -> EventsFold:
    fold = EventsFold()
    for offset, said in enumerate(log[:upto]):
        fold.take(offset, said)
    return fold


def played(seed: int) -> list[LogRecord]:
    """A log that several owners wrote, each unaware of the others until it is told."""
    rng = random.Random(seed)
    log: list[LogRecord] = []
    owners = [Owner(log, rng)]
    for _ in range(rng.randint(5, 60)):
        if rng.random() < 0.1:
            owners.append(Owner(log, rng))
        owner = rng.choice(owners)
        if rng.random() < 0.5:
            owner.say()
        else:
            owner.land()
    for owner in owners:
        while owner.late:
            owner.land()
    return log


def reasons(fold: EventsFold) -> None:
    """Each accepted record follows from exactly the accepted records before it."""
    journal = fold.journal(EPISODE)
    before: list[bytes] = []
    for said in journal.values():
        assert said.body.rpartition(b"<")[2] == str(hash(b"|".join(before))).encode()
        before.append(said.body)


@given(st.integers(min_value=0, max_value=2**32))
def test_no_schedule_of_owners_contradicts_itself(seed: int) -> None:
    reasons(read(played(seed)))


@given(st.integers(min_value=0, max_value=2**32), st.integers(min_value=0, max_value=60))
def test_a_reader_that_stops_anywhere_and_goes_on_reads_the_same(seed: int, cut: int) -> None:
    log = played(seed)
    fold = read(log, cut)
    for offset, said in list(enumerate(log))[cut:]:
        fold.take(offset, said)
    assert fold.open == read(log).open
    assert fold.odd == read(log).odd


@given(st.integers(min_value=0, max_value=2**32), st.randoms(use_true_random=False))
def test_what_is_delivered_twice_counts_once(seed: int, rng: random.Random) -> None:
    log = played(seed)
    twice = EventsFold()
    for offset, said in enumerate(log):
        twice.take(offset, said)
        if said.kind != CLAIMED and rng.random() < 0.3:
            assert not twice.take(offset, said)
    assert twice.open == read(log).open
    assert twice.odd == read(log).odd


def test_a_reply_that_came_twice_is_told_from_a_question_that_was_asked_twice() -> None:
    """Whoever takes the partition again reads the same record again; it is one all the same."""
    odd = OddReplies()

    def read_on(*more: LogRecord) -> EventsFold:
        fold = Owned.beginning(0, None, set[str](), odd).fold
        for offset, said in enumerate((claim("a"), *begun, *more)):
            fold.take(offset, said)
        return fold

    begun = (
        LogRecord(EPISODE, "admitted", "problem.admitted", 0, b"{}"),
        LogRecord(EPISODE, "0", "completed", 0, b"one"),
        LogRecord(EPISODE, "0", "completed", 0, b"one"),
        LogRecord(EPISODE, "1", "experience.felt", 0, b"one"),
        LogRecord(EPISODE, "1", "experience.felt", 0, b"two"),
    )
    assert read_on().odd == OddReplies(), "the same batch, sent again"
    twice = LogRecord(EPISODE, "0", "completed", 0, b"two")
    later = LogRecord(EPISODE, "2", "completed", None, b"unclaimed")
    for _ in range(2):
        assert read_on(twice, later).odd == OddReplies(stale={7}, repeated={6})
    assert odd == OddReplies(stale={7}, repeated={6}), "of the process, and not of each reading"


def test_without_the_fence_some_schedule_contradicts_itself() -> None:
    """The law is not vacuous: a fold that trusts every record breaks it."""

    class Trusting(Fence):
        def admits(self, offset: int, said: LogRecord) -> bool:
            return True

    broken = 0
    for seed in range(300):
        fold = EventsFold(Trusting())
        for offset, said in enumerate(played(seed)):
            fold.take(offset, said)
        try:
            reasons(fold)
        except AssertionError:
            broken += 1
    assert broken > 0


def test_commands_need_no_claim_and_answers_do() -> None:
    fence = Fence()
    assert fence.admits(0, LogRecord("n/s", "series", "series.opened", None, b""))
    assert not fence.admits(1, LogRecord("e", "0", "completed", None, b""))
    assert fence.admits(2, claim("a"))
    assert fence.admits(3, LogRecord("e", "0", "completed", 2, b""))
    assert fence.admits(4, claim("b"))
    assert not fence.admits(5, LogRecord("e", "1", "completed", 2, b""))
    assert (fence.in_force(4), fence.in_force(5), fence.in_force(1)) == (2, 4, -1)


def test_a_word_that_nobody_can_read_leaves_what_waits_as_it_is() -> None:
    """What waits without its text was left with that word alone, and never found its problem again."""
    fold = read([claim("a"), LogRecord(EPISODE, "admitted", "problem.admitted", 0, b"{}")])
    fold.lighten(EPISODE)
    for body in (b'{"void":"so be it"}', b'{"void":true,"by":[]}', b'{"version":2,"void":true}'):
        assert not fold.take(
            fold.upto, LogRecord(EPISODE, "adopted.0", "episode.adopted", None, body)
        )
        assert fold.open == {EPISODE: None}
    void = LogRecord(EPISODE, "adopted.0", "episode.adopted", None, b'{"void":true}')
    assert fold.take(fold.upto, void)
    assert fold.journal(EPISODE) == {"adopted.0": void}


def test_from_a_checkpoint_closed_episodes_are_passed_over() -> None:
    """Records whose admission lies before the checkpoint belong to closed episodes."""
    log = [claim("a"), LogRecord("old", "admitted", "problem.admitted", 0, b"1")]
    log += [
        LogRecord("new", "admitted", "problem.admitted", 0, b"2"),
        LogRecord("old", "0", "completed", 0, b"3"),
    ]
    log += [
        LogRecord("old", "closed", "episode.closed", 0, b"4"),
        LogRecord("new", "0", "completed", 0, b"5"),
    ]
    fold = EventsFold(Fence(0, [0]), upto=2)
    for offset, said in list(enumerate(log))[2:]:
        fold.take(offset, said)
    assert list(fold.open) == ["new"]
    assert list(fold.journal("new")) == ["admitted", "0"]
    assert fold.needed() == 2
    fold.forget("new")
    assert fold.needed() == len(log)


def test_a_set_that_was_over_before_the_checkpoint_is_not_opened_again() -> None:
    """Its record lies behind admissions that nobody needs any more; one of its members came late."""
    fold = EventsFold(Fence(0, [0]), upto=5)
    admitted, opened = b"{}", b'{"members": ["p/d/a/r", "p/d/b/r"]}'
    assert fold.take(5, LogRecord("p/d/c/r", "admitted", "problem.admitted", 0, admitted))
    assert fold.take(6, LogRecord("p/d/b/r", "admitted", "problem.admitted", 0, admitted))
    assert not fold.take(7, LogRecord("s/x/1", "opened", "episode.opened", 0, opened))
    assert not fold.take(8, LogRecord("p/d/b/r", "closed", "episode.closed", 0, b"{}"))
    assert (set(fold.open), fold.sets, fold.within) == ({"p/d/c/r"}, {}, {})
    assert fold.needed() == 5
