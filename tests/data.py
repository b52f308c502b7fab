"""Where the benchmark samples lie that tests may read; the project commits none of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared() -> Path:
    """The folder of samples; skips the test where it is absent, but never in CI."""
    if not SHARED.is_dir() and "CI" not in os.environ:
        pytest.skip(f"no benchmark samples in {SHARED}")
    return SHARED
