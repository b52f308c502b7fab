"""A flood of lines of the client libraries becomes a few, and none of it is lost without a word."""

from __future__ import annotations

import logging
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.interfaces.cli.chatter import CLIENTS, EVERY_S, MOST_KINDS, Damped, damping

TIMES = st.lists(st.tuples(st.integers(0, 5), st.floats(0, EVERY_S)), max_size=60)


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def kept() -> Generator[Kept]:
    root, handler = logging.getLogger(), Kept()
    root.addHandler(handler)
    yield handler
    root.removeHandler(handler)


def line(kind: int, number: int) -> logging.LogRecord:
    text = f"{'abcdef'[kind]} cannot be reached, attempt %s"
    return logging.LogRecord("aiokafka", logging.ERROR, "", 0, text, (number,), None)


def test_a_flood_is_its_first_line_and_a_count(kept: Kept) -> None:
    log = logging.getLogger("aiokafka.client")
    with damping():
        for number in range(6_573):
            log.error("Unable connect to node with id %s: %s", number % 3, "refused")
        assert kept.lines == ["Unable connect to node with id 0: refused"]
    assert kept.lines[1:] == [
        "Unable connect to node with id 2: refused (6,572 more like it since)"
    ]


def test_numbers_that_a_library_wrote_in_make_no_other_kind(kept: Kept) -> None:
    with damping():
        for number in range(500):
            logging.getLogger("faust.transport").error(f"No active partitions for {number}")  # noqa: G004
    assert len(kept.lines) == 2


@given(TIMES)
def test_every_line_is_said_or_counted_and_none_too_often(events: list[tuple[int, float]]) -> None:
    root, kept, now = logging.getLogger(), Kept(), [0.0]
    root.addHandler(kept)
    damped = Damped(lambda: now[0])
    try:
        for number, (kind, wait) in enumerate(events):
            now[0] += wait
            damped.emit(line(kind, number))
        during = len(kept.lines)
        damped.rest()
    finally:
        root.removeHandler(kept)
    counted = sum(int(said.split("(")[1].split()[0]) for said in kept.lines if "(" in said)
    alone = sum("(" not in said for said in kept.lines)
    summed_during = sum("(" in said for said in kept.lines[:during])
    assert alone + counted + summed_during == len(events)
    kinds = {kind for kind, _ in events}
    assert during <= len(kinds) * (1 + now[0] / EVERY_S)


def test_what_is_kept_of_a_flood_is_bounded() -> None:
    damped = Damped()
    for number in range(10 * MOST_KINDS):
        name = f"aiokafka.{number}"
        damped.emit(logging.LogRecord(name, logging.DEBUG, "", 0, "x", None, None))
    assert len(damped.kinds) <= MOST_KINDS


def test_everything_is_as_before_once_it_is_over() -> None:
    def state() -> list[tuple[bool, int]]:
        logs = [logging.getLogger(name) for name in CLIENTS]
        return [(log.propagate, len(log.handlers)) for log in logs]

    before = state()
    with damping():
        assert state() != before
    assert state() == before
