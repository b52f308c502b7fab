"""The search tool: passages by full text, vector and both, and what a policy makes of them."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import ClassVar

import pytest

from schemas.questions import ToolResult, UseTool
from state.tables.corpus import Corpus, Making, Mode, NoCorpus, Passage, Prefixes, fused
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.embedders.minilm import MiniLm
from streams.answering.tools.corpus import CorpusTools, index
from streams.answering.tools.port import called
from streams.answering.tools.spelling import build
from streams.research.bench.retrieval import recalls, run
from tests.data import shared
from tests.streams.cli.calling import call

PASSAGES = (
    Passage("Bern", "Bern lies on the Aare. It is the seat of government."),
    Passage("Basel", "Basel lies on the Rhine; ships go down to the sea."),
    Passage("", 'What is "quoted" (and +odd): AND OR NOT?'),
    Passage("Aare", "The Aare is a river."),
)
EMBEDDER = HashedEmbedder()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("corpus") / "index"
    assert asyncio.run(index(made, PASSAGES, EMBEDDER)) == len(PASSAGES)
    return made


class Counting(HashedEmbedder):
    """Counts what it is asked for."""

    asked: ClassVar[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.asked.extend(texts)
        return await super().embed(texts)


def test_what_was_embedded_once_is_not_embedded_again(tmp_path: Path) -> None:
    made = asyncio.run(index(tmp_path, PASSAGES[:2], EMBEDDER))
    more = asyncio.run(index(tmp_path, (*PASSAGES, PASSAGES[3]), Counting()))
    assert (made, more) == (2, 5)
    assert Counting.asked == [each.whole for each in PASSAGES[2:]]
    fresh = tmp_path / "fresh"
    asyncio.run(index(fresh, (*PASSAGES, PASSAGES[3]), EMBEDDER))
    kept, anew = (Making(folder, EMBEDDER.name).known(PASSAGES) for folder in (tmp_path, fresh))
    assert kept == anew
    assert len(kept) == len(PASSAGES)
    assert Making(tmp_path, "other").known(PASSAGES) == {}
    assert Making(tmp_path, EMBEDDER.name, Prefixes(passage="passage: ")).known(PASSAGES) == {}


class Marked(HashedEmbedder):
    """Remembers what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.asked.extend(texts)
        return await super().embed(texts)


def test_queries_and_passages_get_the_prefixes_that_the_corpus_was_made_with(
    tmp_path: Path,
) -> None:
    """Models that were trained on ``query: `` and ``passage: `` had neither."""
    embedder = Marked()
    asyncio.run(index(tmp_path, PASSAGES, embedder, Prefixes("query: ", "passage: ")))
    assert embedder.asked == [f"passage: {each.whole}" for each in PASSAGES]
    tools = CorpusTools(tmp_path, embedder)
    question = UseTool("search", (("query", "Which river does Basel lie on?"), ("topk", 1)))
    found = asyncio.run(tools.call(question))
    assert embedder.asked[-1] == "query: Which river does Basel lie on?"
    assert found.text.startswith("(1) Basel\n"), "neither is shown"
    assert "passage:" not in found.text


class Flat(HashedEmbedder):
    """Quick, so that memory is measured and not the embedder's; what nobody holds any more is collected first."""

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        # The store's queries end in cycles. A full heap would leave them there for long, and they are not held.
        gc.collect()
        return [tuple(float(len(text) + at) for at in range(64)) for text in texts]


def peak_of(folder: Path, count: int) -> int:
    """Bytes that Python holds at most while so many passages are indexed."""
    many = (Passage(f"Title {at}", f"number {at} " * 20) for at in range(count))
    gc.collect()
    gc.freeze()
    tracemalloc.start()
    try:
        assert asyncio.run(index(folder, many, Flat())) == count
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_corpus_need_not_fit_into_memory(tmp_path: Path) -> None:
    """All passages with all vectors were held at once; and all old vectors with them, when it was made again."""
    # A process of its own: what other threads of this one do meanwhile would be counted too.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        peaks = alone.map(peak_of, *zip(*_made(tmp_path), strict=True))
        _warm, small, large, again = peaks
    assert large < 1.5 * small
    assert again < 1.5 * small, "made again over the old one"


def _made(folder: Path) -> list[tuple[Path, int]]:
    large = (folder / "large", 10_000)
    return [(folder / "warm", 10), (folder / "small", 2_000), large, large]


def test_the_old_corpus_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    asyncio.run(index(tmp_path, PASSAGES, EMBEDDER))

    def broken() -> Iterator[Passage]:
        yield from (Passage("", f"new {at}") for at in range(3_000))
        raise ValueError("line 3001")

    with pytest.raises(ValueError, match="line 3001"):
        asyncio.run(index(tmp_path, broken(), EMBEDDER))
    assert search(tmp_path, "Which river does Basel lie on?", 1).text.startswith("(1) Basel\n")
    assert asyncio.run(index(tmp_path, PASSAGES[:2], EMBEDDER)) == 2
    with pytest.raises(NoCorpus, match="one passage"):
        asyncio.run(index(tmp_path, (), EMBEDDER))


def search(folder: Path, query: str, topk: int = 3, tool: str = "search") -> ToolResult:
    tools = CorpusTools(folder, EMBEDDER)
    return asyncio.run(tools.call(UseTool(tool, (("query", query), ("topk", topk)))))


@pytest.mark.parametrize("mode", ["bm25", "vector", "hybrid"])
def test_every_mode_finds_the_passage(folder: Path, mode: str) -> None:
    tools = build(f"corpus:{folder}?mode={mode}", EMBEDDER)
    question = UseTool("search", (("query", "Which river does Basel lie on?"), ("topk", 1)))
    found = asyncio.run(tools.call(question))
    assert found.result == "found"
    assert found.text.startswith("(1) Basel\n")


def test_a_query_is_never_a_query_language(folder: Path) -> None:
    for query in ('"', "AND", "(+x -y) OR *", "title:Bern^2~", "\\", "🙂"):
        assert search(folder, query).result in ("found", "empty")
    assert "quoted" in search(folder, '"quoted" (and +odd): AND OR NOT?', 1).text


def test_other_tools_are_refused_and_faults_are_answers(folder: Path, tmp_path: Path) -> None:
    assert search(folder, "x", tool="browse").result == "refused"
    gone = CorpusTools(tmp_path / "none", EMBEDDER)
    event = asyncio.run(called(gone, UseTool("search", (("query", "x"),)), "asked"))
    assert event.result == "error"
    assert "metalogue corpus" in event.text


def test_a_corpus_of_another_embedder_is_refused(folder: Path) -> None:
    with pytest.raises(NoCorpus, match="hashed-256, not other"):
        Corpus(folder, "other")
    for wrong in ("corpus:", "files:x", f"corpus:{folder}?mode=best", f"corpus:{folder}-none"):
        with pytest.raises(ValueError, match=r"corpus|mode="):
            build(wrong, EMBEDDER)


def test_ranks_are_fused() -> None:
    a, b, c, d = PASSAGES
    assert fused([[a, b, c], [c, b]]) == [c, b, a]
    assert fused([[a, b], [d]]) == [a, d, b]
    assert fused([[], []]) == []


def test_recall_is_the_mean_share_of_what_was_wanted() -> None:
    found: dict[Mode, list[frozenset[str]]] = {"bm25": [frozenset("ab"), frozenset("x")]}
    figures = recalls(found, [frozenset("ac"), frozenset("xy")])
    assert figures == {"recall_at_3": {"bm25": 0.5}, "all_at_3": {"bm25": 0.0}}


# ── Through the command line ─────────────────────────────────────────────────────────────────


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """A corpus made by the command, and a log whose policy searched it."""
    lines = [json.dumps({"title": p.title, "text": p.text}) for p in PASSAGES]
    (tmp_path / "passages.jsonl").write_text("\n".join(lines))
    asked = [f"Which river does Basel lie on, said guide {at}?" for at in range(6)]
    problems = [
        {"id": str(at), "problem": each, "answer": "the Rhine", "dataset": "hotpotqa"}
        for at, each in enumerate(asked)
    ]
    (tmp_path / "problems.jsonl").write_text("\n".join(map(json.dumps, problems)))
    made = call("corpus", tmp_path / "passages.jsonl", tmp_path / "index", "--json")
    assert made.json["passages"] == len(PASSAGES)
    log = tmp_path / "a.db"
    produced = call(
        "produce", tmp_path / "problems.jsonl", "--policy", "tool_reasoning", "--log", log
    )
    assert produced.code == 0
    tools = f"corpus:{tmp_path / 'index'}"
    worked = call(
        "worker", "--backbone", "rehearsal:seed=3", "--tools", tools, "--until-idle",
        "--no-tables", "--log", log,
    )  # fmt: skip
    assert worked.code == 0
    return log


def test_what_was_found_is_on_the_record_and_is_not_looked_for_again(asked: Path) -> None:
    rows = call("log", "cat", "--json", "--log", asked).rows
    events = [row["event"] for row in rows if "event" in row]
    results = [event for event in events if event["kind"] == "tool.called"]
    assert results
    assert all(event["result"] == "found" and "Basel" in event["text"] for event in results)
    for each in (asked.parent / "index").rglob("*"):
        if each.is_file():
            each.unlink()
    assert call("verify", "--log", asked).code == 0


def test_a_recipe_s_policies_search_with_the_same_option(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(asked.parent)
    recipe = {
        "recipe": "search", "claims": [], "paper": "none", "about": "Search", "differs": "Everything",
        "seeds": [3], "data": {"asked": {"source": "jsonl", "domain": "hotpotqa"}},
        "runs": {"one": {"policy": "tool_reasoning"}},
        "tables": [{
            "title": "T", "columns": {"right": {"data": "asked", "metric": "accuracy"}},
            "rows": {"one": {"run": "one", "paper": [1]}},
        }],
    }  # fmt: skip
    Path("search.yaml").write_text(json.dumps(recipe))
    words = ("bench", "run", "search.yaml", "--data", "asked=problems.jsonl", "--log", "b.db")
    done = call(*words, "--backbone", "rehearsal:seed=3", "--tools", "corpus:index")
    assert done.code == 0, done.err
    results = [
        row["event"]["result"]
        for row in call("log", "cat", "--json", "--log", "b.db").rows
        if row.get("event", {}).get("kind") == "tool.called"
    ]
    assert results
    assert set(results) == {"found"}
    assert "--tools corpus:index" in Path("bench/search.md").read_text()


def test_wrong_tools_are_a_wrong_command_line(tmp_path: Path) -> None:
    said = call("solve", "x", "--backbone", "rehearsal", "--tools", f"corpus:{tmp_path}")
    assert said.code == 2
    assert "metalogue corpus" in said.err
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    assert call("corpus", empty, tmp_path / "x").code == 2


# ── HotpotQA ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_recall_of_supporting_titles_is_measured() -> None:
    figures = run(shared() / "hotpotqa" / "dev_distractor_100.jsonl", EMBEDDER)
    assert (figures["questions"], figures["embedder"]) == (100, "hashed-256")
    recall = figures["recall_at_3"]
    assert recall["bm25"] == pytest.approx(0.655, abs=0.02)
    assert 0.3 < recall["vector"] < recall["hybrid"] < recall["bm25"]


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_with_vectors_that_mean_something_both_find_more_than_either() -> None:
    figures = run(shared() / "hotpotqa" / "dev_distractor_100.jsonl", MiniLm())
    recall = figures["recall_at_3"]
    assert recall["vector"] == pytest.approx(0.655, abs=0.02)
    assert recall["hybrid"] > max(recall["bm25"], recall["vector"]) + 0.03
