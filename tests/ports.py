"""Ports on loopback for what a test starts later, or where nobody is to listen."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager

LOWEST, COUNT = 20_000, 12_000
"""Below the range from which systems give ports: a port that is free now is given to nobody before it is used."""
APART = 97
"""Processes that run tests beside each other begin so far from each other."""

_numbers = itertools.count(os.getpid() * APART)


def free_port() -> int:
    """A port at which nobody listens, and that no call before was told."""
    while True:
        port = LOWEST + next(_numbers) % COUNT
        with socket.socket() as asked:
            try:
                asked.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@contextmanager
def refusing() -> Generator[int]:
    """A port that is taken and at which nobody listens: whoever connects is refused."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])
