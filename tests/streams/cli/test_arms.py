"""Arms on the command line: listed, shown in full, retired, restored; the next memory version heeds it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import EpisodeOpened
from schemas.events.strategy import StrategyChosen
from streams.engine.policies import find
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import produced, quick, worked
from tests.streams.cli.calling import Called, call


def passed(path: Path, first: int) -> None:
    """Work on one window of two puzzles."""
    values = {"max_rounds": 4, "strategies": "fixed", "window": 2}
    produced(path, f"game24:{first}-{first + 1}", policy="meta_reasoner", values=values)
    log = quick(SqliteLog(path))
    worked(log)
    assert Verifier(log, find).run().diverged == []
    log.close()


def lessons(*words: str, log: Path) -> Called:
    return call("lessons", *words, "--log", log)


def scored(path: Path, least: int) -> list[set[str]]:
    """The arms that competed in each choice of episodes that pinned this memory version or a later one."""
    log = SqliteLog(path)
    pinned = {
        record.episode: record.event.memory_version
        for record in log.records("events", kinds=("episode.opened",))
        if isinstance(record.event, EpisodeOpened)
    }
    found = [
        {arm for arm, _ in record.event.scores}
        for record in log.records("events", kinds=("strategy.chosen",))
        if isinstance(record.event, StrategyChosen) and pinned[record.episode] >= least
    ]
    log.close()
    return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "arms.db"
    passed(path, 901)
    return path


def arms(path: Path) -> dict[str, dict[str, Any]]:
    return {arm["id"]: arm for arm in lessons("list", "--json", log=path).rows}


def test_a_person_lists_retires_and_restores_an_arm(log: Path) -> None:
    assert set(arms(log)) == {"a1", "a2", "a3"}
    assert sum(arm["pulls"] for arm in arms(log).values()) > 0
    assert "3 arms, version 1" in lessons("list", log=log).out
    assert "Go back to the step" in lessons("show", "a2", log=log).out
    assert lessons("restore", "a2", log=log).code == 2, "it is in service"
    done = lessons("retire", "a2", "--by", "me", "--reason", "it never helped", log=log)
    assert done.code == 0, done.err
    assert "from the version after 1 on" in done.out
    assert lessons("retire", "a2", log=log).code == 2, "that was said already"
    passed(log, 903)
    assert arms(log)["a2"]["retired"]
    assert "2 arms, 1 retired" in lessons("list", log=log).out
    passed(log, 905)
    assert scored(log, 2)
    assert all("a2" not in each for each in scored(log, 2))
    assert lessons("restore", "a2", log=log).code == 0
    passed(log, 907)
    passed(log, 909)
    assert all("a2" in each for each in scored(log, 4))
    assert arms(log)["a2"]["said"] == "restored"


def test_an_episode_says_what_it_left_to_the_arms_and_where_they_were_learned(log: Path) -> None:
    [(episode,)] = rows_of(log)
    shown = call("show", episode, "--log", log)
    rewards = len(call("show", episode, "--json", "--log", log).json["summary"]["pulls"])
    assert f"left {rewards} reward" in shown.out
    assert "to batch 1" in shown.out
    assert "taught nothing" not in shown.out
    learned = call("show", episode, "--json", "--log", log).json["learned_in"]
    assert learned.startswith("b/game24/meta_reasoner/")
    assert f"batch   metalogue show {learned}" in shown.out
    assert call("show", learned, "--log", log).code == 0


def rows_of(path: Path) -> list[tuple[str]]:
    """An episode that a reward was credited in."""
    with closing(SqliteLog(path)) as log:
        wanted = "select distinct episode from records where kind = 'strategy.chosen' limit 1"
        return [(str(row[0]),) for row in log.db.execute(wanted)]


def test_the_last_arm_in_service_is_not_retired(log: Path) -> None:
    assert [lessons("retire", arm, log=log).code for arm in ("a1", "a2", "a3")] == [0, 0, 2]
    assert "last arm in service" in lessons("retire", "a3", log=log).err


def test_an_arm_that_is_not_there_names_those_that_are(log: Path) -> None:
    refused = lessons("retire", "a9", log=log)
    assert refused.code == 2
    assert "no lesson, rule or arm 'a9'" in refused.err
