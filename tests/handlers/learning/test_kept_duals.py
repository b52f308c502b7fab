"""Regressions in their dual form that are kept: to the bit those of their pulls, and bounded by their size."""

from __future__ import annotations

import random

import pytest

from handlers.learning import bandits
from handlers.learning.bandits import BLOCK, KEPT, MOST_NUMBERS, KeptDuals, dual
from handlers.learning.features import features
from handlers.learning.linucb import Dual
from tests.pace import timed
from tests.papers.test_mr_bandit import WIDE, remembered


def test_whatever_is_kept_a_regression_is_that_of_its_pulls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To the bit, in whatever order memory versions are asked for, and however few of them are kept."""
    rows = remembered(3 * BLOCK + 5, 6)
    x, known = features(remembered(1, 7)[0][0], None), random.Random(1)
    alone = Dual(WIDE, 1.0)
    scores: list[float] = []
    for embedding, reward in rows:
        scores.append(alone.score(x, 1.0))
        alone.add(features(embedding, None), reward)
    for most in (1, 40 * BLOCK**2, MOST_NUMBERS):
        monkeypatch.setattr(bandits, "KEPT", kept := KeptDuals(most))
        for count in known.sample(range(len(rows)), 25):
            assert dual(rows[:count], WIDE, 1.0, None).score(x, 1.0) == scores[count]
            assert len(kept.found) == 1 or kept.size <= most
            assert kept.size == sum(each.count**2 for each in kept.found.values())


def test_many_pulls_are_reckoned_once_for_every_arm() -> None:
    """Of three arms with 24 blocks of pulls each the second scoring began anew, as did each after it."""
    arms = [remembered(24 * BLOCK, seed) for seed in (1, 2, 3)]
    KEPT.clear()
    first = timed(lambda: [dual(rows, WIDE, 1.0, None) for rows in arms])[1]
    again = timed(lambda: [dual(rows, WIDE, 1.0, None) for rows in arms])[1]
    assert again < first / 20
