"""What `make release-check` finds: versions that differ, a changelog without them, licences that bind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.pages import ROOT
from tests.architecture.release import (
    build,
    changelog,
    elsewhere,
    licence,
    licences,
    pinned,
    sdist_faults,
    version,
    wheel_faults,
)

RELEASED = "## [Unreleased]\n\n## [1.2.0] - 2026-01-31\n\n- A thing.\n"


def test_a_changelog_names_the_version_with_its_date() -> None:
    assert (changelog(RELEASED, "1.2.0").wrong, changelog(RELEASED, "1.2.0").later) == ([], [])
    assert changelog(RELEASED, "1.3.0").wrong == ["CHANGELOG.md has no heading [1.3.0]"]
    assert changelog("## [1.2.0] - unreleased\n", "1.2.0").later == [
        "CHANGELOG.md: [1.2.0] has no date (unreleased)"
    ]
    noted = RELEASED.replace("[Unreleased]\n", "[Unreleased]\n\n- Another thing.\n")
    assert changelog(noted, "1.2.0").later == ["CHANGELOG.md: notes stand under Unreleased"]


def test_our_changelog_has_our_version_and_the_chart_says_the_same() -> None:
    assert changelog((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version()).wrong == []
    assert list(elsewhere(version())) == []
    assert len(list(elsewhere("9.9.9"))) == 2


@pytest.mark.parametrize(
    "words",
    [
        "MIT",
        "BSD License",
        "Apache-2.0 AND MIT",
        "MPL-2.0",
        "LGPL-2.1 OR MIT",
        "ISC License (ISCL)",
    ],
)
def test_licences_that_bind_nobody_are_let_in(words: str) -> None:
    assert licences([("a", words)]).wrong == []


@pytest.mark.parametrize(
    "words",
    [
        "GPL-3.0-only",
        "AGPL-3.0",
        "GNU General Public License v3 (GPLv3)",
        "MIT AND GPL-2.0",
        "unknown",
        "SSPL-1.0",
    ],
)
def test_licences_that_bind_or_say_nothing_are_named(words: str) -> None:
    assert licences([("a", words)]).wrong == [f"a: licence {words}"]


def test_what_users_install_may_be_passed_on() -> None:
    names = pinned()
    assert {"numpy", "lancedb", "openai", "fastapi", "mcp"} <= set(names)
    found = licences((name, licence(name)) for name in names)
    assert found.wrong == []
    assert licence("no-such-package-of-anybody") is None
    assert licences([("a", None)]).told == ["not installed here, so not looked at: a"]


@pytest.mark.slow
def test_wheel_and_sdist_are_whole(tmp_path: Path) -> None:
    wheel, sdist = build("wheel", ROOT, tmp_path), build("sdist", ROOT, tmp_path)
    assert list(wheel_faults(wheel, version())) == []
    assert list(sdist_faults(sdist, version(), wheel)) == []
    assert list(wheel_faults(wheel, "9.9.9")) == [
        f"{wheel.name} says version {version()}, and pyproject.toml 9.9.9"
    ]
