"""One episode: who it was, how it ended, its budget, its steps in time and as a tree, what guided it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from schemas.events.episode import Recalled
from schemas.events.reasoning import KnowledgeReached
from schemas.identity import address_order, episode_parts
from schemas.memory import MemoryItem
from state.folds.state import State
from streams.analysis.drawing import described, headline
from streams.cli.show.rows import Row, grouped, items_of, rows
from streams.cli.show.sheet import Sheet
from streams.cli.show.tree import tree_in
from streams.judging import words
from streams.runtime.embedded.log import SqliteLog

STRIP: Final = 1000
"""Width of the strip of time, in units of its own."""
OTHERS = """
select episode from records where episode >= ? and episode < ? and address = 'admitted'
  and episode <> ? limit 20
"""
PROBES = """
select episode from records where episode >= ? and episode < ? and address = 'opened' limit 50
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A row of the timeline, with what was spent up to there."""

    row: Row
    calls: int
    begin: float
    """Where it stands on the strip of time, of ``STRIP``."""
    width: float
    first_of_round: bool


@dataclass(slots=True)
class Node:
    """One node of the tree."""

    title: str
    detail: str = ""
    tone: str = ""
    at: str | None = None
    children: list[Node] = field(default_factory=list["Node"])


def timeline(found: Sequence[Row]) -> list[Step]:
    """The rows with running sums of calls and seconds."""
    total = sum(row.seconds or 0.0 for row in found) or 1.0
    steps: list[Step] = []
    calls, seconds, last = 0, 0.0, None
    tries = grouped(found)
    for row in found:
        calls += row.called
        first = tries and row.round is not None and row.round != last
        last = row.round if row.round is not None else last
        width = STRIP * (row.seconds or 0.0) / total
        steps.append(Step(row, calls, STRIP * seconds / total, width, first))
        seconds += row.seconds or 0.0
    return steps


# ── As a tree ────────────────────────────────────────────────────────────────────────────────


def tree(sheet: Sheet, found: Sequence[Row]) -> tuple[str, list[Node]]:
    """What the tree is of, and its roots: thoughts of a search, else tries, else lanes of forks."""
    search = tree_in(sheet)
    if search is not None:
        return headline(search), _searched(search)
    if grouped(found):
        return "tries, each with its questions", _tries(found)
    return "questions in order; lanes under their fork", _lanes(found)


def _searched(search: Any) -> list[Node]:
    path = set(search.path(search.decided.node)) if search.decided is not None else set[str]()
    nodes: dict[str, Node] = {}
    roots: list[Node] = []
    for twig in sorted(search.nodes.values(), key=lambda twig: address_order(twig.id)):
        tone = "good" if twig.id in path else {"pruned": "bad", "repaired": "warn"}.get(twig.status)
        nodes[twig.id] = Node(described(twig), "", tone or "")
    for twig in search.nodes.values():
        above = nodes.get(twig.parent or "")
        (above.children if above is not None else roots).append(nodes[twig.id])
    return roots


def _tries(found: Sequence[Row]) -> list[Node]:
    roots: list[Node] = []
    by_round: dict[int, Node] = {}
    for row in found:
        leaf = _leaf(row)
        if row.round is None:
            roots.append(leaf)
            continue
        if row.round not in by_round:
            by_round[row.round] = Node(f"try {row.round + 1}")
            roots.append(by_round[row.round])
        by_round[row.round].children.append(leaf)
    return roots


def _lanes(found: Sequence[Row]) -> list[Node]:
    """Under a fork at 3 stand its lanes, and in lane 0 what is at 3.0.*."""
    nodes: dict[str, Node] = {}
    roots: list[Node] = []
    for row in found:
        leaf = nodes[row.at] = _leaf(row)
        *above, _ = row.at.split(".")
        if len(above) < 2:
            roots.append(leaf)
            continue
        lane, fork = ".".join(above), nodes.get(".".join(above[:-1]))
        if lane not in nodes:
            nodes[lane] = Node(f"lane {above[-1]}")
            (fork.children if fork is not None else roots).append(nodes[lane])
        nodes[lane].children.append(leaf)
    for node in nodes.values():
        node.children = [_alone(child) for child in node.children]
    return roots


def _alone(node: Node) -> Node:
    """What stands alone in a lane, in the lane's place."""
    return node.children[0] if node.at is None and len(node.children) == 1 else node


def _leaf(row: Row) -> Node:
    return Node(row.asked, row.answered, row.tone, row.at)


# ── What guided it, and what is beside it ────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Guide:
    """A memory item that an episode had in its prompts, and where."""

    id: str
    item: MemoryItem | None
    roles: tuple[str, ...]
    similarity: float | None


def guides(sheet: Sheet, found: Sequence[Row], state: State) -> list[Guide]:
    """The lessons and rules in its prompts, in the order of their use."""
    wanted = list(sheet.closed.items) if sheet.closed is not None else []
    wanted = list(dict.fromkeys([*wanted, *items_of(found)]))
    known = {item.id: item for item in _memory(sheet, state)}
    near = dict(_similarities(sheet))
    roles = _roles(found)
    return [Guide(name, known.get(name), roles.get(name, ()), near.get(name)) for name in wanted]


def _memory(sheet: Sheet, state: State) -> Iterable[MemoryItem]:
    if sheet.admitted is None or sheet.opened is None:
        return ()
    fold = state.memories.get(sheet.admitted.scope)
    memory = None if fold is None else fold.versions.get(sheet.opened.memory_version)
    return () if memory is None else memory.items


def _similarities(sheet: Sheet) -> Iterator[tuple[str, float]]:
    for _, event in sheet.numbered:
        if isinstance(event, Recalled):
            yield from ((name, near) for name, _, near in event.items if near is not None)


def _roles(found: Sequence[Row]) -> Mapping[str, tuple[str, ...]]:
    said: dict[str, dict[str, None]] = {}
    for row in found:
        for _, fact in row.said:
            if isinstance(fact, KnowledgeReached):
                for item in fact.items:
                    said.setdefault(item, {})[fact.role] = None
    return {name: tuple(roles) for name, roles in said.items()}


def beside(log: SqliteLog, episode: str) -> dict[str, list[str]]:
    """Other episodes of the same problem, and the forks and probes that were taken from this one."""
    found: dict[str, list[str]] = {"others": [], "probes": []}
    try:
        domain, problem, _ = episode_parts(episode)
    except ValueError:
        return found
    first = f"p/{domain}/{quote(problem, safe='')}/"
    found["others"] = [row[0] for row in log.db.execute(OTHERS, (first, first[:-1] + "0", episode))]
    taken = f"q/{episode}/"
    found["probes"] = [row[0] for row in log.db.execute(PROBES, (taken, taken[:-1] + "0"))]
    return found


def page(log: SqliteLog, state: State, sheet: Sheet) -> dict[str, Any]:
    """What an episode's page shows."""
    found = rows(sheet.numbered)
    about, roots = tree(sheet, found)
    opened = sheet.opened
    return {
        "sheet": sheet,
        "steps": timeline(found),
        "strip": STRIP,
        "tree_about": about,
        "tree": roots,
        "guides": guides(sheet, found, state),
        "call_limit": opened.limits.calls if opened is not None else None,
        "token_limit": opened.limits.tokens if opened is not None else None,
        "calibrated": getattr(sheet.closed, "calibrated", None),
        "known": state.outcomes.of,
        "unread": words(sheet.judged),
        **beside(log, sheet.episode),
    }
