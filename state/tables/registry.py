"""The tables that this build writes. Another one is another entry."""

from __future__ import annotations

from state.projections.episodes import CASES, EPISODES, REFLECTIONS
from state.projections.items import KNOWLEDGE, LESSONS
from state.tables.table import Table

TABLES: dict[str, Table] = {
    table.name: table for table in (LESSONS, KNOWLEDGE, REFLECTIONS, CASES, EPISODES)
}
