"""The process that owns the model: calls come in as lines, replies go out as lines, until the input ends."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec

from streams.answering.backbones.openvino.engine import Engine
from streams.answering.backbones.openvino.messages import (
    FROM_US,
    Answered,
    GivenUp,
    Loaded,
    Settings,
)

CHUNK = 1 << 16


def main() -> int:
    """Load the model that the argument names, and serve; what the library prints goes nowhere."""
    replies = os.dup(1)
    # The library prints to the standard output, where each line is read as a reply.
    os.dup2(2, 1)

    def tell(message: Loaded | Answered) -> None:
        left = msgspec.json.encode(message) + b"\n"
        while left:
            left = left[os.write(replies, left) :]

    try:
        engine = Engine(msgspec.json.decode(sys.argv[1], type=Settings))
    except RuntimeError as error:
        tell(Loaded(fault=str(error)))
        return 1
    tell(Loaded())
    with suppress(BrokenPipeError):  # nobody is left to tell
        serve(engine, 0, tell)
    return 0


def serve(engine: Engine, source: int, tell: Callable[[Loaded | Answered], None]) -> None:
    """Take what was asked, compute a step, tell what is whole; wait only where there is nothing to compute."""
    lines = Lines(source)
    while not lines.ended:
        for line in lines.read(wait=not engine.busy):
            message = FROM_US.decode(line)
            if isinstance(message, GivenUp):
                engine.give_up(message.number)
            elif (said := engine.take(message)) is not None:
                tell(said)
        if engine.busy and not lines.ended:
            for said in engine.step():
                tell(said)


class Lines:
    """Whole lines of a pipe, as many as have come."""

    def __init__(self, source: int) -> None:
        self._source, self._rest, self.ended = source, b"", False

    def read(self, *, wait: bool) -> Iterator[bytes]:
        """The lines that are there; with ``wait`` at least what comes next, or the end."""
        timeout = None if wait else 0.0
        while not self.ended and select.select([self._source], [], [], timeout)[0]:
            chunk = os.read(self._source, CHUNK)
            self.ended = not chunk
            *whole, self._rest = (self._rest + chunk).split(b"\n")
            yield from whole
            timeout = 0.0


if __name__ == "__main__":
    sys.exit(main())
