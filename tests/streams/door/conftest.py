"""A program's surroundings: an empty folder, no configuration, and an endpoint that the environment leads to."""

from __future__ import annotations

import re
from collections.abc import Generator
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from tests.endpoint import Answer, Asked, fails, whole
from tests.streams.door.served import Here, served
from tests.surroundings import Serve, folder, led_to

__all__ = ["folder"]


def keyless(asked: Asked) -> Answer:
    """An endpoint that takes no key."""
    return fails(401, message="wrong key")


def knows(asked: Asked) -> Answer:
    """A model that adds the two numbers of the last line that holds a sum, in a box."""

    said = "\n".join(str(each["content"]) for each in asked.body["messages"])
    found = re.findall(r"(\d+) \+ (\d+)", said)
    total = sum(map(int, found[-1])) if found else 0
    return whole(f"It comes to {total}. \\boxed{{{total}}}")


@pytest.fixture
def serve(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Serve]:
    """Start an endpoint that the environment leads to."""
    with led_to(monkeypatch, knows) as start:
        yield start


@pytest.fixture
def door(serve: Serve) -> Generator[Here]:
    serve()
    with served() as here:
        yield here


@pytest.fixture
def tokens(folder: Path) -> str:
    """A file of two holders' tokens: one has one place, the other one call a problem."""
    holders = {
        "alice": {"sha256": sha256(b"a-token").hexdigest(), "at_once": 1},
        "bob": {"sha256": sha256(b"b-token").hexdigest(), "call_limit": 1},
    }
    (folder / "tokens.yaml").write_text(yaml.safe_dump({"holders": holders}))
    return "tokens.yaml"
