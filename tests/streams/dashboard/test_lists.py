"""Lists of episodes: every filter that stands above a list holds for it."""

from __future__ import annotations

from pathlib import Path

from state.folds.state import State
from streams.interfaces.dashboard import listing, overview
from streams.interfaces.dashboard.listing import NEWEST
from streams.interfaces.dashboard.live_log import LiveLog
from streams.runtime.embedded.queries import lists
from streams.runtime.embedded.reading import reading
from streams.telemetry.counts import Counts
from streams.views.sheet import read
from streams.views.states import ASKING, LEARNED
from tests.streams.cli.calling import call, copied
from tests.streams.dashboard.serving import serving


def listed(path: Path, **wanted: str) -> list[str]:
    with reading(path) as log:
        return [each.episode for each in lists.episodes(log, wanted, NEWEST, 100)]


def driver_lag(path: Path) -> int:
    """How many episodes wait for a worker to go on with them."""
    found = Counts(path)
    while found.read():
        pass
    assert not set(found.figures.asking) - set(listed(path, state="asking"))
    lag = found.lags()["driver"]
    found.close()
    return lag


def test_probes_are_those_of_what_is_looked_for(worked: Path, tmp_path: Path) -> None:
    """All of them stood under filters that were filled in, whatever these said."""
    path = copied(worked, tmp_path / "a.db")
    words = ("--at", "1", "--backbone", "rehearsal:seed=7", "--log", path)
    assert call("fork", *listed(path, text="n905"), *words).code == 0
    every = listed(path, state="probes")
    assert len(every) == 1
    assert listed(path, state="probes", domain="game24", policy="mc2", text="n905") == every
    for other in ({"domain": "game"}, {"policy": "mc"}, {"text": "n906"}, {"text": "no such text"}):
        assert listed(path, state="probes", **other) == []


def test_batches_are_those_with_a_member_that_is_looked_for(worked: Path) -> None:
    every = listed(worked, state="learning")
    assert len(every) > 1
    with reading(worked) as log:
        leaf = listing.episodes(log, State(), {"state": "learning"}, NEWEST)
        states = [read(log, name).state for name in every]
    assert [line.state for line in leaf.lines] == states == [LEARNED] * len(every)
    assert listed(worked, state="learning", domain="game24", policy="mc2") == every
    assert 0 < len(listed(worked, state="learning", text="n905")) < len(every)
    for other in ({"domain": "game"}, {"policy": "mc"}, {"text": "no such text"}):
        assert listed(worked, state="learning", **other) == []


def test_who_asks_a_person_is_said_to_everywhere(tmp_path: Path) -> None:
    """It was running on the list, waiting on its page, and under way on the first page."""
    path = tmp_path / "a.db"
    puzzle = b'{"id": "sum-6", "problem": "What is 12 * 13?"}\n{"id": "sum-2", "problem": "What is 8 * 9?"}'
    assert call("produce", "-", "--policy", "reviewed", "--log", path, given=puzzle).code == 0
    words = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--no-tables")
    assert call(*words, "--log", path).code == 1
    (episode,) = listed(path, state="asking")
    assert len(listed(path)) == 2
    assert listed(path, state="running") == []
    with reading(path) as log:
        leaf = listing.episodes(log, State(), {"state": "asking"}, NEWEST)
        sheet = read(log, episode)
    assert [line.state for line in leaf.lines] == [sheet.state] == [ASKING]
    assert call("show", episode, "--log", path, "--json").json["status"] == ASKING
    assert ASKING in call("show", episode, "--log", path).out
    (row,) = call("review", "list", "--log", path, "--json").rows
    assert row["status"] == ASKING
    with serving(path) as site:
        site.caught_up()
        pages = {page: site.get(page).text for page in ("/", f"/episode?id={episode}", "/episodes")}
    assert all(ASKING in text for text in pages.values())
    assert "Nothing is under way." in pages["/"]
    assert driver_lag(path) == 0
    answer = ("review", "answer", "sum-6", "--reference", "156", "--by", "Ada")
    assert call(*answer, "--log", path).code == 0
    assert call(*words, "--log", path).code == 0
    assert listed(path, state="asking") == []
    assert driver_lag(path) == 0


def test_all_that_is_under_way_is_what_its_link_leads_to(worked: Path) -> None:
    """It counted batches and probes too, which the list of what runs does not have."""
    live_log = LiveLog(worked)
    while live_log.refresh():
        pass
    problems = dict.fromkeys((f"p/d/{n}/r" for n in range(9)), 1)
    live_log.open = {**problems, "b/d/cot/main/0/1": 1, "q/p/d/1/r/0/fork/0": 1}
    with live_log.looking() as log:
        page = overview.page(live_log, log)
    assert (page["under_way"], page["problems_under_way"]) == (11, 9)
    live_log.log.close()
    live_log.counts.close()
