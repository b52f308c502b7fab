"""The search tool over a corpus in LanceDB: vector, full text, or both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.questions import ToolResult, UseTool
from streams.answering.embedders.port import Embedder

if TYPE_CHECKING:
    from state.tables.corpus import Corpus, Mode, Passage, Prefixes

TOOL = "search"
TOP, MOST = 3, 20
AT_ONCE = 64
KEPT = 1024
"""Passages that are written in one go: fewer would make a file of each few, more of them take memory."""


class CorpusTools:
    """Answers ``search(query, topk)`` from one corpus; the index is opened at the first call."""

    def __init__(self, folder: Path, embedder: Embedder, mode: Mode = "hybrid") -> None:
        self.folder, self.embedder = folder, embedder
        self.mode: Mode = mode
        self.corpus: Corpus | None = None

    async def call(self, question: UseTool) -> ToolResult:
        """The passages found, best first, each with its number; any other tool is refused."""
        said = dict(question.arguments)
        if question.tool != TOOL:
            return ToolResult(f"there is no tool {question.tool!r}, only {TOOL}", "refused")
        query, top = str(said.get("query", "")), min(int(said.get("topk", TOP)), MOST)
        corpus = await asyncio.to_thread(self.opened)
        vector = (await self.embedder.embed((corpus.prefixes.query + query,)))[0]
        found = await asyncio.to_thread(corpus.search, query, vector, top, self.mode)
        return ToolResult(shown(found), "found" if found else "empty")

    def opened(self) -> Corpus:
        """The corpus. Raises ``NoCorpus``."""
        from state.tables.corpus import Corpus

        if self.corpus is None:
            self.corpus = Corpus(self.folder, self.embedder.name)
        return self.corpus

    async def close(self) -> None:
        """Nothing to release."""


def shown(passages: Sequence[Passage]) -> str:
    """The passages as the tool's response shows them."""
    return "\n\n".join(f"({at}) {each.whole}" for at, each in enumerate(passages, 1))


async def index(
    folder: Path, passages: Iterable[Passage], embedder: Embedder, prefixes: Prefixes | None = None
) -> int:
    """Make a corpus of these passages; how many it holds. What stood in it is not embedded again.

    No more than a part of it is in memory at any time: neither passages nor vectors.
    """
    from state.tables.corpus import Making, Prefixes

    asked = prefixes or Prefixes()
    making = await asyncio.to_thread(Making, folder, embedder.name, asked)
    rest, waiting = iter(passages), list[tuple["Passage", Sequence[float]]]()
    while part := list(islice(rest, AT_ONCE)):
        vectors: dict[str, Sequence[float]] = {}
        vectors |= await asyncio.to_thread(making.known, part)
        # A passage is embedded once, however often it stands in a corpus, and in whatever run it
        # was made.
        new = list(dict.fromkeys(each.whole for each in part if each.whole not in vectors))
        made = await embedder.embed([asked.passage + text for text in new])
        vectors |= zip(new, made, strict=True)
        waiting += [(each, vectors[each.whole]) for each in part]
        if len(waiting) >= KEPT:
            await asyncio.to_thread(making.add, waiting)
            waiting = []
    if waiting:
        await asyncio.to_thread(making.add, waiting)
    return await asyncio.to_thread(making.close)
