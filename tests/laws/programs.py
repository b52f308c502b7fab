"""Random policies: a program is data, and ``policy`` is the generator that it stands for.

Every question and fact hangs on all replies before it (by the digest ``seen``), so a reply that
changed or came to the wrong lane shows in whatever follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from hypothesis import strategies as st

from schemas.asking import All, OutOfLimit, Steps, Stopped
from schemas.events.reasoning import Voted
from schemas.identity import digest
from schemas.prompt import Section, Template
from schemas.questions import Complete, Embed, Recall, Remain, Sampling
from schemas.reply import Field, Reply

TEMPLATE = Template(
    "thinker",
    "Think.",
    (Section("Seen", "seen"),),
    Reply((Field("Thought", "text", "one thought"),)),
)


class Defect(Exception):
    """What a policy with a defect raises."""


@dataclass(frozen=True)
class Say:
    role: str
    draw: int = 0
    cap: int | None = None


@dataclass(frozen=True)
class Look:
    top: int


@dataclass(frozen=True)
class Vectors:
    count: int


@dataclass(frozen=True)
class State:
    votes: int


@dataclass(frozen=True)
class Peek:
    pass


@dataclass(frozen=True)
class Break:
    name: str


@dataclass(frozen=True)
class Fan:
    lanes: tuple[Program, ...]
    allow: tuple[int, ...] | None = None


@dataclass(frozen=True)
class If:
    even: Program
    odd: Program


@dataclass(frozen=True)
class Try:
    body: Program


Step: TypeAlias = Say | Look | Vectors | State | Peek | Break | Fan | If | Try
Program: TypeAlias = tuple[Step, ...]


def policy(program: Program, seen: str = "") -> Steps[str]:
    """The policy that a program stands for; its result is the digest of all that it saw."""
    for step in program:
        seen = digest([seen, (yield from _step(step, seen))])
    return seen


def _step(step: Step, seen: str) -> Steps[Any]:
    match step:
        case Say(role, draw, cap):
            sampling = Sampling(max_tokens=cap)
            reply = yield from Complete(role, TEMPLATE, (("seen", seen),), sampling, draw)
            return [reply.address, reply.text, reply.tokens]
        case Look(top):
            recollection = yield from Recall(seen, ("thinker",), top)
            return [[item.id, item.similarity] for item in recollection.items]
        case Vectors(count):
            return (yield from Embed(tuple(f"{seen}{n}" for n in range(count))))
        case State(votes):
            yield Voted(answer=seen, votes=votes, of=votes + 1)
            return None
        case Peek():
            left = yield from Remain()
            return [left.calls, left.tokens, left.cost]
        case Break(name):
            raise Defect(name)
        case Fan(lanes, allow):
            branches = (policy(lane, f"{seen}/{n}") for n, lane in enumerate(lanes))
            results = yield from All(branches, allow)
            return [each.which if isinstance(each, Stopped) else each for each in results]
        case If(even, odd):
            return (yield from policy(odd if int(digest(seen), 16) % 2 else even, seen))
        case Try(body):
            try:
                return (yield from policy(body, seen))
            except OutOfLimit as limit:
                yield Voted(answer=limit.which, votes=0, of=1)
                return limit.which


def _leaves(defects: bool) -> st.SearchStrategy[Step]:
    caps = st.sampled_from([None, None, 1, 40])
    leaves: list[st.SearchStrategy[Step]] = [
        st.builds(Say, st.sampled_from(["thinker", "judge"]), st.integers(0, 2), caps),
        st.builds(Say, st.just("thinker")),
        st.builds(State, st.integers(0, 3)),
        st.builds(Look, st.integers(0, 3)),
        st.builds(Vectors, st.integers(0, 2)),
        st.builds(Peek),
    ]
    return st.one_of(*leaves, *([st.builds(Break, st.sampled_from("xyz"))] if defects else []))


@lru_cache
def programs(
    *, defects: bool = False, depth: int = 2, least: int = 1
) -> st.SearchStrategy[Program]:
    """Programs with forks in forks down to a depth; with ``defects`` some raise."""
    leaf = _leaves(defects)
    if depth == 0:
        return st.lists(leaf, max_size=3).map(tuple)
    inner = programs(defects=defects, depth=depth - 1)
    step = leaf | _fans(inner) | _fans(inner) | st.builds(If, inner, inner) | st.builds(Try, inner)
    return st.lists(step, min_size=least, max_size=4).map(tuple)


def _fans(inner: st.SearchStrategy[Program]) -> st.SearchStrategy[Step]:
    """Forks of some lanes, with or without allowances."""

    def fan(lanes: list[Program]) -> st.SearchStrategy[Fan]:
        allow = st.lists(st.integers(-1, 6), min_size=len(lanes), max_size=len(lanes))
        return st.builds(Fan, st.just(tuple(lanes)), st.none() | allow.map(tuple))

    return st.lists(inner, max_size=4).flatmap(fan)


PROGRAMS = programs(least=2)
ORDERS = st.lists(st.integers(0, 1 << 12), min_size=1, max_size=12)
"""Orders in which what waits is answered."""
CALLS = st.none() | st.integers(1, 8)
"""Limits of calls, or none."""
