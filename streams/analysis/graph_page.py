"""A graph memory as one self-contained page: three columns joined by weighted edges, then tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from handlers.roles.inducer import strength
from streams.analysis.graphs import Drawn, Edge

SHOWN = 60
"""Nodes of a column at most; the tables below hold them all."""
ROW, WIDTH, LEFT = 26, 1080, 20
COLUMNS = (LEFT, 390, 740)
LETTERS = 50
"""Of a node's text; all of it stands in its title and in the tables."""
LEGEND = "Queries, paths, principles. Green edges weigh 1 or more, red ones less; thick ones much."
STYLE = """
body{font:14px/1.5 system-ui,sans-serif;margin:2rem;max-width:70rem;color:#1b1b1b;background:#fff}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .7rem;text-align:left;
border-bottom:1px solid #ddd;vertical-align:top}td.n{text-align:right}svg{width:100%;height:auto}
svg text{font:12px system-ui,sans-serif;fill:#1b1b1b;paint-order:stroke;stroke:#fff;stroke-width:5px}
.q{fill:#3b6ea5}.t{fill:#8a8a8a}.m{fill:#2e8b57}
.up{stroke:#2e8b57}.down{stroke:#b3473f}pre{white-space:pre-wrap;margin:0;font:inherit}
@media(prefers-color-scheme:dark){body{background:#161616;color:#e6e6e6}svg text{fill:#e6e6e6;stroke:#161616}
td,th{border-color:#444}}
"""


def page(graph: Drawn) -> str:
    """The page: no script, nothing from elsewhere."""
    parts = (
        f"<h1>Graph memory</h1><p>{escape(graph.scope)}, version {graph.version}: {_sizes(graph)}</p>",
        _figure(graph),
        "<h2>Principles</h2>",
        _table(("id", "strength", "principle", "evidence", "uncertain"), _principles(graph)),
        "<h2>Paths</h2>",
        _table(("path", "right", "wrong", "principles by weight"), _paths(graph)),
        "<h2>Queries</h2>",
        _table(("id", "problem"), graph.cases.items()),
    )
    title = escape(graph.scope)
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    return (
        f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'
    )


def _sizes(graph: Drawn) -> str:
    counts = (len(graph.cases), len(graph.paths), len(graph.principles), len(graph.edges))
    return "{} queries, {} paths, {} principles, {} edges".format(*counts)


def _principles(graph: Drawn) -> Iterable[Sequence[str]]:
    for name, held in graph.principles.items():
        word = f"{strength(held['score'])} ({held['score']:g})"
        text = graph.texts.get(name, held["summary"])
        yield name, word, text, "\n".join(graph.evidence[name]), held["uncertainty"]


def _paths(graph: Drawn) -> Iterable[Sequence[str]]:
    for path in graph.paths:
        right, wrong = graph.runs(path)
        out = sorted((e for e in graph.edges if e.source == path), key=lambda e: -e.weight)
        yield path, str(right), str(wrong), "\n".join(f"{e.target} {e.weight:.3f}" for e in out)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(
        "<tr>" + "".join(f"<td><pre>{escape(cell)}</pre></td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


# ── The figure ───────────────────────────────────────────────────────────────────────────────


def _figure(graph: Drawn) -> str:
    columns = (list(graph.cases), list(graph.paths), list(graph.principles))
    names = [column[:SHOWN] for column in columns]
    places = {
        name: (COLUMNS[at], 30 + row * ROW)
        for at, column in enumerate(names)
        for row, name in enumerate(column)
    }
    height = 40 + ROW * max((len(column) for column in names), default=0)
    lines = "".join(_line(e, places) for e in graph.edges if {e.source, e.target} <= places.keys())
    spots = "".join(
        _spot(name, kind, graph, places[name])
        for column, kind in zip(names, "qtm", strict=True)
        for name in column
    )
    left_out = sum(len(column) - len(shown) for column, shown in zip(columns, names, strict=True))
    note = f"<p>{LEGEND}{f' {left_out} nodes are not drawn.' if left_out else ''}</p>"
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{lines}{spots}</svg>{note}'


def _line(edge: Edge, places: dict[str, tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    kind = "up" if edge.weight >= 1 else "down"
    width = min(6.0, max(0.5, 1.5 * abs(edge.weight)))
    said = escape(f"{edge.source} → {edge.target}: {edge.weight:.3f}")
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="{kind}" stroke-width="{width:.2f}" '
        f'stroke-opacity=".5"><title>{said}</title></line>'
    )


def _spot(name: str, kind: str, graph: Drawn, place: tuple[int, int]) -> str:
    x, y = place
    words = {"q": graph.cases, "m": graph.texts}.get(kind, {}).get(name, name)
    told = f"{name}: {words}" if kind == "m" else words
    short = escape(" ".join(told.split())[:LETTERS])
    return (
        f'<g><circle cx="{x}" cy="{y}" r="5" class="{kind}"/><text x="{x + 10}" y="{y + 4}">{short}'
        f"</text><title>{escape(words)}</title></g>"
    )
