"""One episode: who it was, how it ended, its budget, its steps in time and as a tree, what guided it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from handlers.learning.likeness import likeness_of
from schemas.events.episode import Recalled
from schemas.events.reasoning import KnowledgeReached
from schemas.memory import Memory, MemoryItem
from state.folds.state import State
from streams.core.judgements import words
from streams.interfaces.cli.show.tree import judge_of, tree_in
from streams.interfaces.dashboard.timeline import STRIP, lane_of, stepped, timeline, times
from streams.research.analysis.drawing import headline
from streams.research.analysis.tree_page import (
    LEGEND,
    VERDICTS,
    Drawing,
    Node,
    placed,
    searched,
)
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import episodes
from streams.views.rows import Row, grouped, items_of, rows
from streams.views.sheet import EpisodeView
from streams.views.words import one_line

JUDGING: Final = ("good", "bad", "warn", "note")
"""Tones of steps that judge an answer or decide on it."""


# ── As a tree ────────────────────────────────────────────────────────────────────────────────


def tree(sheet: EpisodeView, found: Sequence[Row]) -> tuple[str, Drawing | None]:
    """What the tree is of, and its drawing: a search's thoughts, else tries, else lanes of forks; none of one node."""
    search, judge = tree_in(sheet), judge_of(sheet)
    if search is not None:
        about = f"{headline(search)}; the thick line is the way that the answer came"
        return about, placed(searched(search, judge))
    tries = grouped(found)
    branches: dict[str, list[Row]] = {}
    for row in found:
        place = row.at.split(".")
        if tries and row.round is not None:
            branches.setdefault(f"try {row.round + 1}", []).append(row)
        elif not tries and len(place) > 2:
            # A lane of the outermost forks; what is in no lane is no branch. The key is its
            # address, as two forks have lanes of the same numbers; the number is only its title.
            branches.setdefault(".".join(place[:2]), []).append(row)
    nodes: list[Node] = []
    for key, steps in branches.items():
        answers = [
            (row.at, answer)
            for row in steps
            for _, fact in row.said
            if isinstance(answer := getattr(fact, "answer", None), str)
        ]
        # A branch came to its last answer; one without any leads to where it began.
        at, answer = answers[-1] if answers else (steps[0].at, "")
        verdict = VERDICTS[judge(answer)] if answer else ""
        said = "; ".join(f"{row.asked}: {row.answered}" for row in steps if row.tone in JUDGING)
        title = key if tries else f"lane {lane_of(key)}"
        nodes.append(Node(title, one_line(answer), one_line(said), verdict or "open", verdict, at))
    if not tries and not any(node.answer for node in nodes):
        nodes = []
    about = f"{'tries' if tries else 'lanes'}, each with the answer it came to"
    final = one_line((sheet.closed.answer if sheet.closed is not None else None) or "")
    # Several may have come to the answer that was given: it was the last of
    # them that ended the episode.
    came = [node for node in nodes if final and node.answer == final]
    for node in came[-1:]:
        node.chosen = True
    return about, placed([Node("the problem", tone="root", children=nodes)]) if nodes else None


# ── What guided it, and what is beside it ────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Guide:
    """A memory item that an episode had in its prompts, and where."""

    id: str
    item: MemoryItem | None
    roles: tuple[str, ...]
    """Whose prompts had it; none where it was recalled and then left out."""
    similarity: float | None


def guides(
    sheet: EpisodeView, found: Sequence[Row], state: State
) -> tuple[list[Guide], list[Guide], float]:
    """What guided it: first what was in its prompts, in the order of use; then the rest of what was recalled.

    Among the rest is what has no real likeness to the problem: below the cosine that is returned, two texts
    have nothing to do with each other.
    """
    memory: Memory | None = None
    if sheet.admitted is not None and sheet.opened is not None:
        fold = state.memories.get(sheet.admitted.scope)
        # The version that it worked with: a later one may say something else under the same id.
        memory = None if fold is None else fold.versions.get(sheet.opened.memory_version)
    near = {
        name: similarity
        for _, event in sheet.numbered
        if isinstance(event, Recalled)
        for name, _, similarity in event.items
        if similarity is not None
    }
    # In the order in which prompts had it, and each role once.
    roles: dict[str, dict[str, None]] = {}
    for fact in (fact for row in found for _, fact in row.said):
        if isinstance(fact, KnowledgeReached):
            for name in fact.items:
                roles.setdefault(name, {})[fact.role] = None
    known = {} if memory is None else {item.id: item for item in memory.items}
    floor = likeness_of(None if memory is None else memory.embedder).floor
    closed = list(sheet.closed.items) if sheet.closed is not None else []
    names = dict.fromkeys([*closed, *items_of(found), *near])
    every = [
        Guide(name, known.get(name), tuple(roles.get(name, ())), near.get(name)) for name in names
    ]
    used = [
        each
        for each in every
        if each.roles and (each.similarity is None or each.similarity >= floor)
    ]
    rest = [each for each in every if each not in used]
    rest.sort(key=lambda each: (each.similarity is None, -(each.similarity or 0)))
    return used, rest, floor


def beside(log: SqliteLog, episode: str) -> dict[str, list[str]]:
    """Other episodes of the same problem, and the forks and probes that were taken from this one."""
    # A learning episode is of no problem, so it has none beside it.
    try:
        others = episodes.other_runs(log, episode)
    except ValueError:
        return {"others": [], "probes": []}
    return {"others": others, "probes": episodes.probes_of(log, episode)}


def page(log: SqliteLog, state: State, sheet: EpisodeView) -> dict[str, Any]:
    """What an episode's page shows."""
    found = rows(sheet.numbered)
    about, drawing = tree(sheet, found)
    used, idle, floor = guides(sheet, found, state)
    lanes = timeline(found, times(log, sheet))
    opened = sheet.opened
    return {
        "sheet": sheet,
        "steps": stepped(found, lanes),
        "lanes": lanes,
        "strip": STRIP,
        "tree_about": about,
        "tree": drawing,
        "legend": [
            each
            for each in LEGEND
            if drawing and any(s.node.tone == each[0] for s in drawing.spots)
        ],
        "guides": used,
        "idle": idle,
        "floor": floor,
        "call_limit": opened.limits.calls if opened is not None else None,
        "token_limit": opened.limits.tokens if opened is not None else None,
        "calibrated": getattr(sheet.closed, "calibrated", None),
        "known": state.outcomes.of,
        "unread": words(sheet.judged),
        **beside(log, sheet.episode),
    }
