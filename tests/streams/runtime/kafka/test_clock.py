"""On Kafka, too, nothing but the times on record hangs on a wall clock that is set back or forward."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.progress import Outcome
from streams.replay.verify import Verifier
from streams.runtime.kafka import append, ownership
from tests.contracts.runtimes import Life, in_one_process, on_kafka_in_memory
from tests.laws.test_clock import JUMPS, Clock
from tests.pupil import PUPIL, meant, problems, publication


@pytest.fixture(scope="module")
def undisturbed() -> tuple[str, str]:
    """What the problems mean in one process, by the clock as it is."""
    with in_one_process() as runtime:
        runtime.log().publish(*publication(problems()))
        assert runtime.live(Life()) == Outcome()
        return meant(runtime.log())


@given(JUMPS, st.sampled_from((None, 25)))
@settings(max_examples=6, deadline=None)
def test_workers_mean_the_same_whatever_their_clocks_say(
    undisturbed: tuple[str, str], hours: list[int], dies_after: int | None
) -> None:
    clock = Clock(hours)
    with on_kafka_in_memory() as runtime, pytest.MonkeyPatch.context() as patched:
        for module in (append, ownership):
            patched.setattr(module, "now_ms", clock.now_ms)
        runtime.log().publish(*publication(problems()))
        if dies_after is not None:
            assert runtime.live(Life(dies_after=dies_after)) is None
        assert runtime.live(Life()) == Outcome()
        log = runtime.log()
        assert meant(log) == undisturbed
        assert Verifier(log, lambda name: PUPIL).run().diverged == []
        assert log.counter("repeated") == 0
        assert clock.looks > log.end() / 2
