"""What a program reads of a log, derives again from it, and asks of it anew."""

from __future__ import annotations

from pathlib import Path

import metalogue
import pytest

from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call
from tests.surroundings import Serve

LOG = "sqlite:a.db"


@pytest.fixture
def taught(folder: Path) -> str:
    """A log on which a series taught lessons."""
    assert call("produce", "game24:901-920", "--policy", "mc2", "--log", "a.db").code == 0
    assert call("worker", "--backbone", "rehearsal", "--until-idle", "--log", "a.db").code == 0
    return LOG


def test_episodes_answers_and_records_are_those_of_the_log(taught: str) -> None:
    with metalogue.open_log(taught) as log:
        episodes = list(log.episodes())
        assert [each.problem.id for each in episodes] == [f"n{n}" for n in range(901, 921)]
        answers = {each.episode: each.answer for each in log.answers()}
        assert answers == {e.id: e.closed.answer for e in episodes if e.closed is not None}
        first = episodes[0].id
        records = list(log.records(first))
        assert [each.address for each in records][:2] == ["admitted", "opened"]
        assert records == [each for each in log.records() if each.episode == first]
        assert log.find("n901") == first
        with pytest.raises(metalogue.Error) as caught:
            log.find("n9999")
        assert caught.value.code == "episode.unknown"


def test_lessons_are_those_that_the_command_line_lists(taught: str) -> None:
    with metalogue.open_log(taught) as log:
        lessons = [each.id for each in log.lessons() if each.kind == "lesson"]
    rows = call("lessons", "list", "--log", "a.db", "--json").rows
    live = [row["id"] for row in rows if row.get("standing", "live") == "live"]
    assert lessons
    assert sorted(lessons) == sorted(live)


def test_tables_are_arrow(taught: str) -> None:
    with metalogue.open_log(taught) as log:
        episodes = log.table("episodes")
        assert episodes.num_rows == 20
        calls = log.table("completions")
        asked = [each for each in log.records() if each.event.kind == "completed"]
        assert calls.num_rows == len(asked)
        with pytest.raises(metalogue.Error, match="there are"):
            log.table("episode")


def test_what_was_tampered_with_is_found(taught: str) -> None:
    found = metalogue.verify(taught)
    assert (found.episodes, found.diverged) == (22, [])
    log = SqliteLog("a.db")
    first = "select min(offset) from records where kind = 'completed'"
    worded = """replace(body, '"text":"', '"text":"x')"""
    changed = f"update records set body = {worded} where offset = ({first})"
    log.db.execute(changed)
    log.close()
    assert metalogue.verify(taught).diverged


def test_a_log_that_is_not_there_is_said_so(folder: Path) -> None:
    for ask in (metalogue.open_log, metalogue.verify):
        with pytest.raises(metalogue.Error) as caught:
            ask("sqlite:none.db")
        assert caught.value.code == "log.missing"


def test_a_fork_pays_only_for_what_changes(serve: Serve) -> None:
    endpoint = serve()
    parent = metalogue.solve("What is 17 + 25?", policy="mc2", backbone="openai", log=LOG)
    paid = len(endpoint.asked)
    forked = metalogue.fork(LOG, parent.episode, "0", backbone="openai", edit="\\boxed{41}")
    assert forked.closed.status == "answered"
    assert forked.made == len(endpoint.asked) - paid > 0
    with pytest.raises(metalogue.Error) as caught:
        metalogue.fork(LOG, parent.episode, "99", backbone="openai")
    assert (caught.value.code, caught.value.field) == ("fork", "at")
