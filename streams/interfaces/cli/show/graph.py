"""The `graph show` command: the graph memory of a scope at a version, on the screen or as a file."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

from handlers.roles.inducer import strength
from schemas.memory import Memory
from schemas.vectors import as_kept
from streams.answering.embedders.hashed import HashedEmbedder
from streams.interfaces.cli.errors import OK, CliError, usage
from streams.interfaces.cli.output import out_json
from streams.interfaces.cli.show.library import Library
from streams.interfaces.cli.show.page import Page
from streams.research.analysis.graph_page import page as html
from streams.research.analysis.graphs import Drawn, activated_by, as_json, drawn, graphml
from streams.views.words import cut, one_line, plural, wrap

WRITERS = {".html": html, ".graphml": graphml}
ACTIVE = 5
SHOWN = 20
"""Paths and queries on the screen; files hold them all."""


def graph(
    log: str | None,
    *,
    scope: str | None,
    at: int | None,
    file: str | None,
    problem: str | None,
    json: bool,
) -> int:
    """Show the graph; ``--file`` writes it, ``--json`` gives one object."""
    # One scope at a time: graphs of two domains beside each other would be read as one.
    shelf = Library.of(log).one(scope)
    memory = shelf.version(at)
    found = drawn(memory)
    if found is None:
        raise CliError(f"{shelf.scope} keeps no graph", error="graph.none", exit=1)
    if file is not None:
        return write(found, Path(file))
    if problem is not None:
        return inspect(found, memory, problem, json=json)
    if json:
        out_json(as_json(found))
        return OK
    page = Page()
    draw(page, found)
    page.show()
    return OK


def inspect(found: Drawn, memory: Memory, problem: str, *, json: bool) -> int:
    """What a problem activates, layer by layer, by the default embedder."""
    # Only this embedder needs no model and no key; cases of another one are refused below, since
    # cosines between vectors of two embedders mean nothing.
    vector = asyncio.run(HashedEmbedder().embed((problem,)))[0]
    try:
        active = activated_by(memory, problem, as_kept(vector), ACTIVE)
    except ValueError as error:
        raise usage(f"{error}: another embedder made the cases", field="--problem") from error
    if json:
        out_json(asdict(active))
        return OK
    page = Page()
    layers = (
        ("queries", active.similar),
        ("paths", active.paths),
        ("principles", active.principles),
    )
    for name, signals in layers:
        page.rule(name)
        for each, signal in sorted(signals.items(), key=lambda pair: -pair[1]):
            share = f" p {active.shares[each]:.3f}" if name == "principles" else ""
            words = found.cases.get(each) or found.texts.get(each) or each
            # Below the floor nothing is shown to an episode; here it is, since whoever asks why a
            # problem got no principle has to see how near the nearest was.
            if name == "queries" and signal < active.floor:
                words = f"(not like it: nothing in service) {words}"
            page.line(f"{signal:9.4f}{share}  ", cut(one_line(words), page.width - 20))
    page.show()
    return OK


def write(found: Drawn, path: Path) -> int:
    """The graph as ``.html`` or ``.graphml``. Raises a usage error for any other name."""
    writer = WRITERS.get(path.suffix)
    if writer is None:
        raise usage(f"{path} must end in {' or '.join(WRITERS)}", field="--file")
    try:
        path.write_text(writer(found), encoding="utf-8")
    except OSError as error:
        raise usage(f"{path}: {error.strerror}", field="--file") from error
    return OK


def draw(page: Page, found: Drawn) -> None:
    """Principles with weights and evidence, then paths, then queries."""
    sizes = (
        f"{plural(len(found.cases), 'query')}, {plural(len(found.paths), 'path')}, "
        f"{plural(len(found.principles), 'principle')}, version {found.version}"
    )
    page.line((found.scope, "strong"), f"   {sizes}")
    page.rule("principles")
    for name, held in found.principles.items():
        word = f"{strength(held['score'])} {held['score']:g}"
        lines = wrap(one_line(found.texts.get(name, held["summary"])), page.width - 8)
        page.line((f"{name:>6}  ", "strong"), lines[0])
        for line in lines[1:]:
            page.line("        ", line)
        weights = [f"{edge.weight:.3f} {edge.source}" for edge in found.into(name)]
        page.line("        ", (f"strength {word}; {plural(len(weights), 'path')}", "dim"))
        # The edges come heaviest first: the few that carry a principle are enough on a screen.
        for line in weights[:3]:
            page.line("        ", (cut(line, page.width - 8), "dim"))
    page.rule("paths")
    for path in found.paths[:SHOWN]:
        right, wrong = found.runs(path)
        page.line(f"{right:>5} right {wrong:>5} wrong  ", cut(path, page.width - 26))
    page.rule("queries")
    for case, text in list(found.cases.items())[:SHOWN]:
        page.line((f"{case}  ", "dim"), cut(one_line(text), page.width - 14))
    more = max(len(found.cases), len(found.paths)) > SHOWN
    if more:
        page.line((f"the first {SHOWN} of each; all of them: --file graph.html", "dim"))
