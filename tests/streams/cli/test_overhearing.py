"""Who talks to a broker listens to its client for a while, and leaves the process's logs as they were."""

from __future__ import annotations

import logging
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.interfaces.cli.errors import CliError
from streams.interfaces.cli.kafka_log import place_of, reached
from streams.interfaces.cli.kafka_refused import CLIENT, overhearing

CLIENTS = ("aiokafka", "aiokafka.client", "faust", "mode", "kafka")
Heard = tuple[str, int, bool, bool]


def state() -> list[Heard]:
    logs = [logging.getLogger(name) for name in CLIENTS]
    return [(log.name, log.level, log.propagate, log.isEnabledFor(logging.INFO)) for log in logs]


def nobody_there() -> None:
    logging.getLogger("aiokafka.client").error("Unable connect to node: %s", OSError("refused"))
    raise ConnectionRefusedError(111, "refused")


def test_a_broker_that_is_away_leaves_the_logs_as_they_were(
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = state()
    with pytest.raises(CliError, match="no broker answered"):
        reached(place_of("kafka://127.0.0.1:9"), nobody_there)
    assert state() == before
    assert not caplog.records


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.sampled_from([0, 10, 30, 50]))
def test_several_who_listen_at_once_give_back_what_the_first_found(
    order: list[int], level: int
) -> None:
    log = logging.getLogger(CLIENT)
    log.setLevel(level)
    try:
        before, listening = state(), [ExitStack() for _ in order]
        for each in listening:
            each.enter_context(overhearing(printed=False))
        for which in order:
            assert not log.propagate
            listening.pop(which % len(listening)).close()
        assert state() == before
    finally:
        log.setLevel(logging.NOTSET)
