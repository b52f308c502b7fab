"""Set episodes: the members of a window worked on together under one shared limit, an answer each.

The set's own record holds what was asked and stated; each member has its opening and its closing, and of
the set's record the part that is about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from msgspec import structs

from handlers.limits import Ledger
from handlers.policies.base import Conclusion, Policy, Together, Trace
from schemas.asking import OutOfLimit, Steps
from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.identity import is_numbered, seed_of
from schemas.memory import Memory
from schemas.problem import Limits
from schemas.usage import NOTHING
from state.journal import Recorder
from streams.core.closing import Closing, trace_of
from streams.core.defects import describe
from streams.core.drive import Run, World, drive, replayed
from streams.core.grants import NOBODY, Terms
from streams.core.seeds import is_chosen
from streams.core.unkept import refused_by
from streams.engine.episode import (
    NOT_AN_OUTCOME,
    Work,
    concluded,
    defect_of,
    prepare,
    with_chance,
)

Record = Mapping[str, Event]


@dataclass(frozen=True, slots=True)
class SetWork:
    """A set episode: its members in order, its opening, and its numbered record."""

    episode: str
    members: tuple[Work, ...]
    opened: EpisodeOpened
    journal: dict[str, Event]

    @property
    def first(self) -> Work:
        """The member whose policy, settings and memory are those of the set."""
        return self.members[0]

    @property
    def together(self) -> Together[Any]:
        """How its policy works on sets."""
        found = self.first.policy.together
        if found is None:
            raise LookupError(f"{self.first.policy.reference} takes no sets")
        return found

    def steps(self) -> Steps[tuple[Conclusion, ...]]:
        """The policy at work on all members."""
        tasks = [(member.task, member.opened.limits.calls) for member in self.members]
        return self.together.solve(tasks, self.first.settings)

    def ledger(self) -> Ledger:
        """The one limit that all share."""
        return Ledger.of(self.opened.limits, self.opened.prices)

    def run(self, recorder: Recorder | None, world: World | None) -> Run:
        """The run of this set; closed without a world."""
        seed, memory = self.opened.seed, self.first.memory
        # The closing of each member names what the log refused to the set: any of them tells it.
        unkept = next((each.unkept for each in self.members if each.unkept is not None), None)
        return Run(
            *(self.episode, self.journal, seed, memory, "events", recorder, world),
            seeded=any(is_chosen(each.admitted.problem, each.opened) for each in self.members),
            in_text=any(each.admitted.problem.profile == "paper" for each in self.members),
            refused=refused_by(unkept),
            backbone=self.first.settings.backbone,
        )


def prepare_set(
    episode: str,
    journal: Record,
    members: Sequence[tuple[str, Record]],
    policy: Policy[Any],
    memories: Mapping[int, Memory],
    terms: Terms = NOBODY,
) -> SetWork:
    """Work on a set, fresh or from its record. Raises ``PolicyChanged`` where neither is possible."""
    works: list[Work] = []
    for name, record in members:
        admitted = record["admitted"]
        assert isinstance(admitted, ProblemAdmitted)
        work = prepare(name, admitted, record, policy, memories, terms)
        # Marked also where it is opened already: a reader of its record must be led to the set's.
        works.append(replace(work, opened=structs.replace(work.opened, within=episode)))
    opened = journal.get("opened")
    if not isinstance(opened, EpisodeOpened):
        opened = opening_of(episode, works)
    numbered = {address: event for address, event in journal.items() if is_numbered(address)}
    return SetWork(episode, tuple(works), opened, numbered)


def opening_of(episode: str, members: Sequence[Work]) -> EpisodeOpened:
    """The event that opens a set: as its first member's, with the limits of all."""
    first = members[0].opened
    return structs.replace(
        first,
        limits=shared(member.opened.limits for member in members),
        seed=seed_of(first.seed, episode),
        members=tuple(member.episode for member in members),
        within=None,
    )


def shared(limits: Iterable[Limits]) -> Limits:
    """The one limit of a set: the sum of its members', and their longest time, as they work side by side.

    Unlimited where one of them is; then each member keeps to its own calls all the same.
    """
    # The sum is what its members would have had apart, so that policies can be compared
    # at the same limit.
    every = list(limits)

    def joined(values: Sequence[Any], join: Any) -> Any:
        return None if None in values else join(values)

    return Limits(
        calls=joined([each.calls for each in every], sum),
        tokens=joined([each.tokens for each in every], sum),
        cost=joined([each.cost for each in every], sum),
        seconds=joined([each.seconds for each in every], max),
    )


def ending() -> EpisodeClosed:
    """The event that closes a set: its answers and what it spent stand with its members."""
    return EpisodeClosed(status="answered", ended_by="members", usage=NOTHING)


async def conclude_set(work: SetWork, run: Run) -> tuple[Conclusion, ...]:
    """Drive the policy to its end; a conclusion for each member. A defect of the policy is all their outcome."""
    members = len(work.members)

    def checked(found: object) -> tuple[Conclusion, ...]:
        if not isinstance(found, tuple | list) or len(cast("Sequence[Any]", found)) != members:
            raise TypeError(f"a set ends with a Conclusion for each of its {members} members")
        pairs = zip(work.members, cast("Sequence[Any]", found), strict=True)
        return tuple(with_chance(member, concluded(made)) for member, made in pairs)

    def again(alone: Run) -> object:
        return checked(replayed(drive(work.steps(), alone, work.ledger())))

    try:
        # Inside the ``try``: a policy that returns something else has a defect like any other.
        return checked(await drive(work.steps(), run, work.ledger()))
    except OutOfLimit as limit:
        shared_end = Conclusion(answer=None, ended_by="limit", limit=limit.which)
    except NOT_AN_OUTCOME:
        raise
    except Exception as error:
        defect = defect_of(error, run, work.run(None, None), again)
        shared_end = Conclusion(answer=None, ended_by=f"error: {describe(defect)}")
    return (shared_end,) * members


def closings(
    work: SetWork, conclusions: Sequence[Conclusion], room: int | None = None
) -> list[Closing]:
    """Return what each member's end leaves: a pure function of its part of the set's record.

    ``room`` is what its log takes, while it is not closed yet.
    """
    trace = trace_of(work.journal)
    ends: list[Closing] = []
    for member, conclusion in zip(work.members, conclusions, strict=True):
        own = work.together.part(trace, member.task.subject)
        alone = replace(member, journal=dict(own.events))
        ends.append(alone.closing(conclusion, seconds_of(own), room=room))
    return ends


def with_part(own: dict[str, Event], of_set: Record, policy: Policy[Any]) -> dict[str, Event]:
    """A member's record with its part of its set's."""
    admitted, together = own.get("admitted"), policy.together
    if not isinstance(admitted, ProblemAdmitted) or together is None:
        return own
    subject = f"{admitted.problem.domain}/{admitted.problem.id}"
    return {**dict(together.part(trace_of(dict(of_set)), subject).events), **own}


def seconds_of(own: Trace) -> float:
    """A member's time: its calls come one after another."""
    calls = (event.seconds or 0.0 for _, event in own.events if isinstance(event, Completed))
    return round(sum(calls), 6)
