"""Curves over the recorded GPT-4 samples: ends that are known, and that more samples never hurt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.alike import vote
from streams.research.bench.curves import curve, markdown, read, running_votes
from tests.data import shared


@given(st.lists(st.none() | st.sampled_from("abc"), min_size=1, max_size=9))
def test_the_running_vote_is_the_vote_of_what_came(keys: list[str | None]) -> None:
    for n, winner in enumerate(running_votes(keys), 1):
        assert winner == vote(keys[:n])[0]


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
