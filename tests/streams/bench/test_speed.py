"""What `bench speed` says of its figures: the share of plain tasks, and an aim for each."""

from __future__ import annotations

import pytest

from streams.research.bench import speed
from tests.architecture.pages import README


def test_figures_stand_beside_their_aims(monkeypatch: pytest.MonkeyPatch) -> None:
    def floor(episodes: int, rounds: int) -> tuple[float, float]:
        return 30.0, 12.0

    def kept(rounds: int) -> float:
        return 1000.0 + rounds

    monkeypatch.setattr(speed, "against_floor", floor)
    monkeypatch.setattr(speed, "efficiency", lambda: (0.95, 0.98))
    monkeypatch.setattr(speed, "kept_bytes", kept)
    monkeypatch.setattr(speed, "replay_rate", lambda: 200_000)
    found = speed.run()
    assert found["share_of_plain_1000x200ms"] == round(0.95 / 0.98, 4)
    assert set(found["aims"]) <= set(found)
    assert found["kept_bytes_per_step"]["192"] == 1192.0


def test_the_readme_states_the_aim_of_waiting_as_the_bench_does() -> None:
    aim = speed.AIMS["share_of_plain_1000x200ms"]
    said = README.read_text(encoding="utf-8")
    assert "0.95" in aim
    assert "of what plain tasks reach; our aim is 0.95" in said
