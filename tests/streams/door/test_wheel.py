"""The wheel: what is in it, and that `import metalogue` works from it and from nothing of this checkout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.streams.cli.calling import ROOT

TOPS = {"schemas", "handlers", "state", "streams", "metalogue"}
USE = """
import json, sys
sys.path = [each for each in sys.path if each != sys.argv[2]]
import metalogue, schemas, streams
answer = metalogue.solve("What is 17 + 25?", policy="mc2", backbone="rehearsal", log="sqlite:a.db")
found = {"from": [each.__file__ for each in (metalogue, schemas, streams)], "status": answer.status,
         "episodes": metalogue.verify("sqlite:a.db").episodes}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.slow
def test_it_holds_our_packages_with_the_public_one_at_its_top(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    tops = {each.partition("/")[0] for each in names if ".dist-info/" not in each}
    assert tops == TOPS
    assert "metalogue/py.typed" in names
    assert not [each for each in names if each.startswith("streams/public")]
    assert {"streams/interfaces/dashboard/templates", "streams/research/analysis/static"} <= {
        str(Path(each).parent) for each in names
    }


@pytest.mark.slow
def test_it_solves_and_verifies_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    here = tmp_path / "site"
    ZipFile(wheel).extractall(here)
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", USE, "-", str(ROOT)],
        cwd=work,
        env={"PYTHONPATH": str(here), "PATH": ""},
        check=True,
        capture_output=True,
    )
    said = json.loads(done.stdout)
    assert all(each.startswith(str(here)) for each in said["from"])
    assert (said["status"], said["episodes"]) == ("answered", 1)
