"""The bounded scheduler of every runtime: which episodes may open, which wait, and what is under way."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Container, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from schemas.identity import learning_id
from streams.answering.budgets import Budgets, OutOfBudget
from streams.answering.world import Draining
from streams.core.drive import Run, Waiting, first_of, is_group
from streams.core.grants import Lacking
from streams.engine.judgements import Judgements
from streams.engine.learner import Learner
from streams.engine.pending import PendingEpisode, Sets
from streams.engine.ready import Ready
from streams.engine.scopes import Scope

__all__ = ["PendingEpisode", "Running", "Schedule"]

Place: TypeAlias = tuple[str, str | None, int | None]
"""A scope, a series of its, and a position in that."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Running:
    """A task, and the partition that it works for."""

    partition: int
    task: asyncio.Task[None]


class Schedule:
    """Ready, blocked and running episodes. A problem that waits for a version holds no slot.

    An episode with a seat waits in one place: in ``ready``, in ``blocked`` under its scope, in a set, in ``asleep``,
    ``unpaid`` or ``lacking``; or it runs. Its task may still be ending while it waits again, which ``next`` looks
    out for.
    Only ``leave`` and ``cancel`` take seats away. Whatever changes what may run next sets ``changed``, on which the
    worker's loop waits.

    ``broken`` is told of each defect of a task that is no outcome of its episode; workers end with the first. A
    task that ends because its worker drains is none.
    """

    def __init__(
        self, learner: Learner, slots: int, broken: Callable[[BaseException], None]
    ) -> None:
        self.learner, self.slots, self.broken = learner, slots, broken
        self.ready = Ready()
        self.blocked: dict[str, deque[str]] = {}
        self.seats: dict[str, PendingEpisode] = {}
        self.tasks: dict[str, Running] = {}
        self.twins: dict[str, dict[int, PendingEpisode]] = {}
        """Other seats of an episode, by partition: its problem lies on several."""
        self.asleep: set[str] = set()
        """Episodes that wait for a person; they hold no slot."""
        self.lacking: dict[str, Lacking] = {}
        """Episodes whose problems ask for what is not here: a price, or a backbone that is no longer offered."""
        self.unpaid: dict[str, str] = {}
        """Episodes whose tenant has spent its budget, and that tenant; they hold no slot either."""
        self.budgets: Budgets | None = None
        self.changed = asyncio.Event()
        self.sets = Sets(learner)
        self.unwarmed: set[str] = set()
        """Scopes of which it was told that they begin empty, although another's memory was meant."""

    # -- who waits ---------------------------------------------------------------------------------

    def enqueue(self, episode: str, seat: PendingEpisode) -> None:
        """An admitted episode waits for its turn."""
        known = self.seats.get(episode)
        if known is not None:
            if known.partition != seat.partition:
                self.twins.setdefault(episode, {})[seat.partition] = seat
            return
        self.seats[episode] = seat
        self._tell_of_empty(seat)
        # A seat in a set is none of its own: the set has its turn, under its own name, once
        # all members are here.
        joined = self.sets.take(episode, seat)
        if joined is not None:
            self._call_sets([joined])  # no other can have become whole: one may gather thousands
        elif self.may_open(seat):
            self.ready.append(episode, seat.priority)
        else:
            self.blocked.setdefault(seat.scope, deque()).append(episode)
        self.changed.set()

    def _tell_of_empty(self, seat: PendingEpisode) -> None:
        """Tell once of a stream's scope that was to begin with another's memory: only a series waits for that."""
        scope = self.learner.scopes.get(seat.scope)
        if scope is None or seat.scope in self.unwarmed or scope.window.series:
            return
        in_stream = seat.series is None or seat.series in scope.window.unordered
        if in_stream and scope.memory.latest.number == 0 and scope.warm_source is not None:
            self.unwarmed.add(seat.scope)
            told = "%s begins empty: settings.warm_start counts for a series with barriers, and this is a stream"
            _log.warning(told, seat.scope)

    def leave(self, episode: str) -> None:
        """An episode or a set needs no seat any more: it was closed or parked."""
        self.seats.pop(episode, None)
        self.asleep.discard(episode)
        self.unpaid.pop(episode, None)
        self.lacking.pop(episode, None)
        self.sets.leave(episode)
        self._next_twin(episode)

    def take_out(self, episode: str) -> None:
        """A person took an episode out: whatever works on it lets go of its open calls, and it has no turn again."""
        running = self.tasks.get(episode)
        if running is not None:
            running.task.cancel()
        for name, seat in self.sets.without(episode, self.tasks):
            if seat is None:
                self.leave(name)
            elif name in self.seats:  # it has its turn, by its own name
                self.seats[name] = seat
        self.leave(episode)
        self.changed.set()

    def wait(self, episode: str, run: Run | None, why: Waiting, said: Judgements) -> None:
        """An episode waits for its tenant's next day, for what is not here, or for a person.

        It has its turn again where that person has answered meanwhile.
        """
        if isinstance(why, Lacking):
            known = {(each.code, each.where) for each in self.lacking.values()}
            if (why.code, why.where) not in known:
                _log.warning("%s for %s; it waits, and the others go on", why.detail, why.where)
            self.lacking[episode] = why
            return
        if isinstance(why, OutOfBudget):
            self.unpay(episode)
            return
        # He may have answered while the question was on its way. That woke
        # nobody, for nobody slept.
        self.asleep.add(episode)
        if run is not None and any(said.reply(episode, address) for address in run.waits):
            self.wake(episode)

    def wake(self, episode: str) -> None:
        """Somebody answered an episode: if it waits for that, it has its turn again."""
        if episode in self.asleep:
            self.asleep.discard(episode)
            self._again(episode)
            self.changed.set()

    def _again(self, episode: str) -> None:
        """An episode has its turn once more, among those of its priority."""
        seat = self.seats.get(episode)
        if seat is not None:
            self.ready.append(episode, seat.priority)

    def tenant_of(self, name: str) -> str | None:
        """The tenant of an episode, and of a set that of its first member."""
        members = self.sets.members(name)
        seat = self.seats.get(members[0] if members else name)
        return None if seat is None else seat.tenant

    def may_pay(self, seat: PendingEpisode) -> bool:
        """Whether the budget of an episode's tenant covers another call."""
        return self.budgets is None or self.budgets.why(seat.tenant) is None

    def unpay(self, episode: str) -> None:
        """An episode waits until its tenant may spend again, and keeps its seat."""
        seat = self.seats.get(episode)
        if seat is not None and seat.tenant is not None:
            self.unpaid[episode] = seat.tenant

    def pay(self) -> None:
        """Those whose tenants may spend again have their turns again: a day began, or a call came to nothing."""
        if not self.unpaid or self.budgets is None:
            return
        # Each tenant is asked once, however many of its episodes wait.
        able = {each for each in set(self.unpaid.values()) if self.budgets.why(each) is None}
        for episode in [each for each, tenant in self.unpaid.items() if tenant in able]:
            del self.unpaid[episode]
            self._again(episode)

    def owing(self) -> dict[str, str]:
        """Those that wait for a budget, and why."""
        if self.budgets is None:
            return {}
        said = {each: self.budgets.why(each) or each for each in set(self.unpaid.values())}
        return {
            e: said[tenant] for name, tenant in self.unpaid.items() for e in self._members([name])
        }

    def _next_twin(self, episode: str) -> None:
        """A problem that was put on two partitions has its turn on the second after the first."""
        twins = self.twins.pop(episode, {})
        for seat in twins.values():
            self.enqueue(episode, seat)

    def may_open(self, seat: PendingEpisode) -> bool:
        """Whether the memory version that an episode needs exists. Its series must be announced.

        In a scope whose policy is not here nobody opens; who was opened gets its turn, and is parked.
        """
        scope = self.learner.scopes.get(seat.scope)
        if scope is None:
            return seat.begun
        # Version 0 will come from another scope. An episode that opened now would pin an empty
        # memory, and which episodes those were would depend on timing.
        if is_cold(scope, self.learner):
            return False
        if seat.position is not None and not scope.window.is_announced(seat.series):
            return False
        return scope.window.version_for(seat.series, seat.position) is not None

    def release(self, scope: str) -> None:
        """Something was learned in a scope: those that may open now, may."""
        # Order is kept on both sides: those that may not open yet stand before whoever comes later.
        still: deque[str] = deque()
        for episode in self.blocked.pop(scope, ()):
            seat = self.seats.get(episode)
            if seat is not None and self.sets.take(episode, seat) is None:
                if self.may_open(seat):
                    self.ready.append(episode, seat.priority)
                else:
                    still.append(episode)
        if still:
            self.blocked[scope] = still
        self._call_sets()
        self.changed.set()

    def _call_sets(self, among: Iterable[str] | None = None) -> None:
        """Sets that may open now have their turn at once: whoever looks meanwhile must not take them for waiting.

        A worker that did ended, with a whole set in the log that nobody had begun.
        """
        for name, place in self.sets.complete(self.may_open, among):
            self.seats[name] = place
            self.ready.append(name, place.priority)

    def waiting(self) -> Iterator[tuple[str, PendingEpisode]]:
        """Episodes that wait for a memory version, for a person, or for their tenant's next day."""
        blocked = (*chain(*self.blocked.values()), *self.sets.waiting())
        asleep = (*sorted(self.asleep), *self.unpaid, *self.lacking)
        for episode in self._members((*blocked, *asleep)):
            seat = self.seats.get(episode)
            if seat is not None:
                yield episode, seat

    def _members(self, names: Iterable[str]) -> Iterator[str]:
        """The episodes that these stand for: a set waits under its own name for all of its members."""
        for name in names:
            members = self.sets.members(name)
            yield from (name,) if members is None else members

    def came(self, partition: int, more: Iterable[Place] = ()) -> set[Place]:
        """Places of open batches whose episodes have come to a partition, whatever they wait for; of ``more`` too."""
        # Only of open batches: settling asks about no others, and thousands may wait for a later one.
        current = ((name, scope.window.current) for name, scope in self.learner.scopes.items())
        missing = {(name, s.id): frozenset(s.missing()) for name, s in current if s is not None}
        seats = (each for each in self.seats.values() if each.partition == partition)
        here = chain(((each.scope, each.series, each.position) for each in seats), more)
        return {place for place in here if place[2] in missing.get((place[0], place[1] or ""), ())}

    @property
    def blocked_now(self) -> int:
        """How many episodes wait for a memory version; those that moved away or ended are none of them any more."""
        return len({e for waiting in self.blocked.values() for e in waiting if e in self.seats})

    def held(self) -> list[str]:
        """Return what cannot continue by itself: episodes without a version, and the places that series wait for."""
        places = waiting_places(self.learner, self.sets.gathered)
        return [episode for episode, _ in self.waiting()] + places

    # -- who runs ----------------------------------------------------------------------------------

    def next(self) -> tuple[str, PendingEpisode] | None:
        """The next episode, or set of them, that may open now, if there is a slot."""
        self.pay()
        found = self._turn()
        if found is None:
            # Some become whole because a place of theirs was filled or voided elsewhere.
            self._call_sets()
            found = self._turn()
        return found

    def _turn(self) -> tuple[str, PendingEpisode] | None:
        # Each that is ready is looked at once, or one that goes back to the queue would be
        # looked at for ever.
        for _ in range(len(self.ready)):
            if len(self.tasks) >= self.slots:
                break
            episode = self.ready.popleft()
            seat = self.seats.get(episode)
            if seat is None:
                continue
            if seat.scope in self.learner.lost and not seat.begun:
                self.blocked.setdefault(seat.scope, deque()).append(episode)
            elif episode in self.tasks:
                # Its former task is still ending: two at once would both append to its record.
                self.ready.append(episode, seat.priority)
            elif not self.may_open(seat):
                # A problem of its memory was forgotten meanwhile: the version without it comes first.
                self.blocked.setdefault(seat.scope, deque()).append(episode)
            elif self.may_pay(seat):
                return episode, seat
            else:
                self.unpay(episode)
        return None

    def start(self, name: str, work: Coroutine[Any, Any, None], partition: int = 0) -> None:
        """Run something for a partition."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks[name] = Running(partition, task)
        task.add_done_callback(lambda done: self._ended(name, done))

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        # Its place may have been taken meanwhile by a later task of the same name.
        running = self.tasks.get(name)
        if running is not None and running.task is task:
            del self.tasks[name]
        self.changed.set()
        # Whoever drains the worker ended this task on purpose. Anything else must reach somebody,
        # for nobody awaits a task, and its error would be lost.
        error = None if task.cancelled() else task.exception()
        if error is None or isinstance(error, Draining):
            return
        self.broken(first_of(error) if is_group(error) else error)

    @property
    def busy(self) -> bool:
        """Whether anything runs, or could."""
        return bool(self.tasks or self.ready)

    async def finished(self) -> None:
        """Wait until nothing runs."""
        while self.tasks:
            await asyncio.wait([running.task for running in self.tasks.values()])

    def cancel(self, partition: int) -> None:
        """Stop everything of a partition: it moved, or another worker claimed it."""
        # Its calls are let go of: what they bring could not be recorded here, since another
        # worker has the claim.
        for running in list(self.tasks.values()):
            if running.partition == partition:
                running.task.cancel()
        self.seats = {e: s for e, s in self.seats.items() if s.partition != partition}
        self.ready.keep(self.seats)
        # Else one that comes back to us is in it twice, and counts as two that wait.
        blocked = ((s, deque(e for e in w if e in self.seats)) for s, w in self.blocked.items())
        self.blocked = {scope: waiting for scope, waiting in blocked if waiting}
        self.asleep &= self.seats.keys()
        self.unpaid = {e: tenant for e, tenant in self.unpaid.items() if e in self.seats}
        self.lacking = {e: why for e, why in self.lacking.items() if e in self.seats}
        self.sets.drop(partition)
        for episode, twins in list(self.twins.items()):
            twins.pop(partition, None)
            if episode not in self.seats:
                self._next_twin(episode)


def is_cold(scope: Scope, learner: Learner) -> bool:
    """Whether version 0 of a series' scope is still to be taken over from another scope."""
    source = scope.warm_source
    if source is None or source not in learner or not scope.window.series:
        return False
    # A source that came late, when a batch was closed without it, is none: nobody would hear of its version 0.
    return scope.memory.awaits(learning_id(scope.id, 0))


def waiting_places(learner: Learner, gathered: Callable[[str], Container[int]]) -> list[str]:
    """The first place that each open series waits for, in words; ``gathered`` are those whose members are here."""
    found: list[str] = []
    for name, scope in learner.scopes.items():
        series = scope.window.current
        here = gathered(series.id) if series is not None else ()
        missing = [] if series is None else [p for p in series.missing() if p not in here]
        if series is not None and missing:
            found.append(f"{name}: series {series.id} waits for position {missing[0]}")
    return found
