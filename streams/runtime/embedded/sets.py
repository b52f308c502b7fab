"""Set episodes on an embedded log: opened together, worked on as one, closed in one commit."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

from schemas.asking import ReplayError
from schemas.events.base import Event
from schemas.events.episode import EpisodeOpened, ProblemAdmitted
from streams.backbones.port import Stuck
from streams.sets import SetWork, closings, conclude_set, ending, prepare_set

if TYPE_CHECKING:
    from streams.runtime.embedded.worker import Worker


async def work_on_set(worker: Worker, name: str, episodes: Sequence[str]) -> None:
    """Work on a set to its end, from wherever its record stands.

    A member that was opened by itself, before sets were known, is also finished by itself.
    """
    journals: dict[str, dict[str, Event]] = {}
    for episode in episodes:
        journal = worker.log.journal(episode)
        if opened_alone(journal):
            await worker.work(episode)
        else:
            journals[episode] = journal
            worker.fresh.pop(episode, None)
    if journals:
        await _work(worker, name, journals)
    worker.schedule.leave(name)


def opened_alone(journal: Mapping[str, Event]) -> bool:
    """Whether an episode was opened, and in no set."""
    opened = journal.get("opened")
    return isinstance(opened, EpisodeOpened) and opened.within is None


async def _work(worker: Worker, name: str, open_now: dict[str, dict[str, Event]]) -> None:
    began = (record.get("opened") for record in open_now.values())
    known = next((e.within for e in began if isinstance(e, EpisodeOpened) and e.within), None)
    episode = known or name
    try:
        work, begun = _prepared(worker, episode, open_now)
        _open(worker, work, begun)
        conclusions = await conclude_set(work, work.run(worker.writer, worker.world))
    except (ReplayError, LookupError, Stuck) as error:
        for member, journal in open_now.items():
            await worker.park(member, error, journal)
        return
    ends = zip(work.members, closings(work, conclusions), strict=True)
    mine = [(member.episode, end) for member, end in ends if member.episode in open_now]
    # Before the members: once they are closed nobody comes back to the set.
    worker.writer.state("events", work.episode, "closed", ending())
    await worker.close(mine, fresh=not begun)


def _prepared(
    worker: Worker, episode: str, open_now: Mapping[str, dict[str, Event]]
) -> tuple[SetWork, set[str]]:
    """The set with all its members, those too that a crash left closed; and which were opened before."""
    journal = worker.log.journal(episode)
    opened = journal.get("opened")
    pinned = opened.members if isinstance(opened, EpisodeOpened) and opened.members else open_now
    members = [(name, open_now.get(name) or worker.log.journal(name)) for name in pinned]
    admitted = members[0][1]["admitted"]
    assert isinstance(admitted, ProblemAdmitted)
    policy = worker.find(admitted.problem.policy or worker.intake.default_policy)
    versions, world = worker.learner.scopes[admitted.scope].memory.versions, worker.world
    work = prepare_set(episode, journal, members, policy, versions, world.description, world.grant)
    return work, {name for name, record in [(episode, journal), *members] if "opened" in record}


def _open(worker: Worker, work: SetWork, begun: Container[str]) -> None:
    """The set and each of its members, opened together; those that a crash left out are opened now."""
    if work.episode not in begun:
        worker.writer.keep(work.opened.settings, work.first.settings_text)
        worker.writer.state("events", work.episode, "opened", work.opened)
    for each in work.members:
        if each.episode not in begun:
            worker.writer.keep(each.opened.settings, each.settings_text)
            worker.writer.state("events", each.episode, "opened", each.opened)
