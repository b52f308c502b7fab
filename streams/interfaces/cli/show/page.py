"""A page of lines: plain text for files and pipes, with colours on a terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streams.interfaces.cli.output import Leaving, colour
from streams.views.words import cells, clean, cut, graded, wrap

if TYPE_CHECKING:
    from rich.text import Text

    from state.folds.grades import Known

Span = tuple[str, str]
"""Text and its style: a name of ``STYLES`` or nothing."""

STYLES = {
    "strong": "bold",
    "dim": "dim",
    "good": "green",
    "bad": "red",
    "warn": "yellow",
    "note": "cyan",
    "alarm": "bold yellow",
}
PLAIN_WIDTH = 80
LEAST, MOST = 60, 120
OUTCOMES = {"right": "good", "wrong": "bad", "withheld": "warn"}


def page_width() -> int:
    """The terminal's width within bounds; 80 columns where there is none."""
    # In a file or a pipe nothing may hang on the window that it was made in.
    if not sys.stdout.isatty():
        return PLAIN_WIDTH
    return min(max(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, LEAST), MOST)


def span(part: str | Span) -> Span:
    """A span from a text without style."""
    return (part, "") if isinstance(part, str) else part


@dataclass(slots=True)
class Page:
    """Lines of spans, ``width`` columns wide."""

    width: int = field(default_factory=page_width)
    lines: list[tuple[Span, ...]] = field(default_factory=list[tuple[Span, ...]])

    def line(self, *parts: str | Span) -> None:
        """One line."""
        self.lines.append(tuple(map(span, parts)))

    def rule(self, title: str, note: str = "") -> None:
        """A line across the page with a title in it."""
        tail = f" {note} ──" if note else ""
        room = self.width - cells(tail)
        head = cut(f"── {title} ", room)
        self.line((head + "─" * (room - cells(head)) + tail, "dim"))

    def wrapped(self, text: str, *, indent: int = 0, style: str = "") -> None:
        """Words over as many lines as they need."""
        for line in wrap(text, self.width - indent):
            self.line(" " * indent, (line, style))

    def text(self) -> str:
        """The page without styles, and with nothing that could steer a terminal."""
        # The whole page is cleaned once more, though its parts were: one part
        # that was forgotten is enough.
        lines = ("".join(text for text, _ in line).rstrip() for line in self.lines)
        return clean("\n".join(lines))

    def show(self) -> None:
        """Write the page to standard output; in colour where that is a terminal."""
        with Leaving():
            if colour():
                from rich.console import Console

                # The page has its width already. Whatever rich does to a text beyond colours would
                # change what a model wrote: emoji codes, markup in brackets, lines broken anew.
                console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
                for line in self.lines:
                    console.print(rich_line(line), no_wrap=True, crop=False, overflow="ignore")
            else:
                sys.stdout.write(self.text() + "\n")
            sys.stdout.flush()


def rich_line(line: Sequence[Span]) -> Text:
    """A line for rich, which obeys most controls itself."""
    from rich.text import Text

    return Text.assemble(*((clean(text), STYLES.get(style, "")) for text, style in line))


def outcome(known: Known, answered: bool = True) -> Span:
    """What is known of an answer, in its colour."""
    return (graded(known, answered), OUTCOMES.get(known.standing(answered), "dim"))


def spread(left: Iterable[str | Span], right: str, width: int) -> tuple[Span, ...]:
    """Spans at the left and a text at the right end of a line, if both fit."""
    spans = tuple(map(span, left))
    used = sum(cells(text) for text, _ in spans)
    # Where both do not fit, the line runs on: to cut an id or a policy's name would be worse.
    gap = width - used - cells(right)
    return (*spans, (" " * max(gap, 2), ""), (right, "dim"))
