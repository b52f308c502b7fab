from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from streams.runtime.kafka import topics
from streams.runtime.kafka.place import KafkaAddress
from tests.live.kafka_here import Cluster, broker
from tests.live.thinking import KEY, think
from tests.surroundings import Serve, folder, led_to

__all__ = ["folder"]


@pytest.fixture
def serve(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Serve]:
    """Start an endpoint that the environment leads to."""
    with led_to(monkeypatch, think, {"OPENAI_API_KEY": KEY}) as start:
        yield start


@pytest.fixture(scope="session")
def node() -> Generator[tuple[str, Path]]:
    """One broker for all tests of this process."""
    with tempfile.TemporaryDirectory(prefix="metalogue-kafka-") as folder:
        yield broker(Path(folder), "start"), Path(folder)
        broker(Path(folder), "clean")


@pytest.fixture
def cluster(node: tuple[str, Path], tmp_path: Path) -> Generator[Cluster]:
    """A log of its own on the broker, and the command line to use it with."""
    with closing(Cluster(node[0], f"t{time.time_ns()}", tmp_path)) as made:
        asyncio.run(topics.create(KafkaAddress.of(made.url), 8))
        yield made


@pytest.fixture
def place(node: tuple[str, Path]) -> KafkaAddress:
    """A log of its own on the broker."""
    made = KafkaAddress.of(f"{node[0]}/t{time.time_ns()}")
    asyncio.run(topics.create(made, 4))
    return made
