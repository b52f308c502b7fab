"""Refusals of a broker, told apart from a broker that is not there.

A refusal is an answer: asking again brings the same one, and the broker is up. What a *record* was refused
for (its size above all) is that record's matter; what a *topic* was refused for (a right that is missing) is
the set-up's. Nothing of a refused batch is on the log, so it may be sent again in parts.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

Why: TypeAlias = Literal["size", "record", "right"]
"""The record's size, something else about the record, or a right that is missing."""

SIZE: Final = frozenset({10, 18})
"""Message too large, and record list too large."""
RECORD: Final = frozenset({2, 32, 43, 44, 87})
"""Corrupt, a bad timestamp, a format that the topic does not take, against a policy, invalid."""
RIGHT: Final = frozenset({17, 29, 31, 53})
"""No such name for a topic, no right to the topic, none to the cluster, none to a transaction."""
UNNAMED: Final = -1
"""What aiokafka makes of a code that it does not know: 87, an invalid record, is one."""


def why_of(error: BaseException) -> Why | None:
    """Why a broker refused what was sent; nothing where it did not: then it is away, or we erred."""
    # Errors of the system have an ``errno`` too, and mean a broker that is away and not one that refuses.
    code: Any = getattr(error, "errno", None)
    if isinstance(error, OSError) or not isinstance(code, int):
        return None
    if code in SIZE:
        return "size"
    if code in RECORD or code == UNNAMED:
        return "record"
    return "right" if code in RIGHT else None


class RefusedByBroker(Exception):
    """A broker answered, and did not take what was sent. ``records`` are how many it refused at once."""

    def __init__(
        self, topic: str, partition: int, why: Why, name: str, *, size: int, records: int = 1
    ) -> None:
        super().__init__(topic, partition, why, name, size, records)
        self.topic, self.partition, self.why, self.name = topic, partition, why, name
        self.size, self.records = size, records

    def __str__(self) -> str:
        """The topic, what was refused, and what the broker calls it."""
        if self.why == "right":
            return f"the broker refused an append to {self.topic}: {self.name}"
        what = (
            f"a record of {self.size:,} bytes" if self.records == 1 else f"{self.records} records"
        )
        return f"the broker refused {what} on {self.topic}: {self.name}"


def refusal_of(
    error: BaseException, topic: str, partition: int, *, size: int, records: int = 1
) -> RefusedByBroker | None:
    """A client's error as a refusal, if it is one."""
    why = why_of(error)
    if why is None:
        return None
    return RefusedByBroker(topic, partition, why, type(error).__name__, size=size, records=records)
