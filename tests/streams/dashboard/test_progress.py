"""The central claim on pages: the same figures as an analysis says, drawn, and served as files of ours."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from streams.interfaces.dashboard import progress
from streams.interfaces.dashboard.words import link
from streams.telemetry.figures import Reader
from tests.streams.cli.calling import call
from tests.streams.dashboard.serving import Site
from tests.streams.dashboard.test_pages import SCOPE


def test_dashboard_and_analysis_say_the_same_of_each_batch(worked: Path, tmp_path: Path) -> None:
    said = call("analyse", "--log", worked, "--out", tmp_path, "--json")
    assert said.code == 0, said.err
    reader = Reader(worked)
    figures = reader.read_all()
    reader.close()
    steps = progress.steps(list(figures.batches.values()), figures.grades)
    assert said.json["learning"] == {SCOPE: steps}
    assert [each["batch"] for each in steps] == [1, 2]
    assert all(each["lessons"] for each in steps)
    page = (tmp_path / "analysis.html").read_text(encoding="utf-8")
    assert f'alt="{SCOPE}, batch by batch. Accuracy' in page
    told = (tmp_path / "analysis.md").read_text(encoding="utf-8")
    assert f"| 1 | {steps[0]['right']} of 10 |" in told


@pytest.mark.parametrize("page", ["/", "/learning"])
def test_the_picture_is_on_the_first_page_and_beside_its_scope(site: Site, page: str) -> None:
    text = site.get(page).text
    assert f'alt="{SCOPE}, batch by batch. Accuracy, calls and tokens' in text
    files = [unescape(each) for each in re.findall(r'(?:srcset|src)="(/progress[^"]*)"', text)]
    assert len(files) == 4
    drawings = {site.get(file).text for file in files}
    assert len(drawings) == 4
    assert all("<svg" in each for each in drawings)
    assert site.get(files[0]).headers["content-type"] == "image/svg+xml"


@pytest.mark.parametrize(
    "asked", [{"scope": "x"}, {"scope": SCOPE, "theme": "x"}, {"scope": SCOPE, "shape": "x"}, {}]
)
def test_no_other_drawing_is_made(site: Site, asked: dict[str, Any]) -> None:
    assert site.get(link("/progress.svg", **asked)).status == 404


def test_without_matplotlib_a_page_says_what_is_missing(
    worked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "can_draw", lambda: False)
    reader = Reader(worked)
    figures = reader.read_all()
    reader.close()
    shown = progress.shown(figures, SCOPE)
    assert shown is not None
    assert "matplotlib" in shown["missing"]
    assert progress.shown(figures, "another") is None
