"""Where a test's programs run: an empty folder, no configuration, and endpoints that the environment leads to."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import pytest

from tests.endpoint import Endpoint, Script, serving


class Serve(Protocol):
    """Starts an endpoint."""

    def __call__(self, script: Script = ...) -> Endpoint: ...


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and an environment that says nothing of Metalogue."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("METALOGUE_", "OPENAI_")):
            monkeypatch.delenv(name)
    return tmp_path


@contextmanager
def led_to(
    monkeypatch: pytest.MonkeyPatch, usual: Script, also: Mapping[str, str] = MappingProxyType({})
) -> Generator[Serve]:
    """Starts endpoints, until the end of the block, each of which the environment leads to from then on."""
    with ExitStack() as stack:

        def start(script: Script = usual) -> Endpoint:
            endpoint = stack.enter_context(serving(script))
            for name, value in (endpoint.env() | dict(also)).items():
                monkeypatch.setenv(name, value)
            return endpoint

        yield start
