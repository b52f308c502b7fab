"""Parts of a snapshot as small JSON bodies, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from operator import attrgetter
from typing import Any, cast

import orjson

from schemas.events.codec import decode
from schemas.events.learning import BatchClosed, Reflected
from schemas.memory import Memory, MemoryItem
from state.folds.costs import Column, Spent
from state.folds.lives import Life, LifeKey, name_of
from state.folds.memory import Learned, MemoryFold
from state.folds.state import State, number_of, scope_of

SEPARATOR = "\x1f"

_ITEM = attrgetter(
    *("id", "kind", "role", "text", "text_digest", "batch", "subject", "evidence", "polarity"),
    "vector",
)
_LIFE = attrgetter("since", "off", "until", "embedder", "withdrawn", "uses", "right", "wrong")


def life_body(life: Life) -> bytes:
    """What became of a memory item."""
    return orjson.dumps(_LIFE(life))


def item_body(life: Life) -> bytes:
    """The memory item itself, which does not change."""
    return orjson.dumps(_ITEM(life.item))


def load_life(key: str, body: bytes, item: Callable[[str], bytes]) -> tuple[LifeKey, Life]:
    """The life that a body holds, by its key; ``item`` finds the item's body when it is needed."""
    scope, _, name = key.partition(SEPARATOR)
    since, off, until, embedder, withdrawn, uses, right, wrong = orjson.loads(body)

    def held() -> MemoryItem:
        return load_item(item(key))

    return (scope, name), Life(
        scope, held, since, off, until, embedder, withdrawn, uses, right, wrong
    )


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
    return orjson.dumps([digest, items, dict(memory.learned)])


def uses_body(state: State, episode: str) -> bytes:
    """The items that an episode had in its prompts, by name."""
    lives = state.lives.used_in(episode)
    return orjson.dumps([lives[0].scope, [name_of(life.item) for life in lives]])


def load_uses(state: State, episode: str, body: bytes) -> None:
    """Put an episode's uses back; they are parsed when they are needed."""

    def parsed() -> tuple[Life, ...]:
        scope, names = orjson.loads(body)
        return tuple(state.lives.known[scope, name] for name in names)

    state.lives.uses[episode] = parsed


def batch_body(fold: MemoryFold, episode: str) -> bytes | None:
    """What a learning episode has said so far, its batch's closing first; none once it is over."""
    learned = fold.learning.get(episode)
    closed = fold.batches.get(number_of(episode))
    if learned is None and closed is None:
        return None
    known = learned or Learned()
    said = [*known.lessons, *known.rules.values(), *known.said]
    events = [
        [event.kind, event.to_json().decode()]
        for event in (said if closed is None else [closed, *said])
    ]
    return orjson.dumps([events, known.vectors, known.embedder, learned is not None])


def load_batch(state: State, episode: str, body: bytes) -> None:
    """Put an unfinished learning episode back."""
    events, vectors, embedder, begun = orjson.loads(body)
    fold = state.memory(scope_of(episode))
    learned = Learned(vectors=vectors, embedder=embedder)
    for kind, said in events:
        event = decode(kind, said)
        if isinstance(event, BatchClosed):
            fold.batches[event.batch] = event
        else:
            learned.feed(event)
    if begun:
        fold.learning[episode] = learned


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
