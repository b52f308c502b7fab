"""Columns that several tables and exports share, each described once."""

from __future__ import annotations

from state.tables.table import Column

SHARED_COLUMNS = {
    column.name: column
    for column in (
        Column(
            "scope", "text", "whose memory: domain / policy / name / digest of learning settings"
        ),
        Column("domain", "text", "kind of problem"),
        Column("version", "int", "memory version that changed the row last"),
        Column("memory_version", "int", "the memory version that it pinned"),
        Column("outcome", "text", "right, wrong, withheld or unknown, by what was known then"),
        Column(
            "graded",
            "text",
            "as is known now: right, wrong, withheld, undecided (a grader could not tell) or "
            "not graded (nobody tried)",
        ),
        Column("graded_by", "text", "the person whose verdict it is, else the grader"),
        Column("prompt_tokens", "int", "unknown is null"),
        Column("completion_tokens", "int", "unknown is null"),
        Column("reasoning_tokens", "int", "unknown is null"),
        Column("cached_tokens", "int", "unknown is null"),
        Column("cost", "float", "unknown is null"),
        Column(
            "seconds", "float", "latency, of an episode that of its critical path; unknown is null"
        ),
        Column("withdrawn", "bool", "whether it was withdrawn since its problem was forgotten"),
        Column(
            "retired",
            "bool",
            "whether it is kept out of prompts: a person said so, or its outcomes",
        ),
    )
}


def shared(*names: str) -> tuple[Column, ...]:
    """These columns, in this order."""
    return tuple(SHARED_COLUMNS[name] for name in names)
