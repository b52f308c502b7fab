"""A program's surroundings: an empty folder, no configuration, and an endpoint that the environment leads to."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.endpoint import Answer, Asked, Endpoint, Script, fails, serving, whole


class Serve(Protocol):
    """Starts an endpoint."""

    def __call__(self, script: Script = ...) -> Endpoint: ...


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
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and an environment that says nothing of Metalogue."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("METALOGUE_", "OPENAI_")):
            monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def serve(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Serve]:
    """Start an endpoint that the environment leads to."""
    with ExitStack() as stack:

        def start(script: Script = knows) -> Endpoint:
            endpoint = stack.enter_context(serving(script))
            for name, value in endpoint.env().items():
                monkeypatch.setenv(name, value)
            return endpoint

        yield start
