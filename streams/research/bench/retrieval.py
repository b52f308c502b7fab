"""``bench retrieval``: does the search tool find the paragraphs that a question takes? Real numbers.

The paragraphs of all items are one corpus; each question is searched as it stands. ``recall_at_3`` is the
mean share of a question's supporting titles among the three passages found, ``all_at_3`` the share of
questions with all of them.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from state.tables.corpus import MODES, Corpus, Mode, Passage
from streams.answering.embedders.port import Embedder
from streams.answering.tools.corpus import index
from streams.support.datasets import hotpotqa

TOP = 3


async def measured(path: Path, embedder: Embedder, folder: Path) -> dict[str, Any]:
    """Recall of every mode over one file."""
    # One corpus of all items' paragraphs: within its own
    # ten a question would find its titles too easily.
    texts = (Passage(title, text) for title, text in hotpotqa.passages(path))
    count = await index(folder, texts, embedder)
    asked = list(hotpotqa.supporting(path))
    vectors = await embedder.embed([question for question, _ in asked])
    corpus = Corpus(folder, embedder.name)
    found: dict[Mode, list[frozenset[str]]] = {
        mode: [
            frozenset(passage.title for passage in corpus.search(question, vector, TOP, mode))
            for (question, _), vector in zip(asked, vectors, strict=True)
        ]
        for mode in MODES
    }
    wanted = [titles for _, titles in asked]
    return {**recalls(found, wanted), "questions": len(asked), "passages": count}


def recalls(
    found: Mapping[Mode, Sequence[frozenset[str]]], wanted: Sequence[frozenset[str]]
) -> dict[str, Any]:
    """Recall and completeness of each mode, to four digits."""
    figures: dict[str, dict[str, float]] = {f"recall_at_{TOP}": {}, f"all_at_{TOP}": {}}
    for mode, answers in found.items():
        shares = [
            len(got & titles) / len(titles) for got, titles in zip(answers, wanted, strict=True)
        ]
        figures[f"recall_at_{TOP}"][mode] = round(sum(shares) / len(shares), 4)
        figures[f"all_at_{TOP}"][mode] = round(sum(s == 1 for s in shares) / len(shares), 4)
    return dict(figures)


def run(path: Path, embedder: Embedder, folder: Path | None = None) -> dict[str, Any]:
    """Every figure of ``metalogue bench retrieval``; a ``folder`` keeps the index for the next time."""
    with tempfile.TemporaryDirectory() as passing:
        figures = asyncio.run(measured(path, embedder, folder or Path(passing)))
    return {**figures, "embedder": embedder.name}
