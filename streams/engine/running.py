"""Set episodes on every runtime: opened together, worked on as one, closed in one commit."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Protocol

from handlers.policies.base import Policy
from schemas.asking import ReplayError
from schemas.events.base import Event
from schemas.events.episode import EpisodeOpened, ProblemAdmitted
from schemas.memory import Memory
from schemas.settings import BadSetting
from state.journal import Recorder, TooLarge
from streams.core.backbone import Stuck
from streams.core.closing import Closing
from streams.core.drive import World
from streams.core.grants import Grant
from streams.engine.sets import SetWork, closings, conclude_set, ending, prepare_set


class Desk(Protocol):
    """Where a set is worked on: the records of the partition that it lies on, and how episodes end there."""

    @property
    def writer(self) -> Recorder:
        """Where its records go."""
        ...

    @property
    def world(self) -> World:
        """The world that questions go to."""
        ...

    @property
    def backbones(self) -> str:
        """Which backbones answer, in words."""
        ...

    @property
    def grant(self) -> Grant:
        """The limits of a set."""
        ...

    @property
    def room(self) -> int | None:
        """The most bytes of anything that a member leaves when it ends, if that is limited."""
        ...

    def journal(self, episode: str) -> dict[str, Event]:
        """The record of an episode."""
        ...

    def policy(self, admitted: ProblemAdmitted) -> Policy[Any]:
        """The policy that a problem asks for. Raises ``LookupError``."""
        ...

    def memories(self, scope: str) -> Mapping[int, Memory]:
        """The memory versions of a scope."""
        ...

    async def alone(self, episode: str) -> None:
        """Work on an episode by itself."""
        ...

    async def park(self, episode: str, error: Exception, journal: dict[str, Event]) -> None:
        """Leave an episode to a person, with the reason."""
        ...

    async def close(self, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        """Record the ends of episodes in one commit."""
        ...


async def work_on_set(desk: Desk, episode: str, members: Sequence[str]) -> None:
    """Work on a set to its end, from wherever its record stands.

    A member that was opened by itself, before sets were known, is also finished by itself.
    """
    journals: dict[str, dict[str, Event]] = {}
    for member in members:
        journal = desk.journal(member)
        if opened_alone(journal):
            await desk.alone(member)
        else:
            journals[member] = journal
    if journals:
        await _work(desk, episode, journals)


def opened_alone(journal: Mapping[str, Event]) -> bool:
    """Whether an episode was opened, and in no set."""
    opened = journal.get("opened")
    return isinstance(opened, EpisodeOpened) and opened.within is None


async def _work(desk: Desk, name: str, open_now: dict[str, dict[str, Event]]) -> None:
    episode = within_of(open_now.values()) or name
    try:
        work, begun = _prepared(desk, episode, open_now)
        _open(desk, work, begun)
        conclusions = await conclude_set(work, work.run(desk.writer, desk.world))
    except (ReplayError, LookupError, BadSetting, Stuck, TooLarge) as error:
        for member, journal in open_now.items():
            await desk.park(member, error, journal)
        return
    ends = zip(work.members, closings(work, conclusions, desk.room), strict=True)
    mine = [(member.episode, end) for member, end in ends if member.episode in open_now]
    # Before the members: once they are closed nobody comes back to the set.
    desk.writer.state("events", work.episode, "closed", ending())
    await desk.close(mine, fresh=not begun)


def within_of(journals: Iterable[Mapping[str, Event]]) -> str | None:
    """The set that members were opened in, if any was."""
    began = (journal.get("opened") for journal in journals)
    return next((e.within for e in began if isinstance(e, EpisodeOpened) and e.within), None)


def _prepared(
    desk: Desk, episode: str, open_now: Mapping[str, dict[str, Event]]
) -> tuple[SetWork, set[str]]:
    """The set with all its members, those too that a crash left closed; and which were opened before."""
    journal = desk.journal(episode)
    opened = journal.get("opened")
    pinned = opened.members if isinstance(opened, EpisodeOpened) and opened.members else open_now
    members = [(name, open_now.get(name) or desk.journal(name)) for name in pinned]
    admitted = members[0][1]["admitted"]
    assert isinstance(admitted, ProblemAdmitted)
    policy, versions = desk.policy(admitted), desk.memories(admitted.scope)
    work = prepare_set(episode, journal, members, policy, versions, desk.backbones, desk.grant)
    return work, {name for name, record in [(episode, journal), *members] if "opened" in record}


def _open(desk: Desk, work: SetWork, begun: Container[str]) -> None:
    """The set and each of its members, opened together; those that a crash left out are opened now."""
    if work.episode not in begun:
        desk.writer.keep(work.opened.settings, work.first.settings_text)
        desk.writer.state("events", work.episode, "opened", work.opened)
    for each in work.members:
        if each.episode not in begun:
            desk.writer.keep(each.opened.settings, each.settings_text)
            desk.writer.state("events", each.episode, "opened", each.opened)
