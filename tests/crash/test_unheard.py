"""A worker whose words nobody reads any more still does what it is told."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from streams.runtime.embedded.log import SqliteLog
from tests.crash.processes import until
from tests.streams.cli.calling import call, process


def test_who_is_told_to_end_ends_though_nobody_reads_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert call("produce", "game24:901-940", "--policy", "mc2", "--log", path).code == 0
    work = ("worker", "--backbone", "rehearsal:latency_ms=200", "--no-tables", "--log", path)
    with process(*work, cwd=tmp_path) as worker, closing(SqliteLog(path)) as log:
        try:
            assert until(lambda: any(True for _ in log.records(kinds=("completed",))), worker)
            assert worker.stderr is not None
            worker.stderr.close()
            worker.terminate()
            assert worker.wait(60) == 0
        finally:
            worker.kill()
