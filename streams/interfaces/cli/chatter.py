"""Messages of Kafka's client libraries: the first line of each kind is shown, later ones are counted.

A broker that is away makes them say the same hundreds of times a second. What it means for the work is said
by the worker, once.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

CLIENTS: Final = ("aiokafka", "faust", "mode", "kafka")
EVERY_S: Final = 300.0
"""A kind of line is said so often at most."""
MOST_KINDS: Final = 100
_NUMBERS = re.compile(r"\d+")


@dataclass(slots=True)
class Kind:
    """Lines that say the same of different things: the latest, when one was let through, how many were not since."""

    latest: logging.LogRecord
    told_s: float
    more: int = 0

    def summed(self) -> logging.LogRecord:
        """The latest line with the number of those that it stands for."""
        made = logging.makeLogRecord(self.latest.__dict__)
        made.msg, made.args = f"{made.getMessage()} ({self.more:,} more like it since)", None
        return made


class Damped(logging.Handler):
    """Lets the first line of each kind through to the root's handlers, and later ones seldom, with a count."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.clock = clock
        self.kinds: dict[tuple[str, str], Kind] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Let it through, or count it."""
        # Ports, offsets and node ids differ from line to line although the lines say the same:
        # with numbers blotted out and cut short they are one kind.
        name, now_s = (record.name, _NUMBERS.sub("#", str(record.msg))[:80]), self.clock()
        kind = self.kinds.get(name)
        if kind is None:
            # A library that puts names into its messages would let the kinds grow for as long as
            # a worker lives.
            if len(self.kinds) >= MOST_KINDS:
                self.rest()
            self.kinds[name] = Kind(record, now_s)
            logging.root.handle(record)
            return
        kind.latest = record
        if now_s - kind.told_s < EVERY_S:
            kind.more += 1
        else:
            logging.root.handle(kind.summed() if kind.more else record)
            kind.told_s, kind.more = now_s, 0

    def rest(self) -> None:
        """Say how many lines were not let through, and begin anew."""
        for kind in self.kinds.values():
            if kind.more:
                logging.root.handle(kind.summed())
        self.kinds.clear()


@contextmanager
def damping() -> Generator[None]:
    """Damp the client libraries for a while."""
    damped = Damped()
    with ExitStack() as undo:
        undo.callback(damped.rest)
        for name in CLIENTS:
            log = logging.getLogger(name)
            undo.callback(setattr, log, "propagate", log.propagate)
            undo.callback(log.removeHandler, damped)
            log.addHandler(damped)
            # Without this each line would also reach the root by itself, undamped.
            log.propagate = False
        yield
