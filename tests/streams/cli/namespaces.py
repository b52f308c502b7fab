"""File systems of a test's own: small ones and read-only ones, mounted where no other process sees them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from tests.streams.cli.calling import environment

MAIN = "import sys; from streams.interfaces.cli.main import main; sys.exit(main())"
START = f'metalogue() {{ "$PYTHON" -c "{MAIN}" "$@"; }}\n'


@lru_cache(maxsize=1)
def can_mount() -> bool:
    """Whether this machine lets us mount something for ourselves."""
    if shutil.which("unshare") is None:
        return False
    tried = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="nothing may be mounted here")


def run(script: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in a folder, with mounts that end with it; ``metalogue`` is this checkout's."""
    return subprocess.run(
        ["unshare", "-rm", "sh", "-ec", START + script],
        cwd=folder,
        env=environment(PYTHON=sys.executable, **env),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
