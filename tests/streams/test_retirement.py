from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from handlers.policies.registry import POLICIES
from schemas.events.learning import BatchClosed
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call

IDLE = ("--until-idle", "--settle", "--no-tables", "--display", "none")


@pytest.mark.parametrize(
    ("profile", "retirement"), [("service", POLICIES["mc2"].retirement), ("paper", None)]
)
def test_what_does_harm_is_set_aside_under_the_profile_that_serves_and_not_under_the_paper_s(
    tmp_path: Path, profile: str, retirement: str | None
) -> None:
    log = f"sqlite:{tmp_path / 'a.db'}"
    words = ("--policy", "mc2", "--profile", profile, "--set", "batch_size=2", "--log", log)
    assert call("produce", "game24:901-902", *words).code == 0
    assert call("worker", "--backbone", "rehearsal:seed=7", *IDLE, "--log", log).code == 0
    with closing(SqliteLog(tmp_path / "a.db")) as opened:
        closed = [each.event for each in opened.records(kinds=["batch.closed"])]
    assert [each.retirement for each in closed if isinstance(each, BatchClosed)] == [retirement]
    assert POLICIES["mc2"].retirement is not None
