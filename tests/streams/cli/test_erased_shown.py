"""What a dashboard shows of a subject that was erased while it ran."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from streams.interfaces.dashboard.live_log import LiveLog
from tests.streams.cli.subjects import ANN
from tests.streams.cli.test_erasing import IDLE, erase, log, mark_of, ok

__all__ = ["log"]


def test_a_dashboard_that_runs_shows_no_more_of_whom_it_read_before(log: Path) -> None:
    ok("worker", *IDLE, "--log", log)
    live_log, mark = LiveLog(log), mark_of(log)

    def shown() -> set[str]:
        while live_log.look():
            pass
        return {life.scope for life in live_log.state.lives.known.values()}

    with closing(live_log.log), closing(live_log.counts):
        before = shown()
        assert erase(log, ANN, "--yes").code == 0
        assert shown() == {scope for scope in before if mark not in scope} < before
