"""Attempts and waiting, as a user sees them: while a worker works, and in what it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.engine.progress import Progress
from streams.interfaces.cli.live import Plain, Watcher
from streams.interfaces.cli.show.board import board, plain_line
from streams.telemetry.figures import Figures
from tests.endpoint import Answer, Asked, fails
from tests.live.thinking import QUICK, think
from tests.streams.cli.calling import call
from tests.surroundings import Serve

pytestmark = pytest.mark.live

WHY = "http://e/v1 check: 2 calls under way, 7 wait; paused for 3 s: HTTP 429 too fast"


def test_why_calls_wait_stands_on_the_board_and_on_the_plain_line() -> None:
    figures = Figures(waits=[WHY])
    assert WHY in board(figures, 9, 1.0, 100).text()
    assert all(len(line) <= 60 for line in board(figures, 9, 1.0, 60).text().splitlines())
    assert plain_line(figures, 9).endswith(f"waits: {WHY}")
    assert "waits" not in plain_line(Figures(), 9)


def test_who_watches_asks_the_worker_why(
    serve: Serve, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("produce", "game24:901-901", "--policy", "cot", "--log", "a.db")
    now = [0.0]
    watcher = Watcher("a.db", Plain(), lambda: now[0])
    for second in (0, 10):
        now[0] = second
        watcher(Progress(running=9, why=lambda: [WHY]))
    watcher.close()
    waiting, ended = capsys.readouterr().err.splitlines()
    assert WHY in waiting
    assert "waits" not in ended


def test_failed_attempts_show(serve: Serve, folder: Path) -> None:
    def third_time(asked: Asked) -> Answer:
        return think(asked) if asked.times == 3 else fails(500)

    serve(third_time)
    words = ("--backbone", QUICK, "--log", "a.db")
    assert call("solve", "4 5 6 10", "--policy", "cot", "--domain", "game24", *words).code == 0
    shown = call("show", "--log", "a.db").out
    assert " ×3" in shown
    assert "2 attempts failed" in shown
    assert ", 3 attempts" in call("show", "--at", "0", "--log", "a.db").out
