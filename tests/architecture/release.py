"""Whether a release could be made: ``python -m tests.architecture.release``, or ``make release-check``.

Builds wheel and sdist into ``dist``, the wheel once more from the sdist, and looks at what is in them, at the licences
of what is installed for users, and whether version and changelog agree. What is wrong ends it with 1. What is only to
be done on the day of the release (the date in the changelog) is told, and counts as wrong with ``--final``.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from email import message_from_string
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from zipfile import ZipFile

import yaml

from tests.architecture.pages import ROOT

TOPS = {"schemas", "handlers", "state", "streams", "metalogue"}
"""What a wheel installs."""
NEEDED = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "Makefile")
"""What an sdist holds beside the packages."""
SHIPPED = ("requirements", "requirements-local", "requirements-mcp", "requirements-providers")
"""Locks of what users install."""
FREE = re.compile(
    r"\b(?:MIT(?:-0|-CMU)?|0?BSD(?:-[23]-Clause)?|3-Clause BSD|Apache|ISC|PSF-2\.0|Python Software Foundation"
    r"|MPL[- ]2\.0|Mozilla Public License 2\.0|Zlib|CC0-1\.0|Unlicense|HPND|Repoze Public License)\b"
)
BOUND = re.compile(
    r"\b(?:A?GPL|GNU (?:Affero )?General Public|SSPL|BUSL|Commons Clause|Proprietary)",
    re.IGNORECASE,
)
"""What would bind whoever passes the whole on; the lesser GPL does not."""


@dataclass(slots=True)
class Found:
    """What a check has found."""

    wrong: list[str] = field(default_factory=list[str])
    later: list[str] = field(default_factory=list[str])
    """What is to be done on the day."""
    told: list[str] = field(default_factory=list[str])


def version() -> str:
    """The version that this checkout says it is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def changelog(text: str, released: str) -> Found:
    """Whether the changelog has this version, with a date, and nothing left that no version names."""
    found = Found()
    heads = dict(re.findall(r"^## \[([^\]]+)\](?: - (.+))?$", text, flags=re.MULTILINE))
    if released not in heads:
        found.wrong.append(f"CHANGELOG.md has no heading [{released}]")
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", heads[released]):
        found.later.append(
            f"CHANGELOG.md: [{released}] has no date ({heads[released] or 'nothing'})"
        )
    unreleased = text.partition("## [Unreleased]")[2].partition("\n## [")[0]
    if re.search(r"^- ", unreleased, flags=re.MULTILINE):
        found.later.append("CHANGELOG.md: notes stand under Unreleased")
    return found


def elsewhere(released: str) -> Iterator[str]:
    """Places that say another version."""
    chart = yaml.safe_load((ROOT / "deploy/helm/metalogue/Chart.yaml").read_text(encoding="utf-8"))
    for name in ("version", "appVersion"):
        if str(chart[name]) != released:
            yield f"Chart.yaml: {name} is {chart[name]}, and the version is {released}"


def build(kind: str, at: Path, into: Path) -> Path:
    """A built ``wheel`` or ``sdist``."""
    words = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)]
    subprocess.run(words, cwd=at, check=True, capture_output=True)
    pattern = {"wheel": "*.whl", "sdist": "*.tar.gz"}[kind]
    return max(into.glob(pattern), key=lambda made: made.stat().st_mtime)


def wheel_faults(wheel: Path, released: str) -> Iterator[str]:
    """What is wrong with a wheel."""
    with ZipFile(wheel) as made:
        names = made.namelist()
        tops = {each.partition("/")[0] for each in names if ".dist-info/" not in each}
        if tops != TOPS:
            yield f"{wheel.name} holds {sorted(tops)} instead of {sorted(TOPS)}"
        (page,) = (each for each in names if each.endswith(".dist-info/METADATA"))
        said = message_from_string(made.read(page).decode())
        if not any("/licenses/LICENSE" in each for each in names):
            yield f"{wheel.name} holds no LICENSE"
    if said["Version"] != released:
        yield f"{wheel.name} says version {said['Version']}, and pyproject.toml {released}"
    if said["License-Expression"] != "Apache-2.0":
        yield f"{wheel.name} says license {said['License-Expression']}"


def sdist_faults(sdist: Path, released: str, wheel: Path) -> Iterator[str]:
    """What is wrong with an sdist; the wheel that is built from it must be the same."""
    base = f"metalogue-{released}"
    with tempfile.TemporaryDirectory() as folder, tarfile.open(sdist) as made:
        names = set(made.getnames())
        yield from (
            f"{sdist.name} lacks {each}" for each in NEEDED if f"{base}/{each}" not in names
        )
        made.extractall(folder, filter="data")
        again = build("wheel", Path(folder) / base, Path(folder))
        with ZipFile(wheel) as ours, ZipFile(again) as theirs:
            differ = set(ours.namelist()) ^ set(theirs.namelist())
        if differ:
            yield f"{sdist.name}: the wheel from it differs in {', '.join(sorted(differ)[:5])}"


def pinned(locks: Iterable[str] = SHIPPED) -> list[str]:
    """Names of what users may install, by the locks."""
    found: set[str] = set()
    for lock in locks:
        text = (ROOT / "deploy" / "locks" / f"{lock}.txt").read_text(encoding="utf-8")
        found |= set(re.findall(r"^([A-Za-z0-9._-]+)==", text, flags=re.MULTILINE))
    return sorted(found)


def licence(name: str) -> str | None:
    """What an installed package says of its licence, unknown where it says nothing; none where it is not installed."""
    try:
        said = distribution(name).metadata
    except PackageNotFoundError:
        return None

    def first(field: str) -> str:
        return str(said[field]).strip().partition("\n")[0] if field in said else ""

    classified = [
        each.rpartition(" :: ")[2]
        for each in said.get_all("Classifier") or ()
        if each.startswith("License ::")
    ]
    return first("License-Expression") or "; ".join(classified) or first("License") or "unknown"


def licences(said: Iterable[tuple[str, str | None]]) -> Found:
    """Whether all may be passed on with ours; what is not installed here is told, not passed."""
    found = Found()
    absent: list[str] = []
    for name, words in said:
        if words is None:
            absent.append(name)
        elif BOUND.search(re.sub(r"\bLGPL|Lesser General", "", words)) or not FREE.search(words):
            found.wrong.append(f"{name}: licence {words}")
    if absent:
        found.told.append(f"not installed here, so not looked at: {', '.join(absent)}")
    return found


def check(into: Path) -> Found:
    """Everything."""
    released = version()
    found = changelog((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), released)
    found.wrong += elsewhere(released)
    wheel, sdist = build("wheel", ROOT, into), build("sdist", ROOT, into)
    found.wrong += wheel_faults(wheel, released)
    found.wrong += sdist_faults(sdist, released, wheel)
    names = pinned()
    legal = licences((name, licence(name)) for name in names)
    found.wrong += legal.wrong
    found.told += [
        f"built {wheel.name} and {sdist.name}",
        f"looked at the licences of {len(names)} packages",
        *legal.told,
    ]
    return found


def main(arguments: list[str]) -> int:
    """Tell what was found; 1 where something is wrong."""
    into = ROOT / "dist"
    into.mkdir(exist_ok=True)
    found = check(into)
    for each in found.told:
        print(each)
    for each in found.later:
        print(f"on the day: {each}")
    for each in found.wrong:
        print(f"wrong: {each}")
    return int(bool(found.wrong or ("--final" in arguments and found.later)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
