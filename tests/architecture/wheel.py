"""The wheel as whoever installs it has it: ``python -m tests.architecture.wheel PYTHON``, or ``make wheel``.

``PYTHON`` is that of an environment with what users install and nothing of this folder. There the wheel is installed
and used, away from here: from Python and by its command.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.architecture.pages import ROOT
from tests.architecture.release import build

USE = """
import metalogue
assert "site-packages" in metalogue.__file__, metalogue.__file__
answer = metalogue.solve("What is 17 + 25?", policy="mc2", backbone="rehearsal", log="sqlite:a.db")
assert answer.status == "answered", answer
with metalogue.open_log("sqlite:a.db") as log:
    assert [each.closed.answer for each in log.episodes()] == [answer.answer]
found = metalogue.verify("sqlite:a.db")
assert (found.episodes, found.diverged) == (1, []), found
"""
COMMANDS = (
    ("produce", "game24:901-903", "--policy", "mc2", "--log", "b.db"),
    ("worker", "--backbone", "rehearsal", "--until-idle", "--log", "b.db"),
    ("rebuild", "--log", "b.db"),
    ("verify", "--log", "b.db"),
)


def main(python: str) -> int:
    """Install it and use it. Raises ``CalledProcessError`` where that cannot be done."""
    python = os.path.abspath(python)  # a link, which leads to its environment only as it is
    # Whatever points Python at this folder would hide what the wheel lacks.
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "METALOGUE_"))}
    with tempfile.TemporaryDirectory() as folder:
        wheel = build("wheel", ROOT, Path(folder))
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        subprocess.run([*pip, "--no-deps", "--no-index", "--force-reinstall", wheel], check=True)
        command = str(Path(python).with_name("metalogue"))
        for words in ((python, "-c", USE), *((command, *words) for words in COMMANDS)):
            subprocess.run(words, cwd=folder, env=bare, stdout=subprocess.DEVNULL, check=True)
    print(f"{wheel.name}: installed alone and used")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
