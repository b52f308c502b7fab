"""What made a figure: the code, and the machine that it ran on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

from streams.views.words import plural

DESCRIBE = ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]


def commit(ours: Path = Path(__file__)) -> str:
    """The commit of the checkout that holds a file of ours, with a mark if files were changed since; else unknown."""
    # A figure is of the code that made it: the version alone would not tell a changed checkout from it. Whoever
    # installs the product below a checkout of their own has a commit there that says nothing of it.
    try:
        for asked in (["ls-files", "--error-unmatch", ours.name], DESCRIBE):
            told = subprocess.run(
                ["git", *asked],
                cwd=ours.parent,
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
            if told.returncode:
                return "unknown"
    except OSError:
        return "unknown"
    return told.stdout.strip() or "unknown"


def machine(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor by its maker's name, how many of them, and the system; no name of a host."""
    try:
        named = re.search(r"^model name\s*: *(.*\S)", cpuinfo.read_text("utf-8"), re.MULTILINE)
    except OSError:  # another system than Linux has no such file
        named = None
    processor = named[1] if named else platform.processor() or platform.machine() or "unknown"
    count = "unknown" if (known := os.cpu_count()) is None else plural(known, "processor")
    return f"{processor}, {count}, {platform.uname()[0] or 'unknown'}"


def build_and_machine() -> str:
    """Both in a line."""
    return f"metalogue {version('metalogue')} of {commit()} on {machine()}"
