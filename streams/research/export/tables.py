"""The tables of an export as data, with documented columns and rows that are read from log and folds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import orjson

from state.projections.arms import FIGURES, of_memory
from state.projections.episodes import EPISODES
from state.projections.graph import (
    GRAPH_EDGES,
    GRAPH_METACOGNITIONS,
    GRAPH_PATHS,
    GRAPH_QUERIES,
)
from state.projections.items import KNOWLEDGE, LESSONS
from state.tables.columns import shared
from state.tables.lance import chunks
from state.tables.table import Column, Row, Table
from streams.runtime.embedded.projector import LogSource
from streams.runtime.embedded.queries.rows import RecordRow, records

TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which part of a log: all of it, or one episode with what it refers to."""

    source: LogSource
    episode: str | None = None
    texts: tuple[str, ...] = ()
    """Episodes of kept texts that the one episode refers to."""
    items: frozenset[str] = frozenset()
    """Keys of the memory items that it named, by the memory version that it pinned."""
    scope: str | None = None

    def records(self, kind: str | None = None) -> Iterator[RecordRow]:
        """Records of the log, in order; on request of one kind alone."""
        episodes = None if self.episode is None else (self.episode, *self.texts)
        return records(self.source.log, self.source.state.offset, episodes, kind)

    def closings(self) -> Iterator[RecordRow]:
        """The batches that it may be a member of, in order; of a learning episode its own."""
        # A batch's record belongs to the episode that learned, and names its members.
        whole = self if self.is_learning else replace(self, episode=None)
        return whole.records("batch.closed")

    @property
    def is_learning(self) -> bool:
        """Whether the one episode is one that learned."""
        return self.episode is not None and self.episode.startswith("b/")

    def is_part_of(self, member: Row) -> bool:
        """Whether a batch's member belongs to this part."""
        return self.is_learning or self.episode in (None, member["episode"])

    def is_itself(self, row: Row) -> bool:
        """Whether a row of the table of episodes is that of the one episode."""
        return bool(row["key"] == self.episode)

    def has_item(self, row: Row) -> bool:
        """Whether the one episode named the memory item of a row."""
        return row["key"] in self.items

    def has_graph(self, row: Row) -> bool:
        """Whether a row is of the graph that the one episode could know of."""
        return bool(row["scope"] == self.scope)


@dataclass(frozen=True, slots=True)
class Exported:
    """One table of an export."""

    name: str
    about: str
    columns: tuple[Column, ...]
    rows: Callable[[Chosen], Iterable[Row]]


def _events(chosen: Chosen) -> Iterator[Row]:
    names = [column.name for column in EVENTS.columns]
    return (dict(zip(names, row, strict=True)) for row in chosen.records())


def _completions(chosen: Chosen) -> Iterator[Row]:
    for row in chosen.records("completed"):
        said = orjson.loads(row.body)
        kept = (*TOKENS, "text", "finish", "model", "attempts", "cost", "seconds", "truncated")
        place = {name: getattr(row, name) for name in ("offset", "topic", "episode", "address")}
        # What was asked begins with the kind of question, and then names the role.
        asked = said["asked"].split(" ")
        yield {
            **place,
            "at_ms": row.at_ms,
            "role": asked[1],
            "reused": bool(said.get("reused")),
            **{name: said.get(name) for name in kept},
        }


def _batches(chosen: Chosen) -> Iterator[Row]:
    """Members as each batch was closed last: again without those that were forgotten since."""
    read = (json.loads(row.body) for row in chosen.closings())
    newest = {(each["scope"], each["batch"]): each for each in read}
    grades = chosen.source.state.outcomes
    for closed in newest.values():
        for place, member in enumerate(closed["members"]):
            outcome = closed["outcomes"][place]
            row: Row = {
                "scope": closed["scope"],
                "batch": closed["batch"],
                "place": place,
                "episode": member,
                "outcome": outcome,  # as it was when the batch was closed; `graded` is as it is now
                "graded": grades.of(member).standing(outcome != "withheld"),
                "memory_version": closed["previous"],
            }
            if chosen.is_part_of(row):
                yield row


def _arms(chosen: Chosen) -> Iterator[Row]:
    for scope, fold in sorted(chosen.source.state.memories.items()):
        if chosen.scope in (None, scope):
            for number, memory in sorted(fold.versions.items()):
                for kind, name, figures in of_memory(memory.learned):
                    place = {"scope": scope, "version": number, "kind": kind, "name": name}
                    yield place | figures


def projected(table: Table, mine: Callable[[Chosen, Row], bool]) -> Exported:
    """A projected table as part of an export."""

    def rows(chosen: Chosen) -> Iterator[Row]:
        # In chunks, for a table of a million rows would not fit into memory as Python's objects.
        for part in chunks(table.keys(chosen.source)):
            for row in table.rows(chosen.source, sorted(part)):
                if chosen.episode is None or mine(chosen, row):
                    yield row

    key = Column("key", "text", "unique name")
    off = Column("off", "int", "offset of the record that changed it last")
    return Exported(table.name, table.about, (key, off, *table.columns), rows)


EVENTS = Exported(
    "events",
    "Every accepted record of the log",
    (
        Column("offset", "int", "order of the record in its log"),
        Column("topic", "text", "events or learning"),
        Column("partition", "int", "partition of the topic"),
        Column("epoch", "int", "offset of the claim that it was written under; 0 for commands"),
        Column("episode", "text", "the episode that it belongs to"),
        Column("address", "text", "its place in the episode"),
        Column("kind", "text", "kind of event"),
        Column("at_ms", "int", "Unix milliseconds"),
        Column("body", "text", "the event as JSON"),
    ),
    _events,
)
COMPLETIONS = Exported(
    "completions",
    "Every reply of a model",
    (
        Column("offset", "int", "order of the record in its log"),
        Column("topic", "text", "events for solving, learning for learning from a batch"),
        Column("episode", "text", "the episode that asked"),
        Column("address", "text", "its place in the episode"),
        Column("at_ms", "int", "Unix milliseconds"),
        Column("role", "text", "the role that was asked"),
        Column("model", "text", "the model that replied"),
        Column("finish", "text", "stop, length, refusal, timeout or error"),
        Column("attempts", "int", "transport attempts"),
        *shared(*TOKENS, "cost", "seconds"),
        Column("truncated", "bool", "whether the text was cut at the cap"),
        Column("text", "text", "the reply"),
        Column(
            "reused",
            "bool",
            "whether a probe took it over from its parent, or from an edit: nothing was asked or paid",
        ),
    ),
    _completions,
)
BATCHES = Exported(
    "batches",
    "Members of every batch as it was closed last, less those whose problem was forgotten since",
    (
        *shared("scope"),
        Column("batch", "int", "number of the batch in its scope"),
        Column("place", "int", "place of the member in its batch"),
        Column("episode", "text", "the member"),
        *shared("outcome", "graded", "memory_version"),
    ),
    _batches,
)
ARMS = Exported(
    "arms",
    "Arms and beliefs of every memory version",
    (*shared("scope", "version"), *FIGURES),
    _arms,
)
EXPORTED = (
    EVENTS,
    projected(EPISODES, Chosen.is_itself),
    COMPLETIONS,
    projected(LESSONS, Chosen.has_item),
    projected(KNOWLEDGE, Chosen.has_item),
    BATCHES,
    ARMS,
    projected(GRAPH_QUERIES, Chosen.has_item),
    projected(GRAPH_PATHS, Chosen.has_graph),
    projected(GRAPH_METACOGNITIONS, Chosen.has_item),
    projected(GRAPH_EDGES, Chosen.has_graph),
)
