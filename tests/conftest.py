"""One Hypothesis profile for every run: derandomised, so that CI and a desk see the same examples.

``HYPOTHESIS_PROFILE=search`` looks for new ones, many and at random.
"""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)

LONG = {"live", "slow"}

settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, max_examples=50, print_blob=False
)
settings.register_profile(
    "search", deadline=None, max_examples=2_000, suppress_health_check=SLOW, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of tests that take long come first: what is short fills the gaps at the end."""
    long = {item.path for item in items if LONG & {mark.name for mark in item.iter_markers()}}
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish() -> None:
    """What is imported stays until the end: the collector of garbage need not look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_projector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that run inside a test start no process of their own."""
    monkeypatch.setattr("streams.cli.tabling.enabled", lambda: False)
