"""How large a record may be on each topic: what the topic says, and what a request of ours holds.

Bytes are counted before they are compressed, so that whether a record fits hangs on nothing but what it says.
"""

from __future__ import annotations

from typing import Final

from streams.runtime.kafka import aio
from streams.runtime.kafka.envelope import Given
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.refusals import RefusedByBroker

MAX_BYTES: Final = "max.message.bytes"
USUAL_BYTES: Final = 1_048_588
"""What a topic takes that says nothing of it, or says it to others only: Apache Kafka's own default."""
REQUEST_BYTES: Final = 16 << 20
"""No request of ours is larger, whatever a topic takes."""
RESERVED_BYTES: Final = 32 << 10
"""Of what a topic takes, for what a record's headers and an episode's own fields need beside its texts."""
LEAST_BYTES: Final = 4 << 10
_BATCH, _RECORD, _LENGTH = 61, 21, 5
_VALUES = ("problems", "events", "learning", "answers", "feedback")


class Sizes:
    """The limits of one log's topics, by their full names."""

    def __init__(self, place: KafkaAddress) -> None:
        self.place = place
        self.told: dict[str, int] = {}
        self.usual = USUAL_BYTES
        """What a topic takes that says nothing."""
        self.asked = False

    async def ask(self) -> None:
        """Ask the topics for their limits once, if we may know them."""
        if self.asked:
            return
        admin = aio.admin(self.place)
        await admin.start()
        try:
            told = await aio.configs(admin, self.place.topics(), MAX_BYTES)
            self.told |= {n: int(each[MAX_BYTES]) for n, each in told.items() if MAX_BYTES in each}
        except aio.kafka_error():
            pass  # of who may not ask nothing is known: a refusal will tell
        finally:
            await admin.close()
        self.asked = True

    def most(self, topic: str) -> int:
        """The most bytes of one record on a topic, with its key and headers."""
        return min(self.told.get(topic, self.usual), REQUEST_BYTES)

    @property
    def room(self) -> int:
        """The most bytes that a problem may come to, its settings counted twice, or a label."""
        most = min(self.most(self.place.topic(name)) for name in _VALUES)
        return max(LEAST_BYTES, most - RESERVED_BYTES)

    def lower(self, refused: RefusedByBroker) -> None:
        """A topic takes less than it said; where it said nothing, so may all that did not."""
        # A quarter less each time: what the topic really takes is told by nobody, and found in a few tries.
        if refused.topic not in self.told:
            self.usual = lowered(refused.size, self.usual)
            return
        self.told[refused.topic] = lowered(refused.size, self.told[refused.topic])


def lowered(size: int, most: int) -> int:
    """Return the size to try where a record of this size was refused."""
    return max(LEAST_BYTES, min(size, most) * 3 // 4)


def record_bytes(key: bytes, value: bytes | None, headers: Given) -> int:
    """Bytes of a record that is appended by itself, at most."""
    named = sum(len(name.encode()) + len(said or b"") + 2 * _LENGTH for name, said in headers)
    return _BATCH + _RECORD + 3 * _LENGTH + len(key) + len(value or b"") + named
