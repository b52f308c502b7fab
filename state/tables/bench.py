"""Lessons in a table for measurements: one process reads it while another goes on writing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from schemas.memory import Memory, MemoryItem
from schemas.vectors import pack
from state.folds.lives import ItemUsage
from state.projections.items import LESSONS, lesson
from state.tables.lance import LanceTable
from state.tables.table import Row

PAUSE_S = 0.05
BATCH = 20


def fill(folder: Path, memories: Iterable[Memory], dimensions: int) -> Any:
    """A table of these lessons, compacted and indexed as the projector does it; a reader's handle."""
    table = LanceTable(folder, LESSONS, dimensions)
    lives = (
        ItemUsage(memory.scope, item, 1, 1, embedder="drawn")
        for memory in memories
        for item in memory.items
    )
    table.write_anew(lambda: map(lesson, lives), 1)
    import lancedb

    connect: Any = lancedb.connect
    # No interval of consistency: a reader has to see each commit, since that is what is measured.
    return connect(folder, read_consistency_interval=timedelta(0)).open_table(LESSONS.name)


def query(table: Any, domain: str, role: str, vector: Sequence[float]) -> list[Row]:
    """The three nearest lessons of one role and domain, as any user would ask."""
    search = table.search(list(vector), vector_column_name="vector").distance_type("cosine")
    wanted = search.where(f"role = '{role}' and domain = '{domain}'")
    rows: list[Row] = wanted.select(["key", "text", "_distance"]).limit(3).to_list()
    return rows


def keep_writing(folder: Path, dimensions: int) -> None:
    """Upsert a few lessons again and again, compacting as the projector does, until killed."""
    table = LanceTable(folder, LESSONS, dimensions)
    table.open(check=False)
    vector = pack([1.0] * dimensions)
    items = [
        MemoryItem(
            id=f"W{number}",
            kind="lesson",
            role="written",
            text=f"written {number}",
            text_digest=str(number),
            batch=1,
            vector=vector,
        )
        for number in range(BATCH)
    ]
    offset = 1
    while True:
        offset += 1
        lives = (ItemUsage("written", item, 1, offset, embedder="drawn") for item in items)
        table.merge(map(lesson, lives), offset)
        time.sleep(PAUSE_S)
