"""Closings of an embedded log are stamped with the records before them, whoever else writes meanwhile."""

from __future__ import annotations

from contextlib import closing
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed
from schemas.events.reasoning import Voted
from schemas.usage import NOTHING
from streams.replay.left_out import Leftovers
from streams.replay.stamped import restamped
from streams.runtime.embedded.log import SqliteLog, Writer

ADDRESSES = ("admitted", "opened", "0", "1", "1.0.0", "label.1", "closed")
MOVE = st.tuples(
    st.sampled_from((0, 0, 0, 1)),
    st.sampled_from(("p/d/a/0", "p/d/a/0", "q/d/c/0")),
    st.sampled_from(ADDRESSES[:-1]),
    st.integers(0, 3),
    st.booleans(),
)
Move: TypeAlias = tuple[int, str, str, int, bool]
"""Whose record it is, its episode, address and content, and whether a commit is made after it."""


def state(writer: Writer, episode: str, address: str, votes: int) -> None:
    event: Event = Voted(answer="x", votes=votes, of=max(1, votes))
    if address == "closed":
        event = EpisodeClosed(status="answered", ended_by="answer", usage=NOTHING)
    writer.state("events", episode, address, event)


def stamped_wrongly(log: SqliteLog) -> list[str]:
    return [each.episode for each in restamped(log, Leftovers())]


@given(st.lists(MOVE, max_size=12), st.lists(MOVE, max_size=4), st.lists(MOVE, max_size=4))
@settings(max_examples=200)
def test_a_closing_is_stamped_with_what_the_log_holds_before_it(
    before: list[Move], with_it: list[Move], after: list[Move]
) -> None:
    with closing(SqliteLog(":memory:", create=True)) as log:
        writers = log.claim("one"), log.claim("two", 1)

        def made(moves: list[Move]) -> None:
            for who, episode, address, votes, flush in moves:
                state(writers[who], episode, address, votes)
                if flush:
                    writers[who].flush()

        state(writers[0], "p/d/a/0", "admitted", 1)
        state(writers[0], "q/d/c/0", "opened", 1)
        writers[0].flush()  # whoever works on an episode begins with these
        made(before)
        writers[1].flush()
        writers[0].flush()
        made([(*each[:4], False) for each in with_it])
        state(writers[0], "p/d/a/0", "closed", 1)
        state(writers[0], "q/d/c/0", "closed", 1)
        made(after)
        writers[0].flush()
        writers[1].flush()
        assert stamped_wrongly(log) == []


def test_who_takes_an_episode_over_reads_what_was_recorded_of_it() -> None:
    with closing(SqliteLog(":memory:", create=True)) as log:
        first = log.claim("one")
        for address in ("admitted", "opened", "0"):
            state(first, "p/d/a/0", address, 1)
        first.flush()
        second = log.claim("two")
        for address in ("admitted", "opened", "0", "1", "closed"):
            state(second, "p/d/a/0", address, 2)
            second.flush()
        assert stamped_wrongly(log) == []
