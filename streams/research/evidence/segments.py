"""A log as compressed segments in a folder: each holds what came since the one before, and never changes.

So a long run can be handed over while it goes on, its machine may be lost, and a version control system keeps
each byte once. A segment is the JSON Lines of ``log cat``, under xz. A line of text beside it says what packed it.
"""

from __future__ import annotations

import fcntl
import lzma
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from streams.runtime.embedded.imported import BAD
from streams.runtime.embedded.lines import lines_of, put
from streams.runtime.embedded.packed import MOST_LINE, MOST_UNPACKED, unpacked
from streams.runtime.embedded.queries.messages import message_at
from streams.runtime.embedded.queries.rows import admitted_upto, record_at

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

ENDING = ".jsonl.xz"
MOST_SAID = 400
"""Characters of the line that says what packed a segment."""


class BadSegment(ValueError):
    """A segment cannot be read, is missing, or is of another log; the message names it."""


class NotEmpty(Exception):
    """Something is on a log already."""


class Segments:
    """The segments of one log, by the names ``0001.jsonl.xz``, ``0002.jsonl.xz`` and on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def files(self) -> list[Path]:
        """The segments in their order. Raises ``BadSegment`` where one is missing between others."""
        # By length first: 10000 stands behind 9999.
        found = sorted(self.folder.glob(f"*{ENDING}"), key=lambda file: (len(file.name), file.name))
        for number, file in enumerate(found, 1):
            if file.name != _name(number):
                raise BadSegment(f"{self.folder / _name(number)} is missing")
        return found

    def hashes(self) -> dict[str, str]:
        """The SHA-256 of each segment by its name."""
        return {file.name: sha256(file.read_bytes()).hexdigest() for file in self.files()}

    def sizes(self) -> dict[str, int]:
        """The bytes of each segment by its name."""
        return {file.name: file.stat().st_size for file in self.files()}

    def packers(self) -> dict[str, str]:
        """What packed each segment, by its name: the build and the machine, as somebody wrote them down.

        Unknown where nobody did. Raises ``BadSegment`` for anything but a printable line of at most
        ``MOST_SAID`` characters.
        """
        found: dict[str, str] = {}
        for file in self.files():
            beside = _said_beside(file)
            try:
                text = beside.read_text(encoding="utf-8") if beside.exists() else "unknown\n"
            except UnicodeDecodeError as error:
                raise BadSegment(f"{beside}: {error}") from error
            said = text.removesuffix("\n")
            if text == said or not said.isprintable() or not 0 < len(said) <= MOST_SAID:
                raise BadSegment(
                    f"{beside}: not a line of at most {MOST_SAID} printable characters"
                )
            found[file.name] = said
        return found

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every line of all segments. Raises ``BadSegment`` for one that cannot be read."""
        for file in self.files():
            try:
                # What we pack is one whole; more behind it is somebody else's.
                yield from map(orjson.loads, unpacked(file, joined=False))
            except ValueError as error:
                raise BadSegment(f"{file}: {error}") from error

    def restore(self, log: SqliteLog) -> int:
        """Put every line on an empty log, each where it stood before; how many there are.

        Raises ``NotEmpty`` where anything is on it: one that was left empty by who was stopped in here is taken.
        """
        count = 0
        with log.transaction():
            if next(lines_of(log), None) is not None:
                raise NotEmpty
            for count, line in enumerate(self.lines(), 1):
                try:
                    put(log, line)
                except BAD as error:
                    raise BadSegment(f"{self.folder}: line {count} of its log: {error}") from error
            # Otherwise a worker would take all problems for new ones, and say that it expects to pay for each.
            upto = admitted_upto(log)
            if upto is not None:
                log.commit_position("intake", "problems", upto)
        # What is sealed can be read only now that the log's own records are on it.
        log.unlock()
        return count

    def add(self, log: SqliteLog, by: str = "unknown") -> Path | None:
        """Write what the log holds beyond these segments as the next one; nothing where there is nothing new.

        ``by`` says what packs it.

        Raises ``BadSegment`` where the segments are not of this log, what is new does not fit into one, or somebody
        else packs into this folder.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with alone_in(self.folder):
            ends = self._ends(log)
            with log.reading():  # one state of the log, however a worker goes on meanwhile
                new = list(lines_of(log, after=ends))
            if not new:
                return None
            packed = [orjson.dumps(line) + b"\n" for line in new]
            if max(map(len, packed)) > MOST_LINE or sum(map(len, packed)) > MOST_UNPACKED:
                raise BadSegment(
                    f"{log.path} has more to keep than a segment may hold, or a longer line"
                )
            file = self.folder / _name(len(self.files()) + 1)
            # Under another name until it is whole: a segment that was cut off would be taken for the
            # next one, and its log could not be restored from there on.
            part = file.with_suffix(".part")
            try:
                # A segment is written once and kept for ever, so time is spent on its size.
                part.write_bytes(lzma.compress(b"".join(packed), preset=9 | lzma.PRESET_EXTREME))
                # Before the segment: whoever is stopped in between packs again, and writes it anew.
                _said_beside(file).write_text(f"{by}\n", encoding="utf-8")
                part.rename(file)
            finally:
                part.unlink(missing_ok=True)
            return file

    def _ends(self, log: SqliteLog) -> tuple[int, int]:
        """The last record and the last message that are kept, after a look whether both are of this log."""
        record: dict[str, Any] | None = None
        message: dict[str, Any] | None = None
        for line in self.lines():
            if "episode" in line:
                record = line
            elif "keyed" not in line:
                message = line
        # The newest record and message that are kept must stand on this log at the same offsets. Segments
        # of two logs would restore to one that nobody ever wrote.
        for last, names, found in (
            (record, ("episode", "address", "at_ms"), record_at),
            (message, ("topic", "key", "at_ms"), message_at),
        ):
            if last and found(log, last["offset"]) != tuple(last[name] for name in names):
                raise BadSegment(f"{self.folder} holds the segments of another log than {log.path}")
        return (
            -1 if record is None else record["offset"],
            -1 if message is None else message["offset"],
        )


@contextmanager
def alone_in(folder: Path) -> Generator[None]:
    """Keep others from packing into a folder. Raises ``BadSegment`` where somebody does."""
    # Two at once would find the same end, and the second would write over what the first has kept. The
    # kernel gives the lock back when its process ends, and nothing of it lies in the folder.
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise BadSegment(f"another process packs a log into {folder}") from error
    finally:
        os.close(held)


def _name(number: int) -> str:
    return f"{number:04}{ENDING}"


def _said_beside(segment: Path) -> Path:
    return segment.with_name(segment.name.removesuffix(ENDING) + ".txt")
