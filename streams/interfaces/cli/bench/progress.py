"""Progress of a bench with the time that is left: a line over itself on a terminal, else now and then."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from streams.interfaces.cli.config import display
from streams.interfaces.cli.live import PLAIN_S, REFRESH_S, View
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
        # The pace counts from the first look: a run that goes on inherits closed problems, and
        # their time was another worker's.
        self.began = self.began or (elapsed, closed)
        since, before = self.began
        left = "unknown"
        if closed > before and elapsed > since:
            left = clock((problems - closed) * (elapsed - since) / (closed - before))
        calls = figures.solving.calls + figures.learning.calls
        self.line = (
            f"{clock(elapsed)}  closed {closed:,}/{problems:,}  running {running:,}  "
            f"calls {calls:,}  left {left}"
        )
        sys.stderr.write(f"\r\x1b[K{self.line}" if self.over else f"{self.line}\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Leave the last line."""
        if self.over and self.line:
            sys.stderr.write("\n")


def chosen() -> View | None:
    """The view that ``--display`` and the terminal call for."""
    if display() == "none":
        return None
    return BenchView(over=display() == "full" and sys.stderr.isatty())
