"""The search tree of an episode on its screen, or as a file."""

from __future__ import annotations

from pathlib import Path

from handlers.policies.base import Trace
from handlers.policies.cot2_meta.trace import Tree, tree_of
from schemas.events.search import NodeExpanded
from streams.analysis.drawing import branches, headline, html, svg
from streams.cli.errors import usage
from streams.cli.show.page import Page
from streams.cli.show.sheet import Sheet
from streams.cli.show.words import cut

TONES = {"pruned": "bad", "repaired": "warn"}


def tree_in(sheet: Sheet) -> Tree | None:
    """The tree that an episode's record tells, if it searched."""
    if not any(isinstance(event, NodeExpanded) for _, event in sheet.numbered):
        return None
    return tree_of(Trace(tuple(sheet.numbered)))


def draw(page: Page, sheet: Sheet) -> None:
    """The tree under the steps; nothing where there is none."""
    tree = tree_in(sheet)
    if tree is None:
        return
    page.rule("tree")
    page.line((headline(tree), "dim"))
    for branch in branches(tree):
        tone = "good" if branch.on_path else TONES.get(branch.twig.status, "")
        room = page.width - len(branch.rails)
        page.line((branch.rails, "dim"), (cut(branch.words, room), tone))


def write(sheet: Sheet, path: Path) -> None:
    """The tree as ``.svg`` or ``.html``. Raises a usage error for any other name or no tree."""
    tree = tree_in(sheet)
    if tree is None:
        raise usage(f"{sheet.episode} has no tree to draw", field="--tree")
    if path.suffix not in (".svg", ".html"):
        raise usage(f"{path} must end in .svg or .html", field="--tree")
    text = svg(tree) if path.suffix == ".svg" else html(tree, sheet.episode)
    path.write_text(text, encoding="utf-8")
