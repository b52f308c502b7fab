"""How well guidance fits its problem, read off a log by a recipe: figure 6 of MC²."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from handlers.learning.cosine import cosine
from handlers.policies.mc2.measure import Guided, fits
from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.events.reasoning import KnowledgeReached
from streams.answering.embedders.hashed import HashedEmbedder
from streams.research.analysis.cases import read
from streams.research.bench.guided import add_fits, has_fits, texts_of
from streams.research.bench.recipe import Recipe
from streams.research.bench.results import Episode, Results
from streams.runtime.embedded.log import SqliteLog
from tests.streams.bench.worlds import case, episodes
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
    for one in cases:
        texts = texts_of(one)
        assert not any(one.problem.problem in text for text in texts)
        if texts and one.opened.memory_version:
            asked, *said = vectors(one.problem.problem, *texts)
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


# ── In a world set by hand ───────────────────────────────────────────────────────────────────


class Spelled:
    """An embedder whose vectors are spelled in the texts: ``1,0``. It tells what it was asked."""

    name, dimensions = "spelled@1", 2

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.asked.append([*texts])
        return [tuple(map(float, each.split(","))) for each in texts]

    async def close(self) -> None: ...


NUMBERS = count()


def guided(problem: str, *said: str, version: int = 1, seed: int = 0, walk: int = 1) -> Episode:
    """An episode of a batch with what its Composer said, round by round."""
    events: list[Event] = []
    for at, text in enumerate(said):
        events += [
            Completed(asked="complete composer x", text=text, finish="stop", model="m"),
            KnowledgeReached(
                round=at, role="reasoner", source=f"{2 * at + 1}.0.0", result="composed", bullets=1,
                items=(),
            ),
        ]  # fmt: skip
    found = case(f"q{next(NUMBERS)}", events=events, seed=seed)
    posed = found.problem.model_copy(update={"problem": problem})
    opened: Any = SimpleNamespace(memory_version=version)
    [one] = episodes(replace(found, problem=posed, opened=opened), seed=seed, walk=walk)
    return one


def fitted(*mine: Episode) -> tuple[list[Any], list[list[str]]]:
    embedder, results = Spelled(), Results((), groups={("r", "d"): [*mine]})
    asyncio.run(add_fits(results, embedder))
    group = results.groups["r", "d"]
    assert [each.case.episode for each in group] == [each.case.episode for each in mine]
    return [each.case.fits for each in group], embedder.asked


def test_texts_of_a_batch_are_embedded_at_once_and_kept_apart_from_others() -> None:
    right, up = "+1,+0", "+0,+1"
    mine = [
        guided("1,0", right),
        guided("0,1", up, right, version=2),
        guided("0,1", up, right),
        guided("1,0", version=2),
        guided("1,0", right, version=2),
    ]
    assert fitted(*mine) == (
        [(1.0, 0.5), (0.5, 0.0), (0.5, 0.0), None, (1.0, 0.5)],
        [["1,0", right, "0,1", up, right], ["0,1", up, right, "1,0", "1,0", right]],
    )


def test_the_first_batch_and_one_without_texts_are_not_embedded() -> None:
    first = [guided("1,0", "+1,+0", version=0), guided("0,1", "+0,+1", version=0)]
    silent = [guided("1,0", version=1), guided("0,1", version=1)]
    assert fitted(*first, *silent) == ([None] * 4, [])


def test_seeds_and_passes_are_batches_of_their_own() -> None:
    mine = [guided("1,0", "+1,+0", seed=seed, walk=walk) for seed in (1, 0) for walk in (2, 1)]
    assert fitted(*mine) == ([None] * 4, [["1,0", "+1,+0"]] * 4), "each was guided alone"


def test_what_a_fallback_kept_or_another_role_was_told_is_no_guidance() -> None:
    one = guided("1,0", "a", "b", "c").case
    events = [event for _, event in one.trace.events]
    for at, change in ((3, {"result": "fallback"}), (5, {"role": "monitor"})):
        events[at] = structs.replace(events[at], **change)
    told = case("q", events=events)
    assert texts_of(told) == ("a",)


@pytest.mark.parametrize(
    ("column", "row", "asked"),
    [
        ({"metric": "guide_fit"}, {}, True),
        ({"metric": "accuracy"}, {"metric": "guide_fit_random"}, True),
        ({"metric": "accuracy"}, {}, False),
        ({}, {}, False),
    ],
)
def test_fits_are_reckoned_where_a_table_asks_for_them(
    column: dict[str, Any], row: dict[str, Any], asked: bool
) -> None:
    said = {
        "recipe": "r", "data": {"d": {"source": "jsonl"}}, "runs": {"a": {"policy": "mc2"}},
        "tables": [{"title": "t", "columns": {"c": {"run": "a", "data": "d", **column}}, "rows": {"r": row}}],
    }  # fmt: skip
    assert has_fits(Recipe.model_validate(said)) is asked
    assert not has_fits(Recipe.model_validate(said | {"tables": []}))
