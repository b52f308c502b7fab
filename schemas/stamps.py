"""What a closing says of the records before it that no replay derives: their whole words, and when each was made.

The name of the model, latencies and times stand on a log once. A digest over them in the closing says them a
second time, so that `verify` finds a record that was changed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import orjson

from schemas.identity import BEFORE, address_order, digest, is_numbered

Stamp: TypeAlias = tuple[str, int, str | bytes]
"""Address, Unix milliseconds and body of a record."""


def is_stamped(address: str) -> bool:
    """Whether a closing speaks of the record at this address: of what its episode came to, not of a person's word."""
    return address in BEFORE or address == "batch" or is_numbered(address)


def stamps_of(records: Iterable[Stamp], closed_ms: int) -> str | None:
    """The digest over an episode's records and the time of its closing; of several at one address the first counts.

    Nothing where no JSON text can be made again of what a record holds.
    """
    first: dict[str, tuple[int, str | bytes]] = {}
    for address, at_ms, body in records:
        if is_stamped(address):
            first.setdefault(address, (at_ms, body))
    ordered = sorted(first, key=address_order)
    try:
        told = [[at, first[at][0], orjson.loads(first[at][1])] for at in ordered]
        return digest([*told, ["closed", closed_ms]])
    except (ValueError, TypeError):
        return None
