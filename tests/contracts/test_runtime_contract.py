"""One suite for runtimes: embedded in memory, embedded in a file, and Faust on Kafka in memory.

On a real broker it runs in ``tests/live/test_kafka_contract.py``.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.contracts.runtime_suite import RuntimeSuite, two_undisturbed, undisturbed
from tests.contracts.runtimes import Runtime, in_a_file, in_one_process, on_kafka_in_memory

__all__ = ["two_undisturbed", "undisturbed"]


class TestRuntime(RuntimeSuite):
    """Everything that needs no service."""

    @pytest.fixture(params=[in_one_process, in_a_file, on_kafka_in_memory])
    def runtime(self, request: pytest.FixtureRequest) -> Generator[Runtime]:
        with request.param() as made:
            yield made
