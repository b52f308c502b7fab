"""One design for all that is looked at: the page of reports, trees and graphs, in the dashboard's own style.

A page of these needs nothing else: no script, no font, no picture from anywhere. The dashboard serves the same
style sheet and mark as files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).parent / "static"
SHORT: Final = 24
"""Letters of a cell that fewer than are a number."""
FOLDED: Final = 12
"""Lines of a list at most that stands open."""


@cache
def style() -> str:
    """The style sheet of every page, for a phone and a desk, light and dark."""
    return (STATIC / "style.css").read_text(encoding="utf-8")


@cache
def mark() -> str:
    """The project's mark, to stand in a page."""
    svg = (STATIC / "mark.svg").read_text(encoding="utf-8").strip()
    shape = svg[svg.index(" viewBox") :]  # in a page no name of what it is written in is needed
    # Beside the name, which says the same: a screen reader need not say it twice.
    return f'<svg width="22" height="22" aria-hidden="true"{shape}'


def page(title: str, parts: Iterable[str], *, kind: str = "report") -> str:
    """One page of its own; ``kind`` says in its head what it is."""
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<style>{style()}</style></head>\n<body>"
        f'<header class="top"><span class="brand">{mark()} Metalogue</span>'
        f'<span class="dim">{escape(kind)}</span></header>\n'
        f"<main>\n{body}\n</main></body></html>\n"
    )


def html_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    about: str = "Table",
    *,
    words: Iterable[str] = (),
) -> str:
    """A table in HTML, its cells escaped. It scrolls by itself where the screen is narrower.

    Columns of short cells end in line, as numbers do, but for those that are named as of ``words``.
    """
    # Taken whole, for what a column's cells are like is asked before the first of them is written.
    made, named = [list(row) for row in rows], set(words)
    kinds: list[str] = []
    for at, name in enumerate(head):
        column = [row[at] for row in made]
        short = all(len(cell) < SHORT and "\n" not in cell for cell in column)
        # The first column names its row, however short the names are.
        kinds.append(' class="n"' if at and name not in named and short else ' class="text"')
    top = "".join(
        f'<th scope="col"{kind}>{escape(cell)}</th>' for cell, kind in zip(head, kinds, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row"{kinds[0]}>{escape(name)}</th>'
        + "".join(
            f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(cells, kinds[1:], strict=True)
        )
        + "</tr>"
        for name, *cells in made
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(about)}"><table class="figures">'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def bullets(lines: Sequence[str], title: str = "") -> str:
    """A list of lines that are HTML already; folded where it is long."""
    items = "".join(f"<li>{line}</li>" for line in lines)
    made = f"<ul>{items}</ul>"
    return made if len(lines) <= FOLDED else folded(title or f"{len(lines)} lines", made)


def folded(title: str, inside: str) -> str:
    """What stands closed until somebody opens it."""
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def warning(text: str) -> str:
    """What must be read before anything else."""
    return f'<p class="notice warn">{escape(text)}</p>'


def gallery(figures: Sequence[str]) -> str:
    """Figures beside each other where there is room; nothing for none."""
    return f'<div class="gallery">{"".join(figures)}</div>' if figures else ""
