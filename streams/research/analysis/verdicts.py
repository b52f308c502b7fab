"""Verdicts of a judge on answers that no grader could decide. Each is a side run; recorded ones are read.

A verdict is about one answer and one set of references; where a newer reference came, it counts no more.
It is no outcome: it has columns of its own, and no policy and no learner sees it. Only a person makes outcomes of
verdicts, by ``regrade --judge``: then grades name the judge, its model and the side run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import orjson
from msgspec import structs

from handlers.answers.grade import CODE, References, aliases_of
from handlers.policies.answer_judge import JUDGED
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened
from schemas.identity import address_order, is_numbered
from schemas.problem import Limits
from streams.engine.policies import find
from streams.replay.change import Change
from streams.replay.fork import Forked, forked_work, run_fork
from streams.runtime.embedded.records import learned

if TYPE_CHECKING:
    from streams.answering.world import World
    from streams.research.analysis.cases import Case
    from streams.runtime.embedded.log import SqliteLog

Said: TypeAlias = Literal["right", "wrong", "unclear"]
PURPOSE = "judge"
LIMITS = Limits(calls=2)
"""What a side run may spend, whatever its episode might."""
MOST_CHARS = 20_000
"""Of an answer and its references together: no longer ones are put to a judge."""
AT_ONCE = 8
_SAID: Mapping[str, Said] = {"right": "right", "wrong": "wrong"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's verdict on an answer: who the judge was, which model, and the side run in which it was asked."""

    said: Said
    grader: str
    model: str
    run: str

    @property
    def by(self) -> str:
        """The judge and its model."""
        return f"{self.grader}, {self.model}"


# ── Asking ───────────────────────────────────────────────────────────────────────────────────


def undecided(cases: Iterable[Case]) -> list[Case]:
    """Those that a judge can be asked about: an answer, a reference, and no grader who could tell."""
    found: list[Case] = []
    for case in cases:
        answer, reference = case.closed.answer, case.reference
        if case.standing != "undecided" or answer is None or reference is None:
            continue
        # A member of a set has no record of its own to fork, and references of code are tests.
        if case.opened.within is not None or CODE in (case.problem.dataset, case.problem.domain):
            continue
        if len(answer) + sum(map(len, aliases_of(reference))) <= MOST_CHARS:
            found.append(case)
    return found


async def judge(
    log: SqliteLog, cases: Iterable[Case], world: World, told: Callable[[str], None]
) -> list[Forked]:
    """A side run for each of these; those on the log already cost nothing."""
    room, learner = asyncio.Semaphore(AT_ONCE), learned(log, find)

    async def one(case: Case) -> Forked:
        assert case.reference is not None
        settings = {"answer": case.closed.answer, "references": list(aliases_of(case.reference))}
        async with room:
            # From the very first address on: a judge sees
            # the answer, and nothing of how it came about.
            first = min(filter(is_numbered, log.journal(case.episode)), key=address_order)
            change = Change(
                at=first, settings=settings, policy=JUDGED.name, limits=LIMITS, purpose=PURPOSE
            )
            work, record = forked_work(log, find, case.episode, change, world, learner)
            # The judge's own limit, and no prices: the episode's would reserve what it may cost.
            opened = structs.replace(work.opened, limits=LIMITS, prices=None)
            return await run_fork(log, replace(work, opened=opened), change, record, world, told)

    return list(await asyncio.gather(*map(one, cases)))


# ── Reading ──────────────────────────────────────────────────────────────────────────────────


def verdicts(
    journals: Mapping[str, Mapping[str, Event]],
    text: Callable[[str], str | None],
    reference_of: Callable[[str], References | None],
) -> dict[str, Verdict]:
    """By episode, the newest verdict about its answer and its present reference. ``text`` gives settings."""
    found: dict[str, Verdict] = {}
    for run, journal in journals.items():
        opened, closed = journal.get("opened"), journal.get("closed")
        if not (isinstance(opened, EpisodeOpened) and isinstance(closed, EpisodeClosed)):
            continue
        if opened.purpose != PURPOSE or opened.policy != JUDGED.name or opened.parent is None:
            continue
        # The settings of the side run say what was put to the judge. Where a newer reference came
        # since, or the answer is another one, its verdict is about something else.
        judged = journals.get(opened.parent, {}).get("closed")
        put = orjson.loads(text(opened.settings) or "{}")
        reference = reference_of(opened.parent)
        if not isinstance(judged, EpisodeClosed) or reference is None:
            continue
        if (put.get("answer"), put.get("references")) == (judged.answer, [*aliases_of(reference)]):
            judge, said = f"{JUDGED.name}@{opened.policy_version}", closed.answer or ""
            # Journals come in the order of the log, so the newest verdict is the one that stays.
            found[opened.parent] = Verdict(_SAID.get(said, "unclear"), judge, opened.backbones, run)
    return found
