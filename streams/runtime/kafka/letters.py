"""Dead letters that fit where they go: whole if their topic takes them, else cut, and saying so."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from streams.runtime.kafka.envelope import Headers
from streams.runtime.kafka.refusals import RefusedByBroker
from streams.runtime.kafka.sending import Row
from streams.runtime.kafka.sizes import LEAST_BYTES, Sizes, record_bytes

OURS: Final = "__metalogue."
CUT: Final = f"{OURS}cut."
"""What a cut letter says of its whole: ``bytes`` and ``digest``, and how many ``headers`` were left out."""
FIRST_BYTES: Final = 65_536
REASON_BYTES: Final = 1_000
_log = logging.getLogger(__name__)


def letter_key(topic: str, refused: Any) -> bytes:
    """The key of the dead letter of a record: where it lies."""
    return f"{topic}/{refused.partition}/{refused.offset}".encode()


def digest_of(value: bytes) -> str:
    """The digest by which the whole of a cut letter is known."""
    return sha256(value).hexdigest()


def theirs(headers: Headers) -> Headers:
    """Headers that came with a refused record. None may speak in our name."""
    return [each for each in headers if not each[0].startswith(OURS)]


def fitted(
    key: bytes, value: bytes | None, came: Headers, ours: Headers, most: int
) -> tuple[bytes | None, Headers]:
    """A letter's value and headers, in so many bytes: as it came if that is enough.

    Else its first bytes, and if need be none of the headers that it came with.
    """
    whole = [*came, *ours]
    if record_bytes(key, value, whole) <= most:
        return value, whole
    said = value or b""
    told = [(f"{CUT}bytes", b"%d" % len(said)), (f"{CUT}digest", digest_of(said).encode())]
    ours = [
        (name, text[:REASON_BYTES] if name.endswith(".message") else text) for name, text in ours
    ]
    # Why it was refused goes before what it was: without a reason nobody could mend it.
    kept = [*came, *ours, *told]
    if record_bytes(key, b"", kept) > most - LEAST_BYTES // 2:
        kept = [*ours, *told, (f"{CUT}headers", b"%d" % len(came))]
    room = most - record_bytes(key, b"", kept)
    return said[: max(0, min(room, FIRST_BYTES))], kept


@dataclass(frozen=True, slots=True)
class KafkaDeadLetter:
    """A dead letter on its way."""

    key: bytes
    value: bytes | None
    came: Headers
    """Headers that it came with."""
    said: Headers
    """Why it was refused, and where it lies."""

    def row(self, sizes: Sizes, topic: str) -> Row:
        """Return the row to append: cut where it does not fit, and shorter still where the broker refuses that."""
        most = sizes.most(topic)

        def shorter(refused: RefusedByBroker) -> Row | None:
            sizes.lower(refused)
            if sizes.most(topic) < most:
                return self.row(sizes, topic)
            _log.warning("%s: kept where it lies, without a dead letter: %s", self.name, refused)
            return None

        return (self.key, *fitted(self.key, self.value, self.came, self.said, most), shorter)

    @property
    def name(self) -> str:
        """Where the refused record lies."""
        return self.key.decode()
