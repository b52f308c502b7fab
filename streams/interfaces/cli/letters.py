"""Dead letters as they lie on a log: what was refused, where it came from and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemas.letters import ERRORS
from streams.core.topology import TOPICS
from streams.interfaces.cli.errors import usage
from streams.producing.sources import LINE_BYTES, SourceLine
from streams.producing.subjects import UNREAD
from streams.runtime.embedded.queries import letters as queries
from streams.runtime.embedded.queries.letters import CUT, Refused
from streams.views.words import stamp

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

TRACES = "traces"
"""No topic of a log: lines of files that other tools wrote are refused before they are on one."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The description of a whole letter of which only the first bytes were kept, since its topic took no more."""

    size: int
    digest: str
    headers: int
    """How many headers that came with it were left out."""


class DeadLetter(Refused):
    """One dead letter, as it is told to people."""

    @property
    def topic(self) -> str:
        """The topic that it was meant for."""
        # Headers were written by whoever refused it, perhaps a build of another age or a program
        # that is not ours: nothing in them is taken for granted here.
        said = str(self.headers.get(f"{ERRORS}topic", ""))
        known = {topic.name for topic in TOPICS} | {TRACES}
        first = self.key.partition("/")[0]
        # A letter without this header may say it by its key. What says nothing was a problem,
        # since those are what a log takes from anybody.
        return next((name for name in (said, first) if name in known), "problems")

    @property
    def place(self) -> str:
        """Where it came from: a line of a file, or an offset of a topic."""
        source = self.headers.get(f"{ERRORS}source") or self.headers.get(f"{ERRORS}topic")
        offset = self.headers.get(f"{ERRORS}offset")
        return self.key.rpartition("/")[0] if offset is None else f"{source}:{offset}"

    @property
    def cut(self) -> Cut | None:
        """What of it is missing, if anything is."""
        size, digest = self.headers.get(f"{CUT}bytes"), self.headers.get(f"{CUT}digest")
        # Without both nobody could tell the whole when he has it, and the letter counts as whole.
        if not isinstance(digest, str) or not str(size).isdecimal():
            return None
        left_out = str(self.headers.get(f"{CUT}headers", 0))
        return Cut(int(str(size)), digest, int(left_out) if left_out.isdecimal() else 0)

    @property
    def size(self) -> int:
        """The bytes of what was refused, of which a cut letter holds fewer."""
        return len(self.value) if self.cut is None else self.cut.size

    @property
    def missing(self) -> str:
        """What of it is missing, in words; nothing of a whole one."""
        cut = self.cut
        if cut is None:
            return ""
        left_out = f", and none of its {cut.headers} headers" if cut.headers else ""
        whole = f"came from {self.place}"
        if self.lies is not None:
            topic, partition, offset = self.lies
            whole = f"lies on topic {topic}, partition {partition}, offset {offset}"
        return (
            f"cut: the first {len(self.value):,} of {cut.size:,} bytes{left_out}; "
            f"the whole (sha256 {cut.digest}) {whole}"
        )

    @property
    def lies(self) -> tuple[str, int, int] | None:
        """Topic, partition and offset on Kafka of what was refused; nothing of what never was there."""
        found = [str(self.headers.get(f"{ERRORS}{name}", "")) for name in ("partition", "offset")]
        if not all(each.isdecimal() for each in found):
            return None
        return self.topic, int(found[0]), int(found[1])

    @property
    def reason(self) -> str:
        """Why it was refused."""
        return str(self.headers.get(f"{ERRORS}message", "refused by the reader of its topic"))

    @property
    def at(self) -> str:
        """When, in UTC."""
        return stamp(self.at_ms)

    def text(self) -> str:
        """Its bytes as text; what is no UTF-8 is shown by escapes."""
        return self.value.decode("utf-8", "backslashreplace")

    def record(self) -> dict[str, Any]:
        """What a listing says of it."""
        return {
            "number": self.number,
            "at": self.at,
            "topic": self.topic,
            "place": self.place,
            "reason": self.reason,
            "bytes": self.size,
            "kept": len(self.value),
            "replayed": self.sent_on,
        }


def letters(log: SqliteLog) -> Iterator[DeadLetter]:
    """Every dead letter, oldest first."""
    return (DeadLetter(*each) for each in queries.letters(log))


def kept_as(log: SqliteLog, key: str, line: SourceLine) -> str:
    """What is kept of a refused line, by its letter's key: all that was read of it, unless the log takes less."""
    number, is_cut = queries.number_of(log, key), queries.is_cut(log, key)
    if key.endswith(f":{UNREAD}"):
        return f"Kept as dead letter {number}, without its bytes: nobody knows whom they are about."
    whole = "bytes unchanged"
    if is_cut:
        whole = "the first of its bytes: the log takes no more"
    elif len(line.raw) > LINE_BYTES:
        whole = f"the first {len(line.raw):,} of its bytes"
    return f"Kept as dead letter {number}, {whole}."


def letter(log: SqliteLog, number: int) -> DeadLetter:
    """One dead letter. Raises a usage error if there is none of this number."""
    # Numbers are places in the row, which only grows: the same number means the same letter for
    # ever.
    found = list(letters(log))
    if not 1 <= number <= len(found):
        raise usage(
            f"no dead letter {number}; there are {len(found)}", field="N", error="dlq.missing"
        )
    return found[number - 1]
