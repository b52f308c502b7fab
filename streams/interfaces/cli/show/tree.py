"""The search tree of an episode on its screen, or as a file."""

from __future__ import annotations

from pathlib import Path

from handlers.policies.base import Trace
from handlers.policies.cot2_meta.trace import Tree, tree_of
from schemas.events.search import NodeExpanded
from streams.interfaces.cli.errors import usage
from streams.interfaces.cli.show.page import Page
from streams.research.analysis.cases import judged
from streams.research.analysis.drawing import branches, headline
from streams.research.analysis.tree_page import Judge, html, placed, searched, svg
from streams.views.sheet import EpisodeView
from streams.views.words import cut

TONES = {"pruned": "bad", "repaired": "warn"}
ENDED = {"right": "good", "wrong": "bad"}
"""The way that the answer came, by what became of it."""


def tree_in(sheet: EpisodeView) -> Tree | None:
    """The tree that an episode's record tells, if it searched."""
    if not any(isinstance(event, NodeExpanded) for _, event in sheet.numbered):
        return None
    return tree_of(Trace(tuple(sheet.numbered)))


def judge_of(sheet: EpisodeView) -> Judge:
    """Who says of any answer in an episode whether it is right: whoever said it of its own, or the domain's checker."""
    # A checker can judge any answer, a person has judged the given one alone: elsewhere in the tree
    # it stays unknown where only a person could tell.
    known, closed, posed = sheet.known, sheet.closed, sheet.admitted
    given = (None if closed is None else closed.answer, known.outcome)

    def judge(answer: str | None) -> bool | None:
        if answer is None or posed is None:
            return None
        return judged(posed.problem, answer, None, given, by_person=known.by is not None)

    return judge


def draw(page: Page, sheet: EpisodeView) -> None:
    """The tree under the steps; nothing where there is none."""
    tree = tree_in(sheet)
    if tree is None:
        return
    # The way to the answer is in the colour of what became of it; what was cut off and what was
    # mended stand out beside it, for these are where a search can go wrong.
    page.rule("tree")
    page.line((headline(tree), "dim"))
    ended = ENDED.get(sheet.known.outcome, "strong")
    for branch in branches(tree):
        tone = ended if branch.on_path else TONES.get(branch.twig.status, "")
        room = page.width - len(branch.rails)
        page.line((branch.rails, "dim"), (cut(branch.words, room), tone))


def write(sheet: EpisodeView, path: Path) -> None:
    """The tree as ``.svg`` or ``.html``. Raises a usage error for any other name or no tree."""
    tree = tree_in(sheet)
    if tree is None:
        raise usage(f"{sheet.episode} has no tree to draw", field="--tree")
    # By the ending alone: an option for the form could contradict the name.
    if path.suffix not in (".svg", ".html"):
        raise usage(f"{path} must end in .svg or .html", field="--tree")
    judge, posed = judge_of(sheet), sheet.admitted
    if path.suffix == ".svg":
        text = svg(placed(searched(tree, judge)), headline(tree)) + "\n"
    else:
        problem = "" if posed is None else posed.problem.problem
        text = html(tree, sheet.episode, problem, judge)
    path.write_text(text, encoding="utf-8")
