"""Headers that an application gives a problem and finds on its answer: traces, correlation, where to reply.

Nothing of ours reads them. They are bytes on Kafka, and recorded as one character a byte (ISO 8859-1), so that they
come back as they were, whatever they are. What speaks of the problem's own envelope or encoding would be wrong on an
answer, and stays behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

Carried: TypeAlias = tuple[tuple[str, str], ...]
# So many headers come back at most.
MOST: Final = 64
MOST_BYTES: Final = 8_192
"""And so much of them, names and values together."""
TRACED: Final = frozenset({"ce_traceparent", "ce_tracestate"})
"""A trace as CloudEvents spell it."""
_OF_THE_PROBLEM: Final = ("ce_", "__", "content-", "contenttype", "content_type")
"""How names begin that say what a message itself is: to us, to CloudEvents, and to frameworks that read its type."""
_SCOPE: Final = "scope"


class TooMuch(ValueError):
    """More headers than come back."""


def comes_back(name: str) -> bool:
    """Whether a header is an application's own."""
    plain = name.lower()
    return plain in TRACED or not (plain.startswith(_OF_THE_PROBLEM) or plain in ("", _SCOPE))


def carried(headers: Iterable[tuple[str, bytes | None]]) -> Carried | None:
    """What an answer is to carry of its problem's headers; none where there is nothing. Raises ``TooMuch``."""
    found = [
        # Bytes become one character each, and so any value comes back as it was, be it text or
        # not.
        (name, value.decode("latin-1"))
        for name, value in headers
        if value is not None and comes_back(name)
    ]
    # Names are measured as they will be sent; JSON may bring half a surrogate pair, which no other
    # encoding takes.
    size = sum(len(name.encode("utf-8", "surrogatepass")) + len(value) for name, value in found)
    if len(found) > MOST or size > MOST_BYTES:
        raise TooMuch(
            f"headers: {len(found)} of {size:,} bytes are to come back on the answer; "
            f"at most {MOST} of {MOST_BYTES:,} bytes do"
        )
    return tuple(found) or None


def as_bytes(headers: Carried | None) -> list[tuple[str, bytes]]:
    """The headers as they came."""
    return [(name, value.encode("latin-1")) for name, value in headers or ()]


def as_text(headers: Carried | None) -> dict[str, str]:
    """The headers for people and programs that speak text; of several with one name the last."""
    return {n: v.decode("utf-8", "backslashreplace") for n, v in as_bytes(headers)}


def of_text(headers: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """The application's own among headers that are text, as bytes."""
    return [
        (name, value.encode("utf-8", "surrogatepass"))
        for name, value in headers.items()
        if isinstance(value, str) and comes_back(name)
    ]
