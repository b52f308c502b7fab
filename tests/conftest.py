"""One Hypothesis profile for every run: derandomised, so that CI and a desk see the same examples.

``HYPOTHESIS_PROFILE=search`` looks for new ones, many and at random.
"""

from __future__ import annotations

import gc
import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)

LONG = {"live", "slow"}
APART = {
    "test_every_block_runs",
    "test_a_log_that_ends_after_any_record_is_finished_as_if_nothing_had_been",
}
"""Tests whose cases take minutes together and share nothing that takes long to make: any worker may take one."""
OTHER_BROKER = {"tests/live/test_dashboard.py", "tests/live/test_kafka_contract.py"}
"""Half of the minutes of what needs a broker: another worker takes these, to a broker of its own."""

settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, max_examples=50, print_blob=False
)
settings.register_profile(
    "search", deadline=None, max_examples=2_000, suppress_health_check=SLOW, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


ROOT = Path(__file__).resolve().parents[1]


@cache
def needs_a_broker(file: str) -> bool:
    """Whether the tests of a file run a broker of their own."""
    return "tests.live.kafka_here" in (ROOT / file).read_text(encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file stays with one worker, but for the cases of its longest tests; what needs a broker with two, each of
    which starts one.

    Its tests wait for most of their time, and count on not waiting much longer: there are no more than two brokers.
    """
    if config.getoption("dist") != "loadfile":
        return None
    schedulers: Any = import_module("xdist.scheduler")

    class FewBrokers(schedulers.LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            if test.partition("[")[0] in APART:
                return nodeid
            if not needs_a_broker(file):
                return file
            return "the other broker" if file in OTHER_BROKER else "a broker"

    return FewBrokers(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of tests that take long come first, a broker's before them: what is short fills the gaps at the end."""
    long = {item.path for item in items if LONG & {mark.name for mark in item.iter_markers()}}
    items.sort(
        key=lambda item: (not needs_a_broker(item.nodeid.split("::")[0]), item.path not in long)
    )


def pytest_collectstart() -> None:
    """What importing makes is kept: until all is collected there is hardly any garbage to find."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What is imported stays until the end: the collector of garbage need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def no_projector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that run inside a test start no process of their own."""
    monkeypatch.setattr("streams.interfaces.cli.tabling.enabled", lambda: False)
