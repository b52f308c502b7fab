"""Doing much at once without the search for cycles."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

MANY = 100_000
# A small amount of garbage is cheaper to look at than to freeze.
"""New objects from which on the first look at them is spared."""


@contextmanager
def uncollected() -> Generator[None]:
    """Without searches for cycles: events and folds make none, and the search costs a quarter.

    Much that was made is old at once: freezing and thawing moves it there unlooked at.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # Thawing moves the frozen objects into the oldest generation, where a search is rare; they
        # would otherwise be looked at as new ones at once.
        if was and gc.get_count()[0] > MANY:
            gc.freeze()
            gc.unfreeze()
        if was:
            gc.enable()
