"""A process that grades on request and can be killed: a line of JSON in, a line out, until its input ends."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from streams.support.child import python, variables

START_S: Final = 30.0
MOST_TOLD: Final = 1 << 20
"""Longer lines are nobody's answer."""


class NoAnswer(Exception):
    """The process said nothing in time and was killed, or it died."""


class Died(NoAnswer):
    """The process ended while it was asked."""


@dataclass(slots=True)
class Helper:
    """One process of our Python: started at the first question, replaced after it was killed.

    ``arguments`` say which module it runs. ``hello`` is the first line of the one that runs now.
    """

    arguments: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    hello: str = ""
    unread: bytes = field(default=b"", repr=False)

    def ask(self, asked: Mapping[str, Any], limit_s: float) -> str:
        """The answer to a question. Raises ``NoAnswer``."""
        process = self.process or self.start()
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
        except OSError as gone:
            self.close()
            raise Died("the worker is gone") from gone
        return self.line(limit_s)

    def start(self) -> subprocess.Popen[bytes]:
        """A fresh process that loaded what it needs: that is not charged to a grade. Raises ``NoAnswer``."""
        self.process = subprocess.Popen(
            python(*self.arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # The worker's keys are in its environment, and are no business of what runs here.
            env=variables(),
            start_new_session=True,
        )
        self.hello = self.line(START_S)
        return self.process

    def line(self, limit_s: float) -> str:
        """The next line that the process writes; ``NoAnswer`` and no process when none comes."""
        assert self.process is not None
        assert self.process.stdout is not None
        end = time.monotonic() + limit_s
        while b"\n" not in self.unread:
            waits = max(0.0, end - time.monotonic())
            ready, _, _ = select.select([self.process.stdout], [], [], waits)
            chunk = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not chunk or len(self.unread) > MOST_TOLD:
                self.close()
                # Killed in either case: an answer that came late would be read as that to the next
                # question.
                raise Died("the worker died") if ready else NoAnswer(f"none in {limit_s:g} s")
            self.unread += chunk
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode()

    def close(self) -> None:
        """Kill the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            with suppress(OSError):
                self.process.communicate()
        self.process, self.unread = None, b""
