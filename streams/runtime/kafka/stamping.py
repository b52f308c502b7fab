"""Stamps of open episodes: what a writer stated of them under its claim, and what was read of them before."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from schemas.stamps import FIRST, Stamp, is_stamped, stamp_of, stamps_of
from streams.runtime.kafka.envelope import LogRecord


class Stamps:
    """Stamps of the records of open episodes. A closing is stamped only if all of its records are known."""

    def __init__(self) -> None:
        self.read: Callable[[str], Mapping[str, LogRecord]] | None = None
        """What was accepted of an open episode, by address."""
        self.mine: dict[str, dict[str, Stamp]] = {}

    def stated(self, episode: str, address: str, at_ms: int, body: bytes) -> None:
        """Take what is stated. With its closing, or the version that it made, an episode is let go of."""
        if address in ("closed", "version"):
            self.mine.pop(episode, None)
        elif is_stamped(address):
            stamp = stamp_of(address, at_ms, body)
            self.mine.setdefault(episode, {}).setdefault(address, stamp)

    def closed(self, episode: str, at_ms: int) -> str | None:
        """The stamps of a closing that is stated now, if all of its episode is known."""
        found: dict[str, Stamp] = {}
        read: Mapping[str, LogRecord] = {} if self.read is None else self.read(episode)
        for address, said in read.items():
            if not is_stamped(address):
                continue
            if said.at_ms is None:
                return None  # a foreign client told no time, and a stamp without it would prove nothing
            found[address] = stamp_of(address, said.at_ms, said.body)
        found = self.mine.get(episode, {}) | found
        if FIRST.get(episode[:2]) not in found:
            return None
        return stamps_of(list(found.values()), at_ms)
