"""Where an episode's records go, and the port that every log implements for it.

Facts are stated, not awaited: they ride in the commit of the next answer of any episode. Answers and
closings are awaited. The same address of the same episode is recorded once; the first wins.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from schemas.events.base import Event


class Fenced(Exception):
    """This writer's claim is no longer the latest on its partition; what it appends counts for nothing."""


class TooLarge(Exception):
    """A record is larger than its log takes, so it was not recorded; sizes are those of its event."""

    def __init__(self, kind: str, size: int, room: int) -> None:
        super().__init__(f"{kind} comes to {size:,} bytes; its log takes {room:,}")
        self.kind, self.size, self.room = kind, size, room


# The port has two kinds of implementation, logs and a memory for tests. What is stated is not
# awaited: a policy states many facts for each answer, and a commit for each would cost as many
# writes to disk.
class Recorder(Protocol):
    """The append side of a log, seen by one worker under one claim."""

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        """Record with the next commit. Raises ``Fenced`` after the claim was lost, and ``TooLarge``."""
        ...

    def commit(self) -> Awaitable[None]:
        """Done when everything stated so far is durable. Raises ``Fenced``."""
        ...

    def keep(self, digest: str, text: str) -> None:
        """Keep a text that records refer to, once per log. Raises ``TooLarge``."""
        ...

    def send(self, topic: str, key: str, value: bytes) -> None:
        """A message on a topic for consumers, in the same commit; the same key is sent once."""
        ...


class MemoryRecorder:
    """A log in memory, for tests and dry runs. ``stop_after`` simulates a crash: see ``Crashed``."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.records: dict[tuple[str, str], tuple[str, Event]] = {}
        self.texts: dict[str, str] = {}
        self.messages: dict[tuple[str, str], bytes] = {}
        self.repeated = 0
        self.stop_after = stop_after

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        """Keep the record, or raise ``Crashed`` when the log has stopped."""
        if self.stop_after is not None and len(self.records) >= self.stop_after:
            raise Crashed
        # An address that is recorded twice is what a crash leaves when its worker had not read its
        # own last commit. The first one counts, since others may have acted on it.
        if (episode, address) in self.records:
            self.repeated += 1
        self.records.setdefault((episode, address), (topic, event))

    async def commit(self) -> None:
        """Memory is as durable as it gets."""

    def keep(self, digest: str, text: str) -> None:
        """Keep the text."""
        self.texts.setdefault(digest, text)

    def send(self, topic: str, key: str, value: bytes) -> None:
        """Keep the message."""
        self.messages.setdefault((topic, key), value)

    def journal(self, episode: str) -> dict[str, Event]:
        """The records of one episode by address."""
        return {at: event for (name, at), (_, event) in self.records.items() if name == episode}


# It is no ``Exception``, so that no policy and no driver can handle it and go on, as after a real
# crash.
class Crashed(BaseException):
    """A log that stops after its n-th append stopped: nothing later was recorded."""
