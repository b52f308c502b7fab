"""Parts of a snapshot as small JSON bodies, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import astuple
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any, cast

import orjson

from schemas.events.codec import decode
from schemas.events.learning import BatchClosed, KnowledgeRevised, Reflected
from schemas.identity import learning_id
from schemas.memory import Label, Labels, Memory, MemoryItem
from schemas.problem import Limits
from state.folds.costs import Column, Spent
from state.folds.forgetting import Forgetting
from state.folds.grades import Known, Word
from state.folds.labelling import Stated
from state.folds.learned import Learned
from state.folds.lives import ItemKey, ItemUsage, name_of
from state.folds.memory import MemoryFold
from state.folds.outcomes import OutcomesFold
from state.folds.state import State, number_of, scope_of
from state.folds.windows import Head, ScopeWindow, Series, Windows

# A sign that stands in no scope and no name, so that the two can be parted again.
SEPARATOR = "\x1f"

_ITEM = attrgetter(
    *("id", "kind", "role", "text", "text_digest", "batch", "subject", "evidence", "polarity"),
    "vector",
)
_LIFE = attrgetter(
    *("since", "off", "until", "embedder", "withdrawn", "uses", "right", "wrong", "retired")
)


def life_body(life: ItemUsage) -> bytes:
    """Return the uses of a memory item as they are saved."""
    return orjson.dumps(_LIFE(life))


def item_body(life: ItemUsage) -> bytes:
    """The memory item itself, which seldom changes."""
    return orjson.dumps(_ITEM(life.item))


def load_life(key: str, body: bytes, item: Callable[[str], bytes]) -> tuple[ItemKey, ItemUsage]:
    """The life that a body holds, by its key; ``item`` finds the item's body when it is needed."""
    scope, _, name = key.partition(SEPARATOR)
    since, off, until, embedder, *counts = orjson.loads(body)

    def held() -> MemoryItem:
        return load_item(item(key))

    life = ItemUsage(scope, held, since, off, until, embedder, *counts)
    # Set here and nowhere else: an item that was read from the file need not be written to it.
    life.kept = True
    return (scope, name), life


def load_item(body: bytes) -> MemoryItem:
    """The memory item that a body holds."""
    name, kind, role, text, digest, batch, subject, evidence, polarity, vector = orjson.loads(body)
    return MemoryItem(
        id=name,
        kind=kind,
        role=role,
        text=text,
        text_digest=digest,
        batch=batch,
        subject=subject,
        evidence=tuple(evidence),
        polarity=polarity,
        vector=vector,
    )


def version_body(memory: Memory, digest: str) -> bytes:
    """A memory version by the names of its items, each with the batch that it was last written in."""
    items = [[name_of(item), item.batch] for item in memory.items]
    aside = [[place, [name_of(item), item.batch]] for place, item in memory.aside]
    labels = None if memory.labels is None else memory.labels.digest
    # Order counts: bodies are lists without names, because names would be half of a large
    # snapshot.
    measures = [dict(memory.learned), aside, dict(memory.standing), labels, memory.embedder]
    return orjson.dumps([digest, items, *measures])


def version_digest(body: bytes) -> str:
    """The digest of a version's state, of its body, which begins with it."""
    return body[2 : body.index(b'"', 2)].decode()


def outcome_body(outcomes: OutcomesFold, episode: str) -> bytes | None:
    """The newest grades of an episode's answer, and where the last of them stands; none if there is none."""
    known = outcomes.known.get(episode)
    if known is None:
        return None
    return orjson.dumps([outcomes.offset(episode), *(word and [*word] for word in known)])


def load_outcome(outcomes: OutcomesFold, episode: str, body: bytes) -> None:
    """Put an answer's grades back."""
    # A worker starts with those of every answer there ever was, and most of them are one of a few: only
    # where they stand is parsed for each.
    offset, _, words = body.removeprefix(b"[").partition(b",")
    outcomes.known[episode] = _grades_of(words)
    outcomes.offsets[episode] = int(offset)


@lru_cache(maxsize=4096)
def _grades_of(words: bytes) -> Known:
    """The grades that a body holds behind their place."""
    return Known(*(word and Word(*word) for word in orjson.loads(b"[" + words)))


def uses_body(state: State, episode: str) -> bytes:
    """The items that an episode had in its prompts, by name."""
    lives = state.lives.used_in(episode)
    return orjson.dumps([lives[0].scope, [name_of(life.item) for life in lives]])


# The fields of ``Known`` are in the order of its declaration; a new one is a new format.


def load_uses(state: State, episode: str, body: bytes) -> None:
    """Put an episode's uses back; they are parsed when they are needed."""
    known = state.lives.known

    def parsed() -> tuple[ItemUsage, ...]:
        scope, names = orjson.loads(body)
        return tuple(known[scope, name] for name in names)

    state.lives.uses[episode] = parsed


def batch_body(fold: MemoryFold, episode: str) -> bytes | None:
    """Return what a learning episode has stated so far, its batch's closing first; none once it is over."""
    learned = fold.learning.get(episode)
    closed = fold.batches.get(number_of(episode))
    if closed is not None and learning_id(fold.scope, closed.batch, closed.revision) != episode:
        closed = None  # by now it is closed again, in a learning episode of its own
    if learned is None and closed is None:
        return None
    said = {} if closed is None else {"batch": closed}
    events = {**said, **(learned.said if learned is not None else {})}
    bodies = [[at, event.kind, event.to_json().decode()] for at, event in events.items()]
    return orjson.dumps([bodies, learned is not None])


def load_batch(state: State, episode: str, body: bytes) -> None:
    """Put an unfinished learning episode back."""
    events, begun = orjson.loads(body)
    fold, learned = state.memory(scope_of(episode)), Learned()
    for address, kind, said in events:
        event = decode(kind, said)
        if isinstance(event, BatchClosed):
            fold.batches[event.batch] = event
        else:
            learned.feed(address, event)
    if begun:
        fold.learning[episode] = learned


def labels_body(labels: Labels) -> bytes:
    """The labels that one version added."""
    before = None if labels.before is None else labels.before.digest
    return orjson.dumps(
        [labels.number, before, [tuple(label) for label in labels.new], labels.rule]
    )


class KeptLabels:
    """Labels by digest, parsed when a memory version is first put together."""

    def __init__(self, rows: Iterable[tuple[str, bytes]]) -> None:
        self.rows = list(rows)
        self.found: dict[str, Labels] = {}

    def get(self, digest: str | None) -> Labels | None:
        """The labels of this digest, on top of those before."""
        rows, self.rows = self.rows, []
        for key, body in rows:  # those before come first
            # Keys begin with scope and number, and so the labels that others build upon are made
            # first.
            number, before, new, rule = orjson.loads(body)
            said = tuple(Label(name, tuple(whose), at, right) for name, whose, at, right in new)
            name = key.rpartition(".")[2]
            self.found[name] = Labels(number, name, said, self.found.get(before), rule)
        return self.found.get(digest or "")


def stated_body(fold: MemoryFold, episode: str) -> bytes | None:
    """An episode's confidence, and how its label was counted."""
    known = fold.labelling.stated.get(episode)
    if known is None:
        return None
    return orjson.dumps([known.key, known.confidence, known.member, known.right])


def load_stated(state: State, rows: Iterable[tuple[str, bytes]]) -> None:
    """Put confidences back; those of a scope are parsed when it is first needed."""
    bodies: dict[str, list[tuple[str, bytes]]] = {}
    for key, body in rows:
        scope, _, episode = key.partition(SEPARATOR)
        bodies.setdefault(scope, []).append((episode, body))
    for scope, held in bodies.items():
        # Most scopes of a log are never asked for their confidences again.
        state.memory(scope).labelling.later.append(partial(_stated, held))


def _stated(bodies: list[tuple[str, bytes]], known: dict[str, Stated]) -> None:
    for episode, body in bodies:
        whose, *rest = orjson.loads(body)
        known[episode] = Stated(tuple(whose), *rest)


def scope_body(fold: MemoryFold) -> bytes:
    """Return what persons said that no version has taken in yet, and what is being forgotten."""
    words = {address: word.to_json().decode() for address, word in fold.words.items()}
    it = fold.forgetting
    limits = it.limits.model_dump(exclude_none=True)
    said = [words, it.subjects, it.owed, limits, sorted(it.withdrawn), sorted(it.stale)]
    rest = [sorted(fold.labelling.graded), fold.changing, sorted(it.regraded), sorted(it.overtaken)]
    return orjson.dumps([*said, *rest])


def load_scope(fold: MemoryFold, body: bytes) -> None:
    """Put that back."""
    kept = orjson.loads(body)
    words, subjects, owed, limits, withdrawn, stale = kept[:6]
    graded, changing, regraded, overtaken = kept[6:]
    fold.changing = changing
    fold.labelling.graded.update(graded)
    for address, said in words.items():
        word = decode("knowledge.revised", said)
        assert isinstance(word, KnowledgeRevised)
        fold.words[address] = word
    lost = set(withdrawn), set(stale), set(regraded), set(overtaken)
    fold.forgetting = Forgetting(subjects, owed, Limits(**limits), *lost)


# What was forgotten comes with the window: an episode of a forgotten problem may still end.
_WINDOW = attrgetter(*("closed", "versioned", "ticked", "forgotten"))


def window_body(windows: Windows, scope: str) -> bytes:
    """A scope's open window, and what it was first seen by. What is owed follows from the memory."""
    window, head = windows.open[scope], windows.heads[scope]
    series = [
        [s.id, s.size, s.window, sorted(s.filled.items()), sorted(s.voids), s.done, s.ahead]
        for s in window.series.values()
    ]
    awaited = [[episode, sorted(by)] for episode, by in window.awaited.items()]
    early = {name: sorted(places) for name, places in window.early.items()}
    waits = [list(window.stream), list(window.late), awaited, early, sorted(window.unordered)]
    return orjson.dumps([astuple(head), series, waits, _WINDOW(window)])


def load_window(windows: Windows, scope: str, body: bytes) -> None:
    """Put a scope's window back."""
    (
        head,
        series,
        (stream, late, awaited, early, unordered),
        (closed, versioned, ticked, forgotten),
    ) = orjson.loads(body)
    windows.heads[scope] = Head(*head)
    window = windows.open[scope] = ScopeWindow(1, windows.checked)
    for name, size, span, filled, voids, done, ahead in series:
        places = {int(place): str(episode) for place, episode in filled}
        window.series[name] = Series(name, size, span, places, set(voids), done, ahead)
    window.stream, window.late = dict.fromkeys(stream), dict.fromkeys(late)
    window.awaited = {episode: set(by) for episode, by in awaited}
    window.early = {name: set(places) for name, places in early.items()}
    window.unordered = set(unordered)
    window.closed, window.versioned, window.ticked = closed, versioned, ticked
    window.forgotten = tuple(forgotten)


def load_waiting(state: State, episode: str, body: bytes) -> None:
    """Put a reflection back that waits for its batch."""
    event = decode("reflected", body)
    assert isinstance(event, Reflected)
    state.memory(event.scope).reflected[episode] = event


def cost_body(spent: Spent) -> bytes:
    """One column of the ledger."""
    return orjson.dumps(astuple(spent))


def load_cost(state: State, column: str, body: bytes) -> None:
    """Put a column of the ledger back."""
    values: list[Any] = orjson.loads(body)
    state.costs.columns[cast("Column", column)] = Spent(*values)
