"""The runner: an episode, or a set of them, is worked on from wherever its record stands to its end.

Theory of operation. A runtime hands over an ``EpisodeStore``: where records lie, who answers, and what happens to an
episode that ends, waits or cannot go on. ``run_episode`` and ``run_set`` do the rest, the same on every log. They
gather what the policy's behaviour depends on, record the opening unless it is recorded, drive the policy, and
derive from the record what the end leaves. Three things can come of it:

- an end, and be it one that says the policy is broken: the store closes the episode, all in one commit;
- a wait, for a person or for a new day's budget: the episode stays open, and the store wakes it;
- an error that says nothing about the problem, such as a policy that is not installed: the store parks the episode
  for a person. What says that the worker itself cannot go on, such as a refused key, is raised.

Workers on SQLite and on Kafka and ``solve`` each bring a store. A fork has an end of its own, which no relay sees,
so it takes ``record_opening`` and ``conclude`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from msgspec import structs

from handlers.policies.base import Policy
from schemas.asking import ReplayError
from schemas.events.base import Event
from schemas.events.episode import EpisodeOpened, EpisodeParked, ProblemAdmitted
from schemas.memory import Memory
from schemas.settings import BadSetting
from state.journal import Recorder, TooLarge
from streams.core.backbone import Stuck
from streams.core.closing import Closing
from streams.core.drive import Run, Waiting, World
from streams.core.grants import Lacking, Terms
from streams.engine.episode import Work, conclude, prepare, settings_of
from streams.engine.judgements import Judgements
from streams.engine.schedule import Schedule
from streams.engine.sets import SetWork, closings, conclude_set, ending, prepare_set

# A broken set-up is not among these: a refused key concerns all episodes, and parking them one by
# one would leave a person a thousand of them to adopt once the key is mended.
UNABLE = (ReplayError, LookupError, BadSetting, Stuck, TooLarge)
"""What a person has to look at: nobody can go on with the episode as things are."""

W = TypeVar("W", bound=Recorder)


class EpisodeStore(Protocol):
    """The log as one episode's work sees it: where records go, who answers, and what becomes of ends."""

    @property
    def writer(self) -> Recorder:
        """Where records go."""
        ...

    @property
    def world(self) -> World:
        """The world that questions go to."""
        ...

    @property
    def terms(self) -> Callable[[str | None], Terms]:
        """Who answers here, limits and prices, by the backbone that a problem chose. Raises ``Lacking``."""
        ...

    @property
    def room(self) -> int | None:
        """The most bytes of anything that an episode leaves when it ends, if that is limited."""
        ...

    @property
    def purpose(self) -> str | None:
        """Why episodes are opened here, where it is not to work through a topic."""
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

    def wait(self, episode: str, run: Run | None, why: Waiting) -> None:
        """Let an episode wait, and see that it goes on."""
        ...

    async def park(self, episode: str, error: Exception, journal: dict[str, Event]) -> None:
        """Leave an episode to a person, with the reason."""
        ...

    def leave(self, episode: str) -> None:
        """Let go of an episode that somebody else has ended."""
        ...

    async def close(self, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        """Record the ends of episodes in one commit. ``fresh``: they were opened in this run."""
        ...


class SeatedStore(Generic[W]):
    """What the stores of all workers do alike: their episodes have seats in a schedule."""

    purpose: str | None = None

    def __init__(self, schedule: Schedule, writer: W, said: Judgements) -> None:
        self.schedule, self.writer, self.said = schedule, writer, said

    def memories(self, scope: str) -> Mapping[int, Memory]:
        """The memory versions of a scope."""
        return self.schedule.learner.known(scope).memory.versions

    def wait(self, episode: str, run: Run | None, why: Waiting) -> None:
        """Let an episode wait for a person or for its tenant's next day, unless somebody has answered meanwhile."""
        self.schedule.wait(episode, run, why, self.said)

    def leave(self, episode: str) -> None:
        """Let go of an episode that somebody else has ended."""
        self.schedule.leave(episode)

    async def park(self, episode: str, error: Exception, journal: dict[str, Event]) -> None:
        """Leave an episode to a person, with the reason."""
        # Nobody waits for a person in memory: a worker that is started again finds it parked.
        self.writer.state("events", episode, *parking(error, journal))
        await self.writer.commit()
        self.schedule.leave(episode)


async def run_episode(store: EpisodeStore, episode: str) -> None:
    """Work on an episode to its end, from wherever its record stands."""
    journal = store.journal(episode)
    if "closed" in journal:
        store.leave(episode)  # whoever solved it beside us had it first
        return
    admitted = journal["admitted"]
    assert isinstance(admitted, ProblemAdmitted)
    # Before anything is recorded: whoever counts what a worker did must tell what it began
    # from what it resumed.
    fresh = "opened" not in journal
    run: Run | None = None
    try:
        policy, memories = store.policy(admitted), store.memories(admitted.scope)
        try:
            terms = store.terms(settings_of(policy, admitted.problem).backbone)
            work = prepare(episode, admitted, journal, policy, memories, terms)
            run = work.run(store.writer, store.world)
            # Nobody waits for this record. It is committed with the first answer, before
            # which nothing is lost.
            if fresh:
                record_opening(store.writer, work, store.purpose)
            conclusion, seconds = await conclude(work, run)
        except Waiting as why:
            store.wait(episode, run, why)
            return
    except UNABLE as error:
        await store.park(episode, error, journal)
        return
    # Outside of the ``try``: nothing that goes wrong from here on may park an episode that
    # has its conclusion.
    end = work.closing(conclusion, seconds, run.tally, store.room)
    await store.close([(episode, end)], fresh)


def record_opening(writer: Recorder, work: Work, purpose: str | None = None) -> None:
    """Record that a policy begins, with everything that its behaviour depends on."""
    opened = work.opened if purpose is None else structs.replace(work.opened, purpose=purpose)
    writer.keep(opened.settings, work.settings_text)
    writer.state("events", work.episode, "opened", opened)


def parking(error: Exception, journal: Mapping[str, Event]) -> tuple[str, EpisodeParked]:
    """The record that leaves an episode to a person, and its address."""
    # An episode can be adopted and parked again. Each parking has its address, since the first
    # record of one wins.
    number = sum(address.startswith("parked.") for address in journal)
    reason = f"{type(error).__name__}: {error}"[:500]
    parked = EpisodeParked(reason=reason, address=getattr(error, "address", None))
    return f"parked.{number}", parked


async def run_set(store: EpisodeStore, episode: str, members: Sequence[str]) -> None:
    """Work on a set to its end, from wherever its record stands.

    A member that was opened by itself, before sets were known, is also finished by itself.
    """
    open_now: dict[str, dict[str, Event]] = {}
    begun_in: str | None = None
    for member in members:
        journal = store.journal(member)
        opened = journal.get("opened")
        if not isinstance(opened, EpisodeOpened):
            open_now[member] = journal
        elif opened.within is None:
            await run_episode(store, member)
        else:
            open_now[member] = journal
            begun_in = begun_in or opened.within
    if not open_now:
        return
    try:
        # Its name holds the domain where a series has several, which the worker that began it may
        # not have known. Its record lies under the name that it was begun with.
        work, fresh = _open_set(store, begun_in or episode, open_now)
        conclusions = await conclude_set(work, work.run(store.writer, store.world))
    except Lacking as why:
        store.wait(episode, None, why)
        return
    except UNABLE as error:
        # A set has no record that a person could look at, so each of its members tells him.
        for member, journal in open_now.items():
            await store.park(member, error, journal)
        return
    ends = zip(work.members, closings(work, conclusions, store.room), strict=True)
    mine = [(member.episode, end) for member, end in ends if member.episode in open_now]
    # Before the members: once they are closed nobody comes back to the set.
    store.writer.state("events", work.episode, "closed", ending())
    await store.close(mine, fresh)


def _open_set(
    store: EpisodeStore, episode: str, open_now: Mapping[str, dict[str, Event]]
) -> tuple[SetWork, bool]:
    """The set with all its members, opened where a crash left that out; and whether none of it was before."""
    journal = store.journal(episode)
    opened = journal.get("opened")
    # Members that are closed by now count too: the policy is driven over the record of all of them.
    pinned = opened.members if isinstance(opened, EpisodeOpened) and opened.members else open_now
    members = [(name, open_now.get(name) or store.journal(name)) for name in pinned]
    admitted = members[0][1]["admitted"]
    assert isinstance(admitted, ProblemAdmitted)
    policy, versions = store.policy(admitted), store.memories(admitted.scope)
    terms = store.terms(settings_of(policy, admitted.problem).backbone)
    work = prepare_set(episode, journal, members, policy, versions, terms)
    begun = {name for name, record in [(episode, journal), *members] if "opened" in record}
    if episode not in begun:
        store.writer.keep(work.opened.settings, work.first.settings_text)
        store.writer.state("events", episode, "opened", work.opened)
    for each in work.members:
        if each.episode not in begun:
            record_opening(store.writer, each)
    return work, not begun
