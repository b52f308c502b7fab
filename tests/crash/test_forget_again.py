"""A second problem is forgotten while versions are made anew for a first one: at any moment, by anybody."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import closing, suppress
from pathlib import Path

import pytest

from schemas.problem import Limits
from streams.engine.policies import find
from streams.replay.lineage import command
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import ClosedAgain, SqliteLog
from streams.runtime.embedded.records import learned
from streams.runtime.embedded.worker import Worker
from streams.runtime.embedded.writer import Writer
from tests.crash.series import Counted, produced
from tests.streams.cli.calling import call

FIRST, SECOND = "n905", "n902"
BESIDE = "n904"
"""Of the batch of the first."""
PLACES = 40


def work(log: SqliteLog) -> None:
    asyncio.run(Worker(log, Counted(), find).run(until_idle=True, settle=True))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A log with four versions of a memory, and the memory's scope."""
    path = tmp_path_factory.mktemp("forget") / "base.db"
    produced(path, "game24:901-912", values={"max_rounds": 2, "batch_size": 3})
    with closing(SqliteLog(path)) as log:
        work(log)
        [scope] = learned(log, find).scopes
    return path, scope


@pytest.mark.parametrize("killed", [False, True])
def test_it_is_refused_or_the_log_goes_on_and_verifies(
    base: tuple[Path, str], killed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush, refused, busy = Writer.flush, 0, False

    def forgotten(path: Path, problem: str) -> None:
        with closing(SqliteLog(path)) as log:
            log.publish(commands=[command(base[1], "game24", problem, Limits(), None, None)])

    for place in range(1, PLACES):
        path = Path(shutil.copy(base[0], tmp_path / f"{place}.db"))
        forgotten(path, FIRST)
        seen = 0

        def flushed(writer: Writer, path: Path = path, place: int = place) -> None:
            nonlocal seen, refused
            learns = any(row[3].startswith("b/") for row in writer.rows)
            flush(writer)
            seen += learns
            if learns and seen == place:
                try:
                    forgotten(path, SECOND)
                except ClosedAgain:
                    refused += 1
                if killed:
                    raise KeyboardInterrupt

        monkeypatch.setattr(Writer, "flush", flushed)
        with closing(SqliteLog(path)) as log, suppress(KeyboardInterrupt):
            work(log)
        monkeypatch.setattr(Writer, "flush", flush)
        if seen < place:
            break
        model = ("--backbone", "rehearsal:seed=7")
        again = call("forget", "--problem", SECOND, "--yes", *model, "--log", path)
        assert again.code in (0, 6), again.err
        busy = busy or "[log.relearning" in again.err
        with closing(SqliteLog(path)) as log:
            work(log)
            forgotten(path, SECOND)
            work(log)
            memory = learned(log, find).scopes[base[1]].memory
            assert not memory.forgetting.owed
            assert not any(memory.forgetting.cites(item) for item in memory.latest.whole())
            assert not Verifier(log, find).run().diverged
    else:
        pytest.fail("there are more places than were tried")
    assert refused > 0
    assert busy is killed, "whoever finds a version half made is told who makes it"


def test_a_log_that_was_told_all_the_same_has_the_batch_closed_once_more(
    base: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As builds did that did not look, and as may happen between the look and the word on Kafka."""
    path, flush = Path(shutil.copy(base[0], tmp_path / "told.db")), Writer.flush

    def forgotten(problem: str) -> None:
        with closing(SqliteLog(path)) as log:
            log.publish(commands=[command(base[1], "game24", problem, Limits(), None, None)])

    def nothing(log: SqliteLog, commands: object) -> None:
        """Look for nothing that is half made."""

    def flushed(writer: Writer) -> None:
        learns = any(row[3].startswith("b/") for row in writer.rows)
        flush(writer)
        if learns:
            forgotten(BESIDE)
            raise KeyboardInterrupt

    forgotten(FIRST)
    with monkeypatch.context() as patch, closing(SqliteLog(path)) as log:
        patch.setattr(SqliteLog, "withdrawable", nothing)
        patch.setattr(Writer, "flush", flushed)
        with pytest.raises(KeyboardInterrupt):
            work(log)
    with closing(SqliteLog(path)) as log:
        assert not Verifier(log, find).run().diverged, "its version is still to come"
        work(log)
        assert not Verifier(log, find).run().diverged
        memory = learned(log, find).scopes[base[1]].memory
        assert not memory.forgetting.owed
        assert [version.name for version in memory.versions.values()] == [
            "0",
            "1",
            "2.2",
            "3.1",
            "4.1",
        ]
        assert not any(f"/{BESIDE}/" in member for member in memory.closing(2).members)
        assert not any(memory.forgetting.cites(item) for item in memory.latest.whole())
