"""Starting Python as a process of its own: with our packages, and nothing of the folder that we work in.

Python puts the working directory before everything else for ``-m`` and ``-c``, so that a file there which is
called like a module of anybody's would run. ``-P`` keeps it out.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: str) -> list[str]:
    """The command line of this Python with these arguments."""
    return [sys.executable, "-P", *arguments]


def variables(**more: str) -> dict[str, str]:
    """The environment of a process that imports our packages, from wherever this one did."""
    # Ours first, as in this process. Its own folder may be none of those that
    # Python finds by itself.
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, **more}


def cpu_s(pid: int) -> float:
    """CPU seconds that a process has used, by the page that Linux keeps of it. Raises ``OSError`` elsewhere."""
    # The name of the program stands in brackets, and may hold blanks and brackets itself.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
