"""The relay: accepted closings become answers and reflections, at least once, with deterministic ids.

It acts only on closings that were read back and count. A closing that was stated under a lost claim must never be
answered, since another owner may close the episode otherwise. What a killed relay sent in part is sent again by
the next owner, which derives it from the record, with the same ids: readers count the first.
"""

from __future__ import annotations

import logging

from schemas.asking import ReplayError
from schemas.carried import as_bytes
from schemas.identity import is_set
from schemas.settings import BadSetting
from streams.core.closing import Closing
from streams.core.drive import replayed
from streams.engine.episode import conclude, prepare
from streams.engine.learner import Learner
from streams.engine.sets import closings, conclude_set, prepare_set
from streams.runtime.kafka.append import Appender, Lane, free, message_headers
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.place import KafkaAddress, partition_of

AT_ONCE = 256
_log = logging.getLogger(__name__)


class Relay:
    """Projects closed episodes of partitions that are ours."""

    def __init__(
        self,
        place: KafkaAddress,
        appender: Appender,
        learner: Learner,
        default_policy: str,
        partitions: int,
    ) -> None:
        self.place, self.appender, self.learner = place, appender, learner
        self.default_policy, self.partitions = default_policy, partitions
        self.relayed = 0

    async def take(self, owned: Owned) -> None:
        """Send what is owed: answers first, so that whatever is reflected is answered too."""
        units = [owned.owed.popleft() for _ in range(min(AT_ONCE, len(owned.owed)))]
        owned.relaying += len(units)
        known = [unit for unit in units if unit in owned.fold.open]
        ends = {unit: self._ends(owned, unit) for unit in known}
        done = [end for found in ends.values() for end in found or ()]
        answers = self.appender.lane(self.place.topic("answers"), owned.index)
        for episode, end in done:
            headers = [*message_headers("answer", episode), *as_bytes(end.headers)]
            answers.add(episode.encode(), end.answer, headers)
        await answers.commit()
        lanes = set[Lane]()
        for episode, end in done:
            scope, learning = end.reflected.scope, self.place.topic("learning")
            lane = self.appender.lane(learning, partition_of(scope.encode(), self.partitions))
            free(lane, scope, episode, "reflected", end.reflected)
            lanes.add(lane)
        # All are asked for before one is awaited: a partition of ours that moves meanwhile drops what nobody waits for.
        for told in [lane.commit() for lane in lanes]:
            await told
        for unit, found in ends.items():
            if found is None:
                owned.unsaid.add(unit)
            else:
                owned.fold.forget(unit)
        owned.relaying -= len(units)
        self.relayed += len(done)

    def again(self, owned: Owned, scope: str) -> None:
        """Try once more to say the answers of a scope of which a version was heard: they may rest on that."""
        for unit in sorted(owned.unsaid):
            if owned.admitted(owned.members(unit)[0]).scope == scope:
                owned.unsaid.discard(unit)
                owned.owed.append(unit)

    def _ends(self, owned: Owned, unit: str) -> list[tuple[str, Closing]] | None:
        """Return what the ends of a unit's members leave: as worked out here, or derived from the record again.

        Nothing where only another build could tell.
        """
        try:
            closed = owned.closed(unit)
            known = {each: owned.closings.pop(each) for each in closed if each in owned.closings}
            # The former owner closed it, or we did before we lost our claim: then only the record knows.
            if len(known) < len(closed):
                of_set = is_set(unit)
                known = self._of_set(owned, unit) if of_set else {unit: self._alone(owned, unit)}
            return [(each, known[each]) for each in closed]
        except (ReplayError, LookupError, BadSetting) as error:
            _log.warning("%s: closed, but not to be answered by this worker: %s", unit, error)
            return None

    def _of_set(self, owned: Owned, episode: str) -> dict[str, Closing]:
        members = owned.members(episode)
        admitted = owned.admitted(members[0])
        scope = self.learner.known(admitted.scope)
        memories = scope.memory.versions
        records = [(each, owned.journal(each)) for each in members]
        work = prepare_set(episode, owned.journal(episode), records, scope.policy, memories)
        ends = closings(work, replayed(conclude_set(work, work.run(None, None))))
        return dict(zip(members, ends, strict=True))

    def _alone(self, owned: Owned, episode: str) -> Closing:
        journal, admitted = owned.journal(episode), owned.admitted(episode)
        scope = self.learner.scope_of(admitted, self.default_policy)
        work = prepare(episode, admitted, journal, scope.policy, scope.memory.versions)
        run = work.run(None, None)
        conclusion, seconds = replayed(conclude(work, run))
        return work.closing(conclusion, seconds, run.tally)
