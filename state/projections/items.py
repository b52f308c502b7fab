"""Rows of lessons and of rules: what was learned, since when it stands, and what it was part of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from schemas.vectors import unpack
from state.folds.lives import ItemKey, ItemUsage
from state.tables.columns import shared
from state.tables.table import Column, Row, Source, Table

SHARED = (
    *shared("scope", "domain"),
    Column("id", "text", "the item's id in its scope"),
    Column("role", "text", "the role that it guides"),
    Column("text", "text", "the guidance itself"),
    Column("since", "int", "first memory version that holds it"),
    Column("until", "int", "first memory version without it; none while it stands"),
    Column("live", "bool", "whether the newest memory version holds it"),
    *shared("withdrawn", "retired"),
    Column("uses", "int", "opportunities: episodes that had it in their prompts"),
    Column("right_uses", "int", "uses whose answer was right"),
    Column("wrong_uses", "int", "uses whose answer was wrong"),
)
LESSON = (
    Column("batch", "int", "the batch that it was learned from"),
    Column("polarity", "text", "do, avoid or both"),
    Column("subject", "text", "the problem that it came from, as domain/id"),
    Column("evidence", "texts", "ids of the episodes that it rests on"),
    Column("embedder", "text", "what made the vector; never compare vectors of two embedders"),
    Column("vector", "vector", "embedding of the lesson"),
)


def row(life: ItemUsage) -> Row:
    """Return the columns that lessons and rules have in common."""
    item = life.item
    return {
        "key": "/".join(life.key),
        "off": life.off,
        "scope": life.scope,
        "domain": life.scope.partition("/")[0],
        "id": item.id,
        "role": item.role,
        "text": item.text,
        "since": life.since,
        "until": life.until,
        "live": life.until is None,
        "withdrawn": life.withdrawn,
        "retired": life.retired,
        "uses": life.uses,
        "right_uses": life.right,
        "wrong_uses": life.wrong,
    }


def lesson(life: ItemUsage) -> Row:
    """One lesson."""
    item = life.item
    more: Row = {
        "batch": item.batch,
        "polarity": item.polarity,
        "subject": item.subject,
        "evidence": list(item.evidence),
        "embedder": life.embedder,
        "vector": None if item.vector is None else list(unpack(item.vector)),
    }
    return row(life) | more


def lives(source: Source, keys: Sequence[ItemKey]) -> Iterator[ItemUsage]:
    """The lives of these items, as far as they are known."""
    # Keys come from all items that changed; each table takes those of its own kind.
    return filter(None, map(source.state.lives.known.get, keys))


def lessons(source: Source, keys: Sequence[Any]) -> Iterator[Row]:
    """The lessons among these keys."""
    return (lesson(life) for life in lives(source, keys) if life.item.kind == "lesson")


def rules(source: Source, keys: Sequence[Any]) -> Iterator[Row]:
    """The rules among these keys."""
    return (row(life) for life in lives(source, keys) if life.item.kind == "rule")


LESSONS = Table(
    "lessons",
    "Micro-lessons of every scope, live or not",
    (*SHARED, *LESSON),
    attrgetter("lives"),
    attrgetter("state.lives.known"),
    lessons,
    ("role", "domain"),
)
KNOWLEDGE = Table(
    "knowledge",
    "Consolidated rules of every role, one row a text",
    SHARED,
    attrgetter("lives"),
    attrgetter("state.lives.known"),
    rules,
    ("role", "domain"),
)
