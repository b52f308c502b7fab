"""Counting what policies stated."""

from __future__ import annotations

from schemas.events.union import FACT_KINDS
from streams.runtime.embedded.log import SqliteLog


def count_facts(log: SqliteLog) -> int:
    """How many facts a log holds."""
    marks = ",".join("?" * len(FACT_KINDS))
    query = f"select count(*) from records where kind in ({marks})"
    return int(log.db.execute(query, sorted(FACT_KINDS)).fetchone()[0])
