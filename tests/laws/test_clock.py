"""The wall clock may go back or forward by hours at any moment: nothing but the times on record hangs on it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.policies import find
from streams.replay.verify import Verifier
from streams.runtime.embedded import log as log_module
from streams.runtime.embedded import writer as writer_module
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import End, end_of, produced, quick, worked

HOUR_MS = 3_600_000
JUMPS = st.lists(st.integers(-48, 48), min_size=1, max_size=12)
"""By how many hours the clock is off, look after look; then from the first again."""


class Clock:
    """A wall clock that somebody sets while the work goes on."""

    def __init__(self, hours: list[int]) -> None:
        self.hours, self.looks = hours, 0

    def now_ms(self) -> int:
        self.looks += 1
        return 1_795_000_000_000 + self.looks + HOUR_MS * self.hours[self.looks % len(self.hours)]


def ended(hours: list[int], policy: str) -> End:
    """What a log comes to under such a clock; it is verified."""
    clock = Clock(hours)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        for module in (log_module, writer_module):
            patched.setattr(module, "now_ms", clock.now_ms)
        path = Path(folder, "a.db")
        produced(path, "game24:901-902", policy=policy, values={})
        with closing(quick(SqliteLog(path))) as log:
            outcome, _ = worked(log, concurrency=1)
            assert (outcome.held, outcome.parked) == ([], [])
            assert Verifier(log, find).run().diverged == []
            assert clock.looks > len(log.journal("w/0"))
            return end_of(log)


@given(JUMPS)
@example([0, 0, 24])
@settings(max_examples=10)
def test_what_a_log_comes_to_hangs_on_no_clock_and_it_is_never_called_changed(
    hours: list[int],
) -> None:
    assert ended(hours, "graph_memory") == ended([0], "graph_memory")
