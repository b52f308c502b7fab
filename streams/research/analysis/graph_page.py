"""A graph memory as one self-contained page: three columns joined by weighted edges, then tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final

from handlers.policies.graph_memory.machine import MEANS, NAMES
from handlers.roles.inducer import strength
from streams.research.analysis.graphs import Drawn, Edge
from streams.research.analysis.layout import folded, html_table
from streams.research.analysis.layout import page as whole

SHOWN: Final = 60
"""Nodes of a column at most; the tables below hold them all."""
ROW: Final = 30
WIDTH: Final = 1180
COLUMNS: Final = (330, 590, 840)
"""Where queries, paths and principles stand: words left of the first, above the second, right of the third."""
LETTERS: Final = 44
"""Of a node's text; all of it stands in its title and in the tables."""
WORDS: Final = ("strength", "principle", "evidence", "uncertain", "principles by weight", "problem")
"""Columns that are no numbers."""
HEADS: Final = ("queries", "paths", "principles")
KINDS: Final = ("query", "path", "principle")
PLACES: Final[Mapping[str, tuple[int, int, str]]] = {
    "query": (-12, 5, "end"), "path": (0, -9, "middle"), "principle": (12, 5, "start"),
}  # fmt: skip
"""Of a kind's words beside its dot: right, down, and which end of them is held."""


def page(graph: Drawn) -> str:
    """The page: no script, nothing from elsewhere."""
    walked = {state for path in graph.paths for state in path.split()}
    states = [(state, NAMES[state], MEANS[state]) for state in NAMES if state in walked]
    principles = [
        (
            name,
            f"{strength(held['score'])} ({held['score']:g})",
            # A principle that no version holds any more
            # has no text; its summary stays in the graph.
            graph.texts.get(name, held["summary"]),
            "\n".join(graph.evidence[name]),
            held["uncertainty"],
        )
        for name, held in graph.principles.items()
    ]
    paths: list[tuple[str, ...]] = []
    for path in graph.paths:
        out = sorted((e for e in graph.edges if e.source == path), key=lambda e: -e.weight)
        weights = "\n".join(f"{e.target} {e.weight:.3f}" for e in out)
        paths.append((path, *map(str, graph.runs(path)), weights))
    return whole(
        graph.scope,
        [
            "<h1>Graph memory</h1>",
            f'<p class="lead">{escape(graph.scope)}, version {graph.version}: {graph.sizes}</p>',
            _figure(graph),
            # A reader looks up the letters of this page's paths; the machine has more.
            folded(
                "What the states of a path mean", html_table(("state", "name", "an agent"), states)
            )
            if states
            else "",
            "<h2>Principles</h2>",
            _table(("id", "strength", "principle", "evidence", "uncertain"), principles),
            "<h2>Paths</h2>",
            _table(("path", "right", "wrong", "principles by weight"), paths),
            "<h2>Queries</h2>",
            _table(("id", "problem"), graph.cases.items()),
        ],
        kind="graph memory",
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return html_table(head, rows, head[0], words=WORDS)


# ── The figure ───────────────────────────────────────────────────────────────────────────────


def _figure(graph: Drawn) -> str:
    """The three columns with their edges. A column is spread over the whole height, so that edges lie apart."""
    columns = (list(graph.cases), list(graph.paths), list(graph.principles))
    # A column of hundreds would make a drawing that nobody scrolls through.
    shown = [column[:SHOWN] for column in columns]
    height = 50 + ROW * max(1, *map(len, shown))
    places = {
        name: (COLUMNS[at], int(40 + (height - 50) * (row + 0.5) / len(column)))
        for at, column in enumerate(shown)
        for row, name in enumerate(column)
    }
    heads = "".join(
        f'<text class="head" x="{x + PLACES[kind][0]}" y="16" text-anchor="{PLACES[kind][2]}">{head}</text>'
        for x, kind, head in zip(COLUMNS, KINDS, HEADS, strict=True)
    )
    lines = ""
    for edge in graph.edges:
        # An edge whose end is not drawn would lead nowhere; the tables hold it.
        if {edge.source, edge.target} <= places.keys():
            lines += _line(edge, places[edge.source], places[edge.target])
    spots = "".join(
        _spot(name, kind, graph, places[name])
        for column, kind in zip(shown, KINDS, strict=True)
        for name in column
    )
    left_out = sum(map(len, columns)) - sum(map(len, shown))
    more = f"<li>{left_out} nodes are not drawn; the tables hold them</li>" if left_out else ""
    return (
        f'<div class="scroll flow" role="region" tabindex="0" aria-label="Drawing of the graph">'
        f'<svg class="web" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{graph.sizes}; '
        f'the tables below hold them">{heads}{lines}{spots}</svg></div>'
        '<ul class="legend"><li class="query">query</li><li class="path">path</li>'
        '<li class="principle">principle</li><li class="up">an edge that weighs 1 or more</li>'
        f'<li class="down">one that weighs less; the thicker, the more</li>{more}</ul>'
    )


def _line(edge: Edge, begins: tuple[int, int], ends: tuple[int, int]) -> str:
    (x1, y1), (x2, y2) = begins, ends
    kind, middle = "up" if edge.weight >= 1 else "down", (x1 + x2) // 2
    # Weights have no bound: one that ran away must not
    # cover the others, and one near 0 must be seen.
    width = min(6.0, max(0.5, 1.5 * abs(edge.weight)))
    said = escape(f"{edge.source} → {edge.target}: {edge.weight:.3f}")
    return (
        f'<path class="link {kind}" d="M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}" '
        f'stroke-width="{width:.2f}"><title>{said}</title></path>'
    )


def _spot(name: str, kind: str, graph: Drawn, place: tuple[int, int]) -> str:
    x, y = place
    # A path is its own words; a case whose problem was
    # forgotten has none left, and is shown by its name.
    words = {"query": graph.cases, "principle": graph.texts}.get(kind, {}).get(name, name) or name
    told = " ".join((f"{name}: {words}" if kind == "principle" else words).split())
    short = told if len(told) <= LETTERS else told[: LETTERS - 1] + "…"
    right, down, held = PLACES[kind]
    return (
        f'<g><circle cx="{x}" cy="{y}" r="5" class="{kind}"/><text x="{x + right}" y="{y + down}" '
        f'text-anchor="{held}">{escape(short)}</text><title>{escape(words)}</title></g>'
    )
