from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and an environment that says nothing of Metalogue."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("METALOGUE_", "OPENAI_")):
            monkeypatch.delenv(name)
    return tmp_path
