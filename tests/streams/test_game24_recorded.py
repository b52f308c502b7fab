"""Real GPT-4 texts, read by our extractor and judged by our checker: the published figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.research.bench.game24_recorded import run
from tests.data import shared


def test_our_judge_agrees_with_every_published_label() -> None:
    figures = run(shared() / "game24")
    assert figures["single"] == pytest.approx(0.0403, abs=1e-9)
    assert figures["any_of_100"] == 49
    assert (figures["samples"], figures["problems"], figures["disagreements"]) == (10_000, 100, 0)
    assert figures["tot"] == {"first": 62, "any_of_5": 69, "texts": 500, "disagreements": 0}


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no 24\.csv in"):
        run(tmp_path)
    (tmp_path / "24.csv").write_text("Rank,Puzzles\n1,1 1 4 6\n")
    with pytest.raises(ValueError, match="0 files like"):
        run(tmp_path)
