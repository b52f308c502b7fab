"""Views of the running demo: a board on a terminal, otherwise a line for each closed batch."""

from __future__ import annotations

import sys

from streams.interfaces.cli.config import display
from streams.interfaces.cli.live import REFRESH_S, Full, View
from streams.interfaces.cli.show.board import bar, latest, table, totals
from streams.interfaces.cli.show.page import Page
from streams.telemetry.figures import Figures
from streams.views.words import clock, kilo


def chosen() -> View | None:
    """The view that ``--display`` and the terminal call for."""
    if display() == "none":
        return None
    # Standard error, as standard output is for the last screen alone, which a
    # person may pipe elsewhere.
    if display() == "full" and sys.stderr.isatty():
        return Full(board)
    return Lines()


def board(figures: Figures, running: int, elapsed: float, width: int) -> Page:
    """Problems streaming in, batches closing, lessons appearing, accuracy by batch."""
    page = Page(width=min(max(width, 40), 80))
    page.line(("Metalogue demo: 100 problems of Game of 24, policy mc2", "strong"))
    page.line()
    bar(page, figures, elapsed, f"running {running}")
    totals(page, figures)
    latest(page, figures)
    page.line()
    table(page, list(figures.batches.values()))
    page.line()
    page.line(("Kill it and run it again: no recorded call is made twice.", "dim"))
    return page


class Lines:
    """One plain line for each batch that was learned from."""

    every = REFRESH_S

    def __init__(self) -> None:
        self.said: set[tuple[str, int]] | None = None

    def draw(self, figures: Figures, running: int, elapsed: float) -> None:
        """Say the batches that are new."""
        done = {name for name, batch in figures.batches.items() if batch.versioned}
        if self.said is None:  # what an earlier worker learned is on the last screen
            self.said = done
        for name in sorted(done - self.said):
            batch = figures.batches[name]
            sys.stderr.write(
                f"{clock(elapsed)}  batch {batch.number:>2}  right {batch.right}/{batch.graded}"
                f"  calls {batch.spent.calls}  tokens {kilo(batch.spent.known_tokens)}"
                f"  lessons {batch.lessons}\n"
            )
            sys.stderr.flush()
        self.said |= done

    def end(self) -> None:
        """Nothing is left open."""
