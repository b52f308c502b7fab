"""Rows of arms and beliefs: what learning rules made of measured episodes, in the newest version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from schemas.identity import canonical
from state.folds.state import VersionKey
from state.tables.columns import shared
from state.tables.table import Column, Row, Source, Table


def of_memory(learned: Mapping[str, Any]) -> Iterator[tuple[str, str, Row]]:
    """Kind, name and figures of each arm and belief in a learned state."""
    for arm in learned.get("arms", ()):
        pulls = arm.get("pulls", 0)
        yield (
            "arm",
            str(arm["id"]),
            {
                "text": arm.get("text"),
                "trials": pulls,
                "rate": arm.get("rated", 0.0) / pulls if pulls else None,
                "retired": arm.get("retired", False),
                "value": canonical(arm).decode(),
            },
        )
    for name, belief in learned.get("beliefs", {}).items():
        yield (
            "belief",
            name,
            {
                "text": None,
                "trials": belief["trials"],
                "rate": belief["solved"] / belief["trials"] if belief["trials"] else None,
                "retired": belief["retired"],
                "value": canonical(belief).decode(),
            },
        )


def rows(source: Source, keys: Sequence[VersionKey]) -> Iterator[Row]:
    """Arms and beliefs of the newest version of each scope that changed."""
    # A version that is not the newest has nothing to say here: arms are what they became.
    for scope in sorted({scope for scope, _ in keys}):
        memory = source.state.memories[scope].latest
        for kind, name, figures in of_memory(memory.learned):
            yield {
                "key": f"{scope}/{kind}/{name}",
                "off": source.version_offset(scope, memory.number),
                "scope": scope,
                "domain": scope.partition("/")[0],
                "version": memory.number,
                "kind": kind,
                "name": name,
            } | figures


FIGURES = (
    Column("kind", "text", "arm of a bandit, or belief"),
    Column("name", "text", "the arm's id, or the belief's key"),
    Column("text", "text", "the strategy that an arm stands for"),
    Column("trials", "int", "pulls of an arm, trials of a belief"),
    Column("rate", "float", "mean of what retirement looks at, share solved; null without a trial"),
    *shared("retired"),
    Column("value", "text", "everything of it as JSON"),
)
ARMS = Table(
    "arms",
    "Arms and beliefs of every scope, as they stand in its newest memory version",
    (*shared("scope", "domain", "version"), *FIGURES),
    attrgetter("versions"),
    attrgetter("state.digests"),
    rows,
    # Arms make room for others.
    by_scope=True,
)
