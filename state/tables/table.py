"""Tables: each has a name, documented columns, a rule for its keys and a rule for making a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from schemas.events.base import Event
from schemas.identity import canonical
from state.folds.state import State, Touched

Kind: TypeAlias = Literal["text", "texts", "int", "float", "bool", "vector"]
Row: TypeAlias = dict[str, Any]
Found: TypeAlias = Mapping[str, tuple[int, int, Event]]
"""An episode's records by address: offset, Unix milliseconds, event."""

WATERMARK = "__wm__"
"""Key of the row that says up to which offset a table was written; no search finds it."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, what it holds, and what it says."""

    name: str
    kind: Kind
    about: str


COMMON = (
    Column("key", "text", "primary key; `__wm__` is the watermark row, leave it out of counts"),
    Column("off", "int", "offset of the record that changed the row last"),
    Column("row_hash", "text", "BLAKE2b of the row's other columns"),
)


class Source(Protocol):
    """The source of rows: the state, and the records of single episodes up to its offset."""

    state: State

    def records(self, episodes: Sequence[str]) -> Iterator[tuple[str, Found]]:
        """Admission, opening, closing and reflection of each episode, as far as it has them."""
        ...

    def episodes(self) -> Iterable[str]:
        """Every episode that was opened or admitted."""
        ...

    def mark(self, offset: int) -> int:
        """A number that tells this log, up to an offset, from every other, and from itself restored."""
        ...

    def version_offset(self, scope: str, number: int) -> int:
        """Where the record that made a memory version stands."""
        ...


@dataclass(frozen=True, slots=True)
class Table:
    """One table as data."""

    name: str
    about: str
    columns: tuple[Column, ...]
    touched: Callable[[Touched], Iterable[Any]]
    """Which of the changed keys it cares for."""
    keys: Callable[[Source], Iterable[Any]]
    """Every key that it has."""
    rows: Callable[[Source, Sequence[Any]], Iterator[Row]]
    """The rows of some keys, as they are now; a key that is none of its own gives none."""
    scalar_indices: tuple[str, ...] = ()
    by_scope: bool = False
    """Whether the rows of a version's scope are all that the scope has, so that what else stands of it is gone."""

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """Its columns and those that every table has."""
        return (*COMMON, *self.columns)

    @property
    def has_vector(self) -> bool:
        """Whether its rows can be searched by similarity."""
        return any(column.kind == "vector" for column in self.columns)


def row_hash(row: Row) -> int:
    """A 128-bit number of the row's content; sums of it tell whether two tables are equal."""
    import hashlib

    # A column that is null counts as absent, so that a column added later changes no hash of rows
    # without it.
    kept = {name: value for name, value in row.items() if name != "row_hash" and value is not None}
    return int.from_bytes(hashlib.blake2b(canonical(kept), digest_size=16).digest(), "big")


def unmarked(offset: int) -> int:
    """The mark of a log that cannot be mistaken for another."""
    return 0
