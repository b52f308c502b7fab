"""What a closing says of the records before it that no replay derives: their whole words, and when each was made.

The name of the model, latencies and times stand on a log once. A digest over them in the closing says them a
second time, so that `verify` finds a record that was changed afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from schemas.identity import ASKED, BEFORE, address_order, digest, is_numbered, json_digest

Stamp: TypeAlias = tuple[str, int, str]
"""Address and Unix milliseconds of a record, and the digest of its body."""
FIRST = {"p/": "admitted", "q/": "opened", "s/": "opened", "b/": "batch"}
"""What an episode of each sort begins with. Whoever did not write it may not know all of its records."""


# Asked for every record that a writer states, and episodes share their addresses.
@lru_cache(maxsize=4096)
def is_stamped(address: str) -> bool:
    """Whether a closing speaks of the record at this address: of what its episode came to, not of a person's word."""
    # A question to a person is stamped with its episode; what he answered is on record in his own
    # name.
    asked = address.removeprefix(ASKED)
    return address in BEFORE or address == "batch" or is_numbered(asked)


def stamp_of(address: str, at_ms: int, body: str | bytes) -> Stamp:
    """The stamp of one record, however its JSON is written. What cannot be written again has an empty digest."""
    return address, at_ms, json_digest(body)


def stamps_of(records: Sequence[Stamp], closed_ms: int) -> str:
    """The digest over an episode's records and the time of its closing; of several at one address the first counts."""
    # Of a name that is given twice a dictionary keeps the later one: read backwards, the first record.
    first = {each[0]: each for each in reversed(records)}
    said: list[Stamp | int] = [
        first[at] for at in sorted(filter(is_stamped, first), key=address_order)
    ]
    said.append(closed_ms)
    return digest(said)
