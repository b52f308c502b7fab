from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.architecture.pages import ROOT
from tests.streams.dashboard.serving import Site, serving
from tests.streams.telemetry.conftest import worked

__all__ = ["worked"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SHOTS = ROOT / "build" / "screenshots"


def chromium() -> str | None:
    """Where a browser is, if there is one."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def site(worked: Path) -> Generator[Site]:
    """The dashboard of a log that nobody works on."""
    with serving(worked) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """Debian's Chromium without a screen. Skipped where there is none; in CI that is a failure.

    For a module at most: while its driver is there, the event loop of this thread is taken.
    """
    path = chromium()
    if path is None:
        why = "no Chromium here: apt-get install chromium"
        assert not os.environ.get("CI"), why
        pytest.skip(why)
    SHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = driver.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()
