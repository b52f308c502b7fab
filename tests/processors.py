"""Other processors, as far as this one can stand in for them: the same code in processes that are told
to use older kernels of linear algebra, or an older set of instructions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

KERNELS = ("Haswell", "SkylakeX", "Zen", "Prescott")
SMALL_CACHE = {"OPENBLAS_L2_SIZE": "512"}
"""Products are cut into blocks by the size of the cache."""
WITHOUT_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA_Usable,-AVX2_Usable"}
"""The C library's functions as processors without fused multiply-add run them."""


def said_there(code: str, processor: Mapping[str, str]) -> str:
    """What a program prints on such a processor. Skips where this one lacks the instructions."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **processor},
    )
    if done.returncode == -signal.SIGILL:
        pytest.skip(f"no such instructions here: {dict(processor)}")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
