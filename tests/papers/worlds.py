"""Of how many worlds a truth is asked, and in how many it must hold."""

from __future__ import annotations

import pytest

ENOUGH = 0.95
MANY, SOME = 200, 60
SERIES = pytest.mark.parametrize("worlds", [SOME, pytest.param(MANY, marks=pytest.mark.soak)])
"""Where a world takes a whole series of episodes: 60 of them with every run of the suite, 200 with `make soak`."""


def least(worlds: int) -> float:
    """In how many it must hold: in all of 60, which chance allows once in 21 where it holds in 95 of a hundred."""
    return worlds if worlds < MANY else ENOUGH * worlds
