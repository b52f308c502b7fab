"""All tables of one log: opened or written anew, then kept up with the state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from state.folds.state import Touched
from state.tables.lance import LanceTable, chunks
from state.tables.registry import TABLES
from state.tables.table import Row, Source, Table

# Its absence says that the last writer was killed; then every row is checked once.
MARK = ".clean"
Told = Callable[[str], None]


class TableSet:
    """The tables of one folder, written from one source."""

    def __init__(
        self, folder: Path, source: Source, names: Iterable[str] = TABLES, told: Told | None = None
    ) -> None:
        self.folder, self.source = folder, source
        self.tables: dict[str, Table] = {name: TABLES[name] for name in names}
        self.told: Told = told or (lambda text: None)
        self.open_tables: dict[str, LanceTable] = {}
        self.dimensions: int | None = None

    @property
    def mark(self) -> Path:
        """A file that is there while nobody writes: the last writer ended in good order."""
        return self.folder.with_name(self.folder.name + MARK)

    def open(self, watermarks: Mapping[str, int]) -> None:
        """Open each table that holds at least what it held at the snapshot; write the others anew.

        So are those that hold more than the log does, or what another log said.
        """
        check = not self.mark.exists()
        self.mark.unlink(missing_ok=True)
        self.dimensions, last = self.source.state.dimensions, self.source.state.offset
        for name, table in self.tables.items():
            made = LanceTable(self.folder, table, self.dimensions, self.source.mark)
            least = watermarks.get(name)
            try:
                made.open(check=check)
                # A table that holds more than the log was written from another log, or from this
                # one before it was set back.
                sound = least is not None and least <= made.watermark <= last
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # a panic of the library is none of the usual kinds
                if least is not None:  # else nobody has written it yet
                    self.told(f"{name}: {_short(error)}")
                sound = False
            self.open_tables[name] = made
            if not sound:
                self.write_anew(name)

    def write_anew(self, name: str) -> None:
        """Write all of a table's rows in the place of what was there."""
        table, state = self.tables[name], self.source.state
        made = LanceTable(self.folder, table, self.dimensions, self.source.mark)

        def rows() -> Iterable[Row]:
            keys = (list(part) for part in chunks(table.keys(self.source)))
            return (row for part in keys for row in table.rows(self.source, part))

        made.write_anew(rows, state.offset)
        self.open_tables[name] = made
        self.told(f"{name}: {len(made.hashes):,} rows written")

    def flush(self, touched: Touched) -> int:
        """Write what changed, one commit a table. How many rows that were."""
        # Somebody may have removed them: they would come back with the next start, or each with its next change.
        for name in [name for name, each in self.open_tables.items() if not each.path.exists()]:
            self.write_anew(name)
        # The first vectors, or vectors of another length, change the schema of every table that
        # has them.
        if self.source.state.dimensions != self.dimensions:
            self.dimensions = self.source.state.dimensions
            for name, table in self.tables.items():
                if table.has_vector:
                    self.write_anew(name)
        # Something was withdrawn: rows go whose keys nobody names any more.
        if touched.anew:
            for name in self.tables:
                self.write_anew(name)
        written = sum(self._flush(name, touched) for name in self.tables)
        touched.clear()
        return written

    def _flush(self, name: str, touched: Touched) -> int:
        table = self.tables[name]
        if self.open_tables[name].watermark >= self.source.state.offset:
            return 0  # it was written anew since
        keys: list[Any] = sorted(table.touched(touched))
        rows = [row for part in chunks(keys) for row in table.rows(self.source, part)]
        gone = set[str]()
        if table.by_scope:
            theirs = tuple({f"{scope}/" for scope, _ in keys})
            known = {key for key in self.open_tables[name].hashes if key.startswith(theirs)}
            gone = known - {row["key"] for row in rows}
        if not rows and not gone:
            return 0
        self._or_anew(name, lambda table: table.merge(rows, self.source.state.offset, gone))
        return len(rows)

    def close(self) -> None:
        """End in good order: the next writer need not check every row."""
        for name in self.open_tables:
            self._or_anew(name, LanceTable.compact)
        self.mark.touch()

    def _or_anew(self, name: str, work: Callable[[LanceTable], object]) -> None:
        """Work on a table; write it anew where that fails."""
        try:
            work(self.open_tables[name])
        except (KeyboardInterrupt, SystemExit):
            raise
        # Whatever is wrong with the table, the log has everything that belongs into it.
        except BaseException as error:
            self.told(f"{name}: {_short(error)}; written anew")
            self.write_anew(name)

    def watermarks(self) -> dict[str, int]:
        """Up to which offset each table was written."""
        return {name: table.watermark for name, table in self.open_tables.items()}

    def hashes(self) -> dict[str, str]:
        """The sum of each table's row hashes: equal sums, equal content."""
        return {name: f"{table.total:032x}" for name, table in self.open_tables.items()}


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:160]
