"""How well guidance fits its problem, read off a log by a recipe: figure 6 of MC²."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from handlers.learning.cosine import cosine
from handlers.policies.mc2.measure import Guided, fits
from streams.answering.embedders.hashed import HashedEmbedder
from streams.research.analysis.cases import read
from streams.research.bench.guided import texts_of
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call

RECIPE: dict[str, Any] = {
    "recipe": "guided", "claims": [], "paper": "none", "about": "a", "differs": "d", "seeds": [0],
    "data": {"game24": {"source": "game24:901-909"}},
    "runs": {"mc2": {"policy": "mc2", "settings": {"batch_size": 3, "relevance_floor": None}}},
    "tables": [{
        "title": "t",
        "columns": {
            "own": {"run": "mc2", "data": "game24", "metric": "guide_fit"},
            "other": {"run": "mc2", "data": "game24", "metric": "guide_fit_random"},
        },
        "rows": {"batch 1": {"kind": "batch_2", "paper": [None, None]}, "all": {"paper": [0.5, None]}},
    }],
}  # fmt: skip


@pytest.mark.claim("mc2-fig-06")
def test_a_recipe_embeds_guidance_beside_its_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The measure had no caller outside tests, and the figure no recipe."""
    monkeypatch.chdir(tmp_path)
    Path("guided.yaml").write_text(json.dumps(RECIPE))
    words = ("--backbone", "rehearsal:seed=2", "--role", "embedder=hashed", "--log", "a.db")
    done = call("bench", "run", "guided.yaml", *words, "--plots", "none")
    assert done.code == 0, done.err
    log = SqliteLog("a.db")
    cases = [*read(log).cases()]
    log.close()
    embedder = HashedEmbedder()

    def vectors(*texts: str) -> list[tuple[float, ...]]:
        return asyncio.run(embedder.embed(texts))

    own: list[float] = []
    for case in cases:
        texts = texts_of(case)
        assert not any(case.problem.problem in text for text in texts)
        if texts and case.opened.memory_version:
            asked, *said = vectors(case.problem.problem, *texts)
            own.append(sum(cosine(asked, each) for each in said) / len(said))
    assert own, "the Composer wrote for someone"
    made = json.loads(Path("bench/guided.json").read_text())
    first, every = made["tables"][0]["rows"]
    mine, other = (cell["ours"] for cell in every["cells"])
    assert mine["known"] == other["known"] == len(own)
    assert mine["value"] == pytest.approx(sum(own) / len(own), abs=1e-6)
    assert 0 < first["cells"][0]["ours"]["known"] < len(own)
    assert mine["interval"] is not None


def test_each_episode_s_fit_is_the_batch_s_mean() -> None:
    batch = [
        Guided((1.0, 0.0), ((1.0, 0.0),)),
        Guided((0.0, 1.0), ((0.0, 1.0), (1.0, 0.0))),
        Guided((1.0, 0.0), ()),
    ]
    assert fits(batch, 2) == [(1.0, 0.5), (0.5, 0.0), None]
    assert fits(batch, 1) == [None] * 3, "the first batch has nothing to be guided by"
