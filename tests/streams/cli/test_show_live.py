from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from streams.engine.progress import Progress
from streams.interfaces.cli.flags import FLAGS
from streams.interfaces.cli.live import Plain, Watcher, chosen, watching
from streams.interfaces.cli.show.board import board, plain_line
from streams.telemetry import figures as module
from streams.telemetry.figures import Figures, Reader, Spent
from tests.streams.cli.calling import call
from tests.streams.cli.learned import copy_of, made


class Noting:
    """A view that only counts its drawings."""

    every = 0.25

    def __init__(self) -> None:
        self.drawn: list[tuple[int, int]] = []
        self.ended = 0

    def draw(self, figures: Figures, running: int, elapsed: float) -> None:
        self.drawn.append((figures.closed, running))

    def end(self) -> None:
        self.ended += 1


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def read_all() -> Figures:
    reader = Reader(made())
    found = reader.read_all()
    reader.close()
    return found


def test_log_stats_tells_forks_from_the_episodes_of_problems(tmp_path: Path) -> None:
    """A fork counts as opened and as closed, and nothing said so: three problems had four episodes."""
    log = copy_of(made(), tmp_path / "a.db")
    before = call("log", "stats", "--json", "--log", log).json
    forked = call("fork", "n901", "--at", "1", "--backbone", "rehearsal:seed=7", "--log", log)
    assert forked.code == 0, forked.err
    after = call("log", "stats", "--json", "--log", log).json
    assert (before["forks"], before["sets"]) == (0, 0)
    assert (after["forks"], after["sets"]) == (1, 0)
    assert after["closed"] - after["forks"] == before["closed"] == before["problems"]


def test_log_stats_tells_what_a_fork_took_over_from_what_was_asked(tmp_path: Path) -> None:
    """Nobody was asked for it again, and by the completions alone it looked as if somebody had been."""
    log = copy_of(made(), tmp_path / "a.db")
    before = call("log", "stats", "--json", "--log", log).json
    rows = call("log", "cat", "--log", log, "--topic", "events").rows
    asked = next(each for each in rows if each["kind"] == "completed")
    words = ("fork", asked["episode"], "--at", asked["address"], "--edit", "none", "--json")
    forked = call(*words, "--backbone", "rehearsal:seed=7", "--log", log).json
    after = call("log", "stats", "--json", "--log", log).json
    assert before["reused_completions"] == 0 < forked["reused_calls"]
    assert after["reused_completions"] == forked["reused_calls"]
    new = after["completions"] - before["completions"]
    assert new - after["reused_completions"] == forked["made_calls"]


def test_figures_are_those_of_log_stats() -> None:
    stats = call("log", "stats", "--json", "--log", made()).json
    found = read_all()
    assert found.total == stats["problems"]
    assert found.closed == stats["closed"]
    assert found.solving.calls + found.learning.calls == stats["completions"]
    assert found.repeated == stats["repeated_completions"] == 0
    assert found.versions == 2
    assert sum(batch.lessons for batch in found.batches.values()) == found.lessons > 0
    assert sum(batch.spent.calls for batch in found.batches.values()) == found.solving.calls
    assert sum(found.rules.values()) == 18
    assert not found.open
    assert not found.probing.calls


@pytest.mark.parametrize("span", [1, 7, 100])
def test_figures_do_not_hang_on_how_often_they_are_read(
    span: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read_all()
    monkeypatch.setattr(module, "SPAN", span)
    assert read_all() == whole


def test_unknown_is_not_zero() -> None:
    assert (Spent(2, 10, 2) + Spent(1)).known_tokens is None
    assert Spent(2, 10, 2).known_tokens == 10
    assert Spent(2, 10, 2).known_cost is None
    assert Spent().known_cost == 0.0


def test_at_most_four_drawings_a_second() -> None:
    view, clock = Noting(), Clock()
    watcher = Watcher(str(made()), view, clock)
    for step in range(1_000):
        clock.now = 100.0 + step / 1_000
        watcher(Progress(running=3))
    assert len(view.drawn) == 4
    assert view.drawn[0] == (20, 3)
    watcher.close()
    assert view.drawn[-1] == (20, 0)
    assert view.ended == 1


def test_nothing_is_drawn_before_there_is_a_log(tmp_path: Path) -> None:
    view = Noting()
    watcher = Watcher(str(tmp_path / "none.db"), view)
    watcher(Progress())
    watcher.close()
    assert not view.drawn
    assert not (tmp_path / "none.db").exists()


class Broken(Noting):
    def draw(self, figures: Figures, running: int, elapsed: float) -> None:
        self.drawn.append((0, 0))
        raise OSError("the terminal is gone")

    def end(self) -> None:
        super().end()
        raise OSError("the terminal is gone")


def test_a_view_that_fails_does_not_stop_the_work() -> None:
    view, clock = Broken(), Clock()
    watcher = Watcher(str(made()), view, clock)
    for _ in range(5):
        clock.now += 1
        watcher(Progress())
    watcher.close()
    assert (len(view.drawn), view.ended) == (1, 1)


def test_a_file_that_is_no_log_is_the_workers_error(tmp_path: Path) -> None:
    path = tmp_path / "mine.db"
    with sqlite3.connect(path) as db:
        db.execute("create table mine(x)")
    db.close()
    called = call("worker", "--log", path, "--backbone", "rehearsal", "--until-idle")
    assert called.code == 2
    assert "[log.format, exit 2]" in called.err


def test_plain_lines_come_every_ten_seconds_and_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    watcher = Watcher(str(made()), Plain(), clock)
    for second in range(26):
        clock.now = 100.0 + second
        watcher(Progress(running=second))
    watcher.close()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["0:10", "0:20", "0:25"]
    assert "closed 20/20  running 10  failed 0" in lines[0]
    assert lines[-1].endswith("repeated 0")


def test_who_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(chosen(), Plain)
    monkeypatch.setattr(FLAGS, "display", "none")
    assert chosen() is None
    with watching(str(made())) as watch:
        assert watch is None


def test_the_board_fits_its_width() -> None:
    for width in (60, 80, 200):
        page = board(read_all(), 7, 61.0, width)
        assert all(len(line) <= width for line in page.text().splitlines())
        assert "closed 20/20" in page.text()
        assert "1:01   running 7  failed 0" in page.text()
    assert plain_line(Figures(), 0).startswith("closed 0/0")
