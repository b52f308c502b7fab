"""Curves over the recorded GPT-4 samples: ends that are known, and that more samples never hurt."""

from __future__ import annotations

import pytest

from streams.bench.curves import curve, markdown, read
from tests.data import shared


@pytest.mark.slow
def test_the_ends_are_the_published_figures() -> None:
    puzzles = read(shared() / "game24")
    assert len(puzzles) == 100
    assert sum(map(len, (each.answers for each in puzzles))) == 10_000
    one, hundred = curve(puzzles, (1, 100))
    assert one.any_of_n == pytest.approx(0.0403)
    assert hundred.any_of_n == pytest.approx(0.49)
    assert hundred.any_interval[0] < 0.49 < hundred.any_interval[1]
    assert one.vote <= 0.06
    assert "| 100 | " in markdown([hundred])
    few = puzzles[:20]
    rising = [point.any_of_n for point in curve(few, (1, 3, 10, 50))]
    assert rising == sorted(rising)
