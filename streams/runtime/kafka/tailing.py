"""Our own partitions of `events`, read behind our own appends: each record that counts tells the worker something.

What we stated counts only here. Between an append and its reading another owner may have claimed the partition; so
nothing that others see (answers, reflections, an episode that goes on) starts anywhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streams.runtime.kafka.envelope import LogRecord, NotOurs, read
from streams.runtime.kafka.fence import heard, takes_out
from streams.runtime.kafka.owned import Owned

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker


class EventsConsumer:
    """Takes each record in order."""

    def __init__(self, worker: KafkaWorker) -> None:
        self.worker = worker

    def take(self, topic: str, partition: int, record: Any) -> None:
        """A record of a partition that is ours."""
        owned = self.worker.owning.partitions.get(partition)
        if owned is None:
            return
        try:
            said = read(record.headers, record.value)
        except NotOurs:
            owned.fold.upto = record.offset + 1
            return
        if not owned.fold.take(record.offset, said):
            if said.kind == "episode.adopted" and said.episode not in owned.fold.open:
                self._adopted_unseen(owned, record.offset, said)
            return
        match said.kind:
            case "partition.claimed":
                self.worker.owning.claimed(owned, record.offset)
            case "problem.admitted":
                self._admitted(owned, said.episode)
            case "completed":
                self.worker.budgets.completed(owned, record.offset, said)
            case "episode.closed":
                self.over(owned, said.episode)
            case "episode.adopted" if owned.live:
                self.adopted(owned, said.episode)
            case _:
                pass

    def _adopted_unseen(self, owned: Owned, offset: int, said: LogRecord) -> None:
        """An episode whose admission lies before the checkpoint was adopted, which the fold does not know."""
        if said.episode in owned.shelf:
            if heard(said) is not None:
                owned.adopted.setdefault(said.episode, offset)
        elif takes_out(said):  # a former owner took it from its shelf, or nobody admitted it
            self.worker.past.take_out(said.episode, owned.index, offset)

    def passed(self, topic: str, partition: int, offset: int) -> None:
        """No record lies before this offset that was not taken."""
        owned = self.worker.owning.partitions.get(partition)
        if owned is not None:
            owned.fold.upto = max(owned.fold.upto, offset)

    def _admitted(self, owned: Owned, episode: str) -> None:
        event = owned.admitted(episode)
        owned.fold.asked[episode] = event.offset
        owned.source = max(owned.source, event.offset)
        # From here on the index knows the text, which was held apart until the admission counts.
        owned.texts.pop((event.problem.domain, event.problem.id), None)
        self.worker.past.name(episode, event, owned.index, owned.fold.began[episode])
        if owned.live:
            self.worker.admitted(owned, episode, event)
        self.lighten(owned, episode)

    def lighten(self, owned: Owned, episode: str) -> None:
        """A problem that waits for a memory version keeps its place, and not its text."""
        schedule = self.worker.schedule
        seat = schedule.seats.get(episode)
        if seat is not None and not schedule.may_open(seat):
            owned.fold.lighten(episode)

    def over(self, owned: Owned, episode: str) -> None:
        """An episode is closed or void; a set is over with the last of its members."""
        unit, view = owned.unit(episode), self.worker.view
        owned.tenants.pop(unit, None)
        if not owned.is_done(unit):
            return
        # A former owner relayed it, and its reflection came last: so its answer is there as well.
        if all(view.knows(each, "reflected") for each in owned.closed(unit)):
            owned.fold.forget(unit)
        else:
            owned.owed.append(unit)

    def adopted(self, owned: Owned, episode: str) -> None:
        """An open episode goes on, unless a person took it out of everything."""
        if owned.is_void(episode):
            if owned.closed(episode) and episode not in owned.fold.within:
                return  # it had ended before anybody took it out, and has its answer
            if episode in owned.closings and episode not in owned.fold.within:
                return  # its end is under way, and who reads the log counts that
            self.worker.schedule.take_out(episode)
            owned.closings.pop(episode, None)
            self.over(owned, episode)
        elif not owned.is_parked(episode):
            self.worker.enqueue(owned, episode, owned.admitted(episode))
