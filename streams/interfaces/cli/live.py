"""Progress on standard error: a live view on a terminal, else a plain line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from streams.interfaces.cli.config import display
from streams.interfaces.cli.opening import log_path, log_url
from streams.interfaces.cli.output import complain
from streams.runtime.embedded.files import SqliteError

if TYPE_CHECKING:
    from streams.engine.progress import Progress
    from streams.telemetry.figures import Figures, Reader

REFRESH_S = 0.25
PLAIN_S = 10.0

Watch = Callable[["Progress"], None]


class View(Protocol):
    """Draws figures somewhere."""

    every: float
    """Seconds between two drawings at least."""

    def draw(self, figures: Figures, running: int, elapsed: float) -> None:
        """Show the present figures."""
        ...

    def end(self) -> None:
        """Nothing more will come."""
        ...


class Watcher:
    """A watcher is called at every change. It looks at the clock, and draws if a drawing is due.

    A view that fails (its terminal is gone) is given up; the work goes on.
    """

    def __init__(self, path: str, view: View, clock: Callable[[], float] = time.monotonic) -> None:
        self.path, self.view, self.clock = path, view, clock
        self.began = self.due = clock()
        self.reader: Reader | None = None
        self.running = 0
        self.why: Callable[[], list[str]] = list
        self.failed = False

    def __call__(self, progress: Progress) -> None:
        self.running, self.why = progress.running, progress.why
        now = self.clock()
        # The clock is asked at each change, and nothing else: a worker makes thousands of changes
        # a second.
        if now >= self.due and not self.failed:
            self._try(now)

    def _try(self, now: float) -> None:
        try:
            self.refresh(now)
        except (OSError, SqliteError):
            # A view is never worth the work: whatever goes wrong with it is not tried again.
            self.failed = True

    def refresh(self, now: float) -> None:
        """Read what is new and draw it."""
        if self.reader is None:
            # A worker makes its log late; until then there is nothing to read.
            if not Path(self.path).exists():
                return
            from streams.telemetry.figures import Reader

            self.reader = Reader(self.path)
        self.reader.read()
        self.reader.figures.waits = self.why()
        self.view.draw(self.reader.figures, self.running, now - self.began)
        # From the end of the drawing on: on a slow terminal the view must not take all the time
        # of the work.
        self.due = self.clock() + self.view.every

    def close(self) -> None:
        """Draw once more, if anything was drawn, and let go of the log."""
        # What was in flight has ended by now, and is not to be drawn as running.
        self.running, self.why = 0, list
        if self.reader is not None and not self.failed:
            self.reader.read_all()
            self._try(self.clock())
        # Its last line may have nowhere to go either, and work that is done stays done.
        with suppress(OSError):
            self.view.end()
        if self.reader is not None:
            self.reader.close()


@contextmanager
def watching(
    log: str | None, make: Callable[[], View | None] | None = None
) -> Generator[Watch | None]:
    """What a worker on this log should call; nothing where nobody watches."""
    view = (make or chosen)()
    if view is None:
        yield None
        return
    watcher = Watcher(log_path(log_url(log)), view)
    try:
        yield watcher
    finally:
        watcher.close()


def chosen() -> View | None:
    """The view that ``--display`` and the terminal call for."""
    if display() == "none":
        return None
    if display() == "full" and sys.stderr.isatty():
        return Full()
    return Plain()


class Plain:
    """A line every ten seconds, where it would say anything else than the last one."""

    every = PLAIN_S

    def __init__(self) -> None:
        self.line = self.said = self.written = ""

    def draw(self, figures: Figures, running: int, elapsed: float) -> None:
        """Write a line when its time has come."""
        from streams.interfaces.cli.show.board import plain_line
        from streams.views.words import clock

        self.said = plain_line(figures, running)
        self.line = f"{clock(elapsed)}  {self.said}"
        # Short work says its one line at the end, and not one at the beginning too.
        if elapsed >= self.every / 2:
            self._write()

    def _write(self) -> None:
        if self.said != self.written:
            complain(self.line)
            self.written = self.said

    def end(self) -> None:
        """Write how it ended."""
        self._write()


class Full:
    """A view that is drawn over itself, at most four times a second."""

    every = REFRESH_S

    def __init__(self, draw: Callable[[Figures, int, float, int], Any] | None = None) -> None:
        from rich.console import Console
        from rich.live import Live

        # Nothing in a text is markup to rich: what models said would otherwise colour the screen.
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self.live = Live(console=self.console, auto_refresh=False, transient=draw is not None)
        self.board = draw
        self.live.start()

    def draw(self, figures: Figures, running: int, elapsed: float) -> None:
        """Draw the board anew."""
        from rich.console import Group

        from streams.interfaces.cli.show.board import board
        from streams.interfaces.cli.show.page import rich_line

        page = (self.board or board)(figures, running, elapsed, self.console.width)
        # What is taller than the terminal could not be drawn over, and would scroll away line by
        # line.
        lines = page.lines[: max(self.console.height - 1, 1)]
        drawn = [rich_line(line) for line in lines]
        for each in drawn:
            each.no_wrap, each.overflow = True, "crop"
        self.live.update(Group(*drawn), refresh=True)

    def end(self) -> None:
        """Leave the last drawing, or wipe it where a screen of its own follows."""
        self.live.stop()
