"""A corpus of passages in one LanceDB table, found by full text, by vector, or by both.

A hybrid search fuses the ranks of both (reciprocal rank fusion). One embedder made all vectors; its name
stands in every row, and a search with another one is refused. So do the prefixes that it was given: models
that were trained on ``query: `` and ``passage: `` find little without them.

A corpus is made part by part beside the one that it replaces, and need not fit into memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from schemas.identity import text_digest
from state.tables.lance import arrow, connected

Mode: TypeAlias = Literal["bm25", "vector", "hybrid"]
MODES: tuple[Mode, ...] = ("bm25", "vector", "hybrid")
NAME = "passages"
# What is being made; left over from a process that died, it is made again.
NEW = "passages-new"
# A fusion looks at this many times as many passages of either kind.
DEPTH = 4
RANK = 60
"""The constant of reciprocal rank fusion. Source: Cormack et al. 2009."""


class NoCorpus(ValueError):
    """There is no corpus here, or one of another embedder; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph with its title, which is found with it."""

    title: str
    text: str

    @property
    def whole(self) -> str:
        """Title and text, as they are indexed and shown."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefixes that stand before every query and before every passage when a vector is made of it."""

    query: str = ""
    passage: str = ""


class Making:
    """A corpus that is being made. Nothing is to be found in it, and the old one stays, until it is closed."""

    def __init__(self, folder: Path, embedder: str, prefixes: Prefixes = Prefixes()) -> None:
        self.folder, self.embedder, self.prefixes = folder, embedder, prefixes
        self._old: Any = None
        # The vectors of a corpus that is here are taken over where those of equal passages would be
        # the same: of another embedder, or behind another prefix, they would not.
        with suppress(NoCorpus):
            old = Corpus(folder, embedder)
            if "key" in old.table.schema.names and old.prefixes.passage == prefixes.passage:
                self._old = old.table
        self._table: Any = None
        self._schema: Any = None

    def known(self, passages: Iterable[Passage]) -> dict[str, list[float]]:
        """The vectors that the old corpus holds of these, by their whole text; none where another made it."""
        # A passage that did not change keeps its vector: embedding a corpus costs more than all
        # else.
        keys = {text_digest(each.whole) for each in passages}
        if self._old is None or not keys:
            return {}
        asked = ", ".join(f"'{key}'" for key in sorted(keys))
        found = self._old.search().where(f"key IN ({asked})").select(["whole", "vector"])
        return {
            row["whole"]: row["vector"] for row in found.limit(self._old.count_rows()).to_list()
        }

    def add(self, part: Sequence[tuple[Passage, Sequence[float]]]) -> None:
        """Add passages with their vectors, all of one length."""
        pa = arrow()
        if self._table is None:
            # A process that died may have left a part of another corpus there.
            shutil.rmtree(self.folder / f"{NEW}.lance", ignore_errors=True)
            fields = [pa.field(name, pa.string()) for name in _TEXTS]
            vector = pa.field("vector", pa.list_(pa.float32(), len(part[0][1])))
            self._schema = pa.schema([*fields, vector])
            self._table = connected(self.folder).create_table(NEW, schema=self._schema)
        rows: list[dict[str, Any]] = [
            {
                "key": text_digest(passage.whole),
                "title": passage.title,
                "text": passage.text,
                "whole": passage.whole,
                "embedder": self.embedder,
                "query_prefix": self.prefixes.query,
                "passage_prefix": self.prefixes.passage,
                "vector": list(vector),
            }
            for passage, vector in part
        ]
        self._table.add(pa.Table.from_pylist(rows, schema=self._schema))

    def close(self) -> int:
        """Index what was added and put it in the old one's place; how many passages it holds."""
        if self._table is None:
            raise NoCorpus("a corpus holds one passage at least")
        from lancedb.index import FTS, BTree

        self._table.create_index("whole", config=FTS())
        self._table.create_index("key", config=BTree())
        count = int(self._table.count_rows())
        self._table = self._old = None
        # The old corpus goes last, when the new one is whole; a search in between finds none for a
        # moment, and never half of one.
        shutil.rmtree(self.folder / f"{NAME}.lance", ignore_errors=True)
        (self.folder / f"{NEW}.lance").rename(self.folder / f"{NAME}.lance")
        return count


_TEXTS = ("key", "title", "text", "whole", "embedder", "query_prefix", "passage_prefix")


class Corpus:
    """An open corpus. Raises ``NoCorpus`` where there is none that this embedder made."""

    def __init__(self, folder: Path, embedder: str) -> None:
        where = f"metalogue corpus FILE {folder}"
        if not (folder / f"{NAME}.lance").is_dir():
            raise NoCorpus(f"no corpus in {folder}; make one: {where}")
        self.table: Any = connected(folder).open_table(NAME)
        told = [name for name in _MADE_BY if name in self.table.schema.names]
        rows: list[dict[str, Any]] = self.table.search().select(told).limit(1).to_list()
        first = rows[0] if rows else dict[str, Any]()
        made = first.get("embedder", embedder)
        self.prefixes = Prefixes(first.get("query_prefix", ""), first.get("passage_prefix", ""))
        # Vectors of two embedders have nothing to do with each other; a search over them would
        # find something, and nobody would notice.
        if made != embedder:
            raise NoCorpus(f"{folder} was made by {made}, not {embedder}; make it anew: {where}")

    def search(self, query: str, vector: Sequence[float], top: int, mode: Mode) -> list[Passage]:
        """The ``top`` best passages, best first."""
        match mode:
            case "bm25":
                found = self._by_text(query, top)
            case "vector":
                found = self._by_vector(vector, top)
            case "hybrid":
                deep = top * DEPTH
                found = fused([self._by_text(query, deep), self._by_vector(vector, deep)])[:top]
        return found

    def _by_text(self, query: str, top: int) -> list[Passage]:
        match: Any = import_module("lancedb.query").MatchQuery
        search = self.table.search(match(query, "whole"), query_type="fts")
        return [
            Passage(row["title"], row["text"])
            for row in search.select([*_SHOWN, "_score"]).limit(top).to_list()
        ]

    def _by_vector(self, vector: Sequence[float], top: int) -> list[Passage]:
        search = self.table.search(list(vector), vector_column_name="vector")
        wanted = search.distance_type("cosine").select([*_SHOWN, "_distance"])
        return [Passage(row["title"], row["text"]) for row in wanted.limit(top).to_list()]


_SHOWN = ("title", "text")
_MADE_BY = ("embedder", "query_prefix", "passage_prefix")
"""Corpora of earlier builds name no prefixes, and were made without."""


def fused(rankings: Sequence[Sequence[Passage]]) -> list[Passage]:
    """Passages by the sum of their reciprocal ranks; ties go to what the first ranking has first."""
    scores: dict[Passage, float] = {}
    for ranking in rankings:
        for place, passage in enumerate(ranking, 1):
            scores[passage] = scores.get(passage, 0.0) + 1.0 / (RANK + place)
    return sorted(scores, key=lambda passage: -scores[passage])
