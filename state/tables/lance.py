"""One LanceDB table as an idempotent sink: keyed upserts with the watermark in the same commit.

The only module that touches lancedb and pyarrow; both are loaded when the first table is opened.
Rules measured on LanceDB 0.40: one writer; a non-null primary key, else a stale handle makes
duplicates; arrow batches deduplicated by key; compaction by the writer; leaked temporary files are
swept before opening; whatever goes wrong on opening, the table is written again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import timedelta
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from state.tables.table import WATERMARK, Column, Row, Table, row_hash, unmarked

T = TypeVar("T")

# Commits between compactions.
COMPACT_EVERY = 32
# How long versions stay for readers in other processes.
KEPT = timedelta(seconds=60)
AT_ONCE = timedelta(milliseconds=1)
CHUNK = 5_000
# Below these sizes a scan is faster than an index, which has to be kept up as well.
SCALAR_FROM = 10_000
VECTOR_FROM = 20_000
HASHES = 1 << 128
# Bytes that all tables of a process together keep in memory of what they read, of either kind.
CACHED = 16 << 20


class Unsound(Exception):
    """A table's content is not what its writer left."""


class LanceTable:
    """One open table. ``dimensions`` is the length of its vectors, if it has any yet.

    ``mark`` names the log by an offset: what was written from another one is not sound here.
    """

    # Sums of hashes are taken modulo this, so that rows can be put in and taken out of a sum in any
    # order.

    def __init__(
        self,
        folder: Path,
        table: Table,
        dimensions: int | None,
        mark: Callable[[int], int] = unmarked,
    ) -> None:
        self.folder, self.table, self.dimensions, self.mark = folder, table, dimensions, mark
        self.path = folder / f"{table.name}.lance"
        self.schema = arrow_schema(table, dimensions)
        self.hashes: dict[str, int] = {}
        self.watermark = self.total = self.commits = 0
        self.handle: Any = None

    # -- opening -----------------------------------------------------------------------------------

    def open(self, *, check: bool) -> None:
        """Open what is there. Raises anything at all where it is not sound: then ``write_anew``."""
        self.sweep()
        self.handle = connected(self.folder, writer()).open_table(self.table.name)
        if self.handle.schema.remove_metadata() != self.schema:
            raise Unsound("another schema")
        # After a bad end every row is hashed again; after a good one the keys and hashes will do.
        columns = self.schema.names if check else ["key", "off", "row_hash"]
        self.hashes, sentinel = {}, None
        for batch in self.handle.search().select(columns).to_batches():
            for row in batch.to_pylist():
                if row["key"] == WATERMARK:
                    sentinel = row
                elif row["key"] in self.hashes or (
                    check and row_hash(row) != int(row["row_hash"], 16)
                ):
                    raise Unsound(f"row {row['key']}")
                else:
                    self.hashes[row["key"]] = int(row["row_hash"], 16)
        self.total = sum(self.hashes.values()) % HASHES
        self.watermark = 0 if sentinel is None else sentinel["off"]
        if sentinel is None or sentinel["row_hash"] != self._sum():
            raise Unsound("its sum, or the log that it was written from")
        # A writer that was killed took its count of commits along. Where each is killed before it has made enough
        # of them, nobody would ever compact.
        self.commits = COMPACT_EVERY - 1 if check else 0

    def sweep(self) -> None:
        """Remove what a killed compaction left; nothing else ever would."""
        for pattern in (".tmp*", "*.manifest#*"):
            for leaked in list(self.path.rglob(pattern)):
                leaked.unlink(missing_ok=True)

    # -- writing -----------------------------------------------------------------------------------

    def write_anew(self, rows: Callable[[], Iterable[Row]], offset: int) -> None:
        """Write all rows in the place of what was there; the watermark comes with the last commit.

        Who reads meanwhile finds what was there, and so does the next start where this writer is killed.
        """
        self.handle = None
        failed: list[BaseException] = []
        try:
            self._write_over(rows(), failed)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            # What the rows are made of fails without any table; only what is spoiled must go first.
            if failed:
                raise failed[0] from None
            if self.path.is_dir():
                shutil.rmtree(self.path)
            else:
                self.path.unlink(missing_ok=True)
            self._write_over(rows(), failed)
        self.merge([], offset)
        # Rows may be gone since their problem was forgotten: no older version may hold them.
        self.compact(AT_ONCE)

    def _write_over(self, rows: Iterable[Row], failed: list[BaseException]) -> None:
        """All rows in one commit, whatever stood there. ``failed`` is told what their making raised."""
        pa = arrow()
        self.hashes, self.total = {}, 0

        def parts() -> Iterator[Any]:
            # In parts, because a large log's rows do not fit into memory together.
            try:
                for part in chunks(rows):
                    yield pa.RecordBatch.from_pylist(self._booked(part), schema=self.schema)
            except BaseException as error:
                failed.append(error)  # the library makes an error of its own of any
                raise

        stream = pa.RecordBatchReader.from_batches(self.schema, parts())
        # The library warns whoever writes over what is not there.
        mode = "overwrite" if self.path.exists() else "create"
        made = connected(self.folder, writer()).create_table(
            self.table.name, data=stream, schema=self.schema, mode=mode
        )
        made.set_unenforced_primary_key("key")
        self.handle = made

    def merge(self, rows: Iterable[Row], offset: int, gone: Collection[str] = ()) -> None:
        """Upsert rows by key, take out those that are gone, and move the watermark, in one commit."""
        # The last row of a key counts: with doubled keys the library would keep both.
        last = self._booked({row["key"]: row for row in rows}.values())
        self.total = (self.total - sum(map(self.hashes.pop, gone))) % HASHES
        self.watermark = offset
        merge = self.handle.merge_insert("key").when_matched_update_all()
        if gone:
            quoted = ", ".join("'" + key.replace("'", "''") + "'" for key in sorted(gone))
            merge = merge.when_not_matched_by_source_delete(f"key IN ({quoted})")
        mark = {"key": WATERMARK, "off": self.watermark, "row_hash": self._sum()}
        last.append(self._whole(mark))
        stored = arrow().Table.from_pylist(last, schema=self.schema)
        merge.when_not_matched_insert_all().execute(stored)
        self.commits += 1
        if self.commits % COMPACT_EVERY == 0:
            self.compact()

    def _booked(self, rows: Iterable[Row]) -> list[Row]:
        """The rows as they are stored, each with its hash, and booked in the table's sum."""
        stored: list[Row] = []
        for row in map(self._whole, rows):
            now = row_hash(row)
            self.total = (self.total - self.hashes.get(row["key"], 0) + now) % HASHES
            self.hashes[row["key"]] = now
            stored.append(row | {"row_hash": f"{now:032x}"})
        return stored

    def _sum(self) -> str:
        """The sum of all rows, and the log that they were written from."""
        return f"{(self.total + self.mark(self.watermark)) % HASHES:032x}"

    def _whole(self, row: Row) -> Row:
        """The row with a vector that fits: zeros for none, and for one of another length."""
        if not self.dimensions or not self.table.has_vector:
            return row
        vector = row.get("vector")
        fits = vector is not None and len(vector) == self.dimensions
        return row if fits else row | {"vector": [0.0] * self.dimensions}

    def compact(self, kept: timedelta = KEPT) -> None:
        """Merge fragments, drop old versions, and index what has grown large enough for it."""
        # Readers in other processes may still hold an older version for a while.
        self.handle.optimize(cleanup_older_than=kept)
        known = {column for index in self.handle.list_indices() for column in index.columns}
        if len(self.hashes) >= SCALAR_FROM:
            for column in self.table.scalar_indices:
                if column not in known:
                    self.handle.create_scalar_index(column, index_type="BITMAP")
        large = len(self.hashes) >= VECTOR_FROM and self.dimensions and self.table.has_vector
        if large and "vector" not in known:
            self.handle.create_index(
                metric="cosine", vector_column_name="vector", index_type="IVF_FLAT"
            )


def connected(folder: Path, session: Any = None) -> Any:
    """A connection to a folder of tables, made if it is missing."""
    import lancedb

    folder.mkdir(parents=True, exist_ok=True)
    connect: Any = lancedb.connect
    return connect(folder, session=session)


@cache
def writer() -> Any:
    """The session of all tables that this process writes, with bounded caches."""
    import lancedb

    # Each commit makes a version. Left to itself the library keeps what it read of each, up to
    # gigabytes for every table, and a writer never looks at an older one again.
    session: Any = lancedb.Session
    return session(index_cache_size_bytes=CACHED, metadata_cache_size_bytes=CACHED)


def chunks(rows: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """The rows, or keys, in lists of at most so many."""
    rest = iter(rows)
    while part := list(islice(rest, size)):
        yield part


def arrow_schema(table: Table, dimensions: int | None) -> Any:
    """The table's columns as an arrow schema; a vector column only once there are vectors."""
    pa = arrow()
    fields = [
        pa.field(column.name, arrow_type(column, dimensions), nullable=column.name != "key")
        for column in table.all_columns
        if column.kind != "vector" or dimensions
    ]
    return pa.schema(fields)


def arrow() -> Any:
    """pyarrow, which has no types."""
    from importlib import import_module

    return import_module("pyarrow")


def arrow_type(column: Column, dimensions: int | None) -> Any:
    """Return arrow's name for the kind of a column."""
    pa = arrow()
    match column.kind:
        case "text":
            return pa.string()
        case "texts":
            return pa.list_(pa.string())
        case "int":
            return pa.int64()
        case "float":
            return pa.float64()
        case "bool":
            return pa.bool_()
        case "vector":
            return pa.list_(pa.float32(), dimensions)
