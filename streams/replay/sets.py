"""A set episode derived again from its record, in a closed world: its members' ends, and what was met."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from handlers.policies.base import Trace
from schemas.asking import Exhausted
from schemas.events.base import Event
from schemas.events.episode import EpisodeOpened, ProblemAdmitted
from schemas.memory import Memory
from streams.core.closing import Closing, trace_of
from streams.core.drive import Run, replayed
from streams.engine.episode import Work
from streams.engine.policies import Find, find_recorded
from streams.engine.sets import SetWork, closings, conclude_set, ending, opening_of, prepare_set
from streams.runtime.embedded.log import SqliteLog

Record: TypeAlias = dict[str, Event]


@dataclass(frozen=True, slots=True)
class Derived:
    """Everything that follows from a set's record. A member that is not closed yet has no end."""

    own: list[tuple[str, Event | None, Event]]
    """The set's own named records: address, what is recorded, what follows."""
    run: Run
    members: list[tuple[Work, Record, Closing | None]]
    work: SetWork

    def part(self, member: Work) -> Trace:
        """Return the part of the set's record that is about one member."""
        return self.work.together.part(trace_of(self.run.journal), member.task.subject)


def recorded_set(
    log: SqliteLog, episode: str, find: Find, memories: Callable[[str], Mapping[int, Memory]]
) -> tuple[SetWork, list[Record]]:
    """A set's work as it stands on record, and its members' own records."""
    journal = log.journal(episode)
    opened = journal["opened"]
    assert isinstance(opened, EpisodeOpened)
    records = [(name, log.journal(name)) for name in opened.members or ()]
    # Members of a set share their scope, so that the first speaks for all.
    admitted = records[0][1]["admitted"]
    assert isinstance(admitted, ProblemAdmitted)
    held = memories(admitted.scope)
    # By the version on record, and not by what is installed: otherwise an edited prompt would be
    # blamed on the log.
    policy = find_recorded(find, opened.policy, opened.policy_version)
    work = prepare_set(episode, journal, records, policy, held)
    return work, [record for _, record in records]


def derive_set(
    log: SqliteLog, episode: str, find: Find, memories: Callable[[str], Mapping[int, Memory]]
) -> Derived:
    """Run a set's policy over its record. ``memories`` are those of a scope by its name."""
    work, records = recorded_set(log, episode, find, memories)
    run = work.run(None, None)
    closed = ["closed" in record for record in records]
    # A member may be closed while others are still worked on: each has its end or none.
    ends: list[Closing | None] = [None] * len(records)
    try:
        ends = [*closings(work, replayed(conclude_set(work, run)))]
    except Exhausted:
        if any(closed):
            raise
    told = zip(work.members, records, ends, closed, strict=True)
    members = [(member, record, end if done else None) for member, record, end, done in told]
    own: list[tuple[str, Event | None, Event]] = [
        ("opened", log.find(episode, "opened"), opening_of(episode, work.members))
    ]
    if any(closed):
        own.append(("closed", log.find(episode, "closed"), ending()))
    return Derived(own, run, members, work)
