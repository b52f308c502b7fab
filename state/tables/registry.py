"""The tables that this build writes. Another one is another entry."""

from __future__ import annotations

from state.projections.arms import ARMS
from state.projections.episodes import CASES, EPISODES, REFLECTIONS
from state.projections.graph import (
    GRAPH_EDGES,
    GRAPH_METACOGNITIONS,
    GRAPH_PATHS,
    GRAPH_QUERIES,
)
from state.projections.items import KNOWLEDGE, LESSONS
from state.tables.table import Table

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        *(LESSONS, KNOWLEDGE, REFLECTIONS, CASES, EPISODES, ARMS),
        *(GRAPH_QUERIES, GRAPH_PATHS, GRAPH_METACOGNITIONS, GRAPH_EDGES),
    )
}
