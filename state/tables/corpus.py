"""A corpus of passages in one LanceDB table, found by full text, by vector, or by both.

A hybrid search fuses the ranks of both (reciprocal rank fusion). One embedder made all vectors; its name
stands in every row, and a search with another one is refused.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from state.tables.lance import arrow, chunks, connected

Mode: TypeAlias = Literal["bm25", "vector", "hybrid"]
MODES: tuple[Mode, ...] = ("bm25", "vector", "hybrid")
NAME = "passages"
DEPTH = 4
"""A fusion looks at this many times as many passages of either kind."""
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


def write(
    folder: Path,
    passages: Iterable[tuple[Passage, Sequence[float]]],
    embedder: str,
    dimensions: int,
) -> int:
    """Make the corpus anew; how many passages it holds."""
    pa = arrow()
    names = ("title", "text", "whole", "embedder")
    fields = [pa.field(name, pa.string()) for name in names]
    schema = pa.schema([*fields, pa.field("vector", pa.list_(pa.float32(), dimensions))])
    shutil.rmtree(folder / f"{NAME}.lance", ignore_errors=True)
    table = connected(folder).create_table(NAME, schema=schema)
    for part in chunks(passages):
        rows = [_row(passage, vector, embedder) for passage, vector in part]
        table.add(pa.Table.from_pylist(rows, schema=schema))
    _index(table)
    return int(table.count_rows())


def vectors_of(folder: Path, embedder: str) -> dict[str, list[float]]:
    """What a corpus holds already, by the whole text of a passage; nothing where another made it."""
    try:
        table = Corpus(folder, embedder).table
    except NoCorpus:
        return {}
    rows = table.search().select(["whole", "vector"]).limit(table.count_rows()).to_list()
    return {row["whole"]: row["vector"] for row in rows}


def _row(passage: Passage, vector: Sequence[float], embedder: str) -> dict[str, Any]:
    return {
        "title": passage.title,
        "text": passage.text,
        "whole": passage.whole,
        "embedder": embedder,
        "vector": list(vector),
    }


def _index(table: Any) -> None:
    from lancedb.index import FTS

    table.create_index("whole", config=FTS())


class Corpus:
    """An open corpus. Raises ``NoCorpus`` where there is none that this embedder made."""

    def __init__(self, folder: Path, embedder: str) -> None:
        where = f"metalogue corpus FILE {folder}"
        if not (folder / f"{NAME}.lance").is_dir():
            raise NoCorpus(f"no corpus in {folder}; make one: {where}")
        self.table: Any = connected(folder).open_table(NAME)
        first = self.table.search().select(["embedder"]).limit(1).to_list()
        made = first[0]["embedder"] if first else embedder
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
        return [_passage(row) for row in search.select([*_SHOWN, "_score"]).limit(top).to_list()]

    def _by_vector(self, vector: Sequence[float], top: int) -> list[Passage]:
        search = self.table.search(list(vector), vector_column_name="vector")
        wanted = search.distance_type("cosine").select([*_SHOWN, "_distance"])
        return [_passage(row) for row in wanted.limit(top).to_list()]


_SHOWN = ("title", "text")


def _passage(row: dict[str, Any]) -> Passage:
    return Passage(row["title"], row["text"])


def fused(rankings: Sequence[Sequence[Passage]]) -> list[Passage]:
    """Passages by the sum of their reciprocal ranks; ties go to what the first ranking has first."""
    scores: dict[Passage, float] = {}
    for ranking in rankings:
        for place, passage in enumerate(ranking, 1):
            scores[passage] = scores.get(passage, 0.0) + 1.0 / (RANK + place)
    return sorted(scores, key=lambda passage: -scores[passage])
