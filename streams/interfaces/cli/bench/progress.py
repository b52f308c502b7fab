"""Progress of a bench with the time that is left: a line over itself on a terminal, else now and then."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streams.interfaces.cli.flags import FLAGS
from streams.interfaces.cli.live import PLAIN_S, REFRESH_S, View, Watch, watching
from streams.views.words import clock

if TYPE_CHECKING:
    from streams.telemetry.figures import Figures


class BenchView:
    """``0:12  closed 40/200  running 16  calls 512  left 0:48``."""

    def __init__(self, *, over: bool) -> None:
        self.over, self.every = over, REFRESH_S if over else PLAIN_S
        self.began: tuple[float, int] | None = None
        self.line = ""

    def draw(self, figures: Figures, running: int, elapsed: float) -> None:
        """Show how far it is, and how long the rest takes at the pace so far."""
        closed, problems = figures.closed, figures.total
        self.began = self.began or (elapsed, closed)
        self.line = (
            f"{clock(elapsed)}  closed {closed:,}/{problems:,}  running {running:,}  "
            f"calls {figures.solving.calls + figures.learning.calls:,}  left {self._left(elapsed, closed, problems)}"
        )
        sys.stderr.write(f"\r\x1b[K{self.line}" if self.over else f"{self.line}\n")
        sys.stderr.flush()

    def _left(self, elapsed: float, closed: int, problems: int) -> str:
        began, before = self.began or (0.0, 0)
        if closed <= before or elapsed <= began:
            return "unknown"
        return clock((problems - closed) * (elapsed - began) / (closed - before))

    def end(self) -> None:
        """Leave the last line."""
        if self.over and self.line:
            sys.stderr.write("\n")


def chosen() -> View | None:
    """The view that ``--display`` and the terminal call for."""
    if FLAGS.display == "none":
        return None
    return BenchView(over=FLAGS.display == "full" and sys.stderr.isatty())


@contextmanager
def watching_bench(log: str) -> Generator[Watch | None]:
    """What a worker on this log should call."""
    with watching(log, chosen) as watch:
        yield watch
