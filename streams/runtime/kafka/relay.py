"""The relay: accepted closings become answers and reflections, at least once, with deterministic ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handlers.policies.base import Policy
from streams.drive import replayed
from streams.episodes import conclude, prepare
from streams.learner import Learner
from streams.relay import Closing, closing
from streams.runtime.kafka.append import Appender, free, message_headers
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.place import Place, partition_of

AT_ONCE = 256


class Relay:
    """Projects closed episodes of partitions that are ours."""

    def __init__(
        self,
        place: Place,
        appender: Appender,
        learner: Learner,
        find: Callable[[str], Policy[Any]],
        default_policy: str,
        partitions: int,
    ) -> None:
        self.place, self.appender, self.learner = place, appender, learner
        self.find, self.default_policy, self.partitions = find, default_policy, partitions
        self.relayed = 0

    async def take(self, owned: Owned) -> None:
        """Send what is owed: answers first, so that whatever is reflected is answered too."""
        episodes = [owned.owed.popleft() for _ in range(min(AT_ONCE, len(owned.owed)))]
        owned.relaying += len(episodes)
        done = [(e, self._closing(owned, e)) for e in episodes if e in owned.fold.open]
        answers = self.appender.lane(self.place.topic("answers"), owned.index)
        for episode, end in done:
            answers.add(episode.encode(), end.answer, message_headers("answer", episode))
        await answers.commit()
        lanes = {self._reflect(episode, end) for episode, end in done}
        for lane in lanes:
            await lane.commit()
        for episode, _ in done:
            owned.fold.forget(episode)
        owned.relaying -= len(episodes)
        self.relayed += len(done)

    def _reflect(self, episode: str, end: Closing) -> Any:
        scope = end.reflected.scope
        lane = self.appender.lane(
            self.place.topic("learning"), partition_of(scope.encode(), self.partitions)
        )
        free(lane, scope, episode, "reflected", end.reflected)
        return lane

    def _closing(self, owned: Owned, episode: str) -> Closing:
        """What the end of an episode leaves: as it was worked out, else derived from the record again."""
        known = owned.closings.pop(episode, None)
        if known is not None:
            return known
        journal, admitted = owned.journal(episode), owned.admitted(episode)
        problem = admitted.problem
        policy = self.find(problem.policy or self.default_policy)
        scope = self.learner.scope(admitted.scope, policy.name, problem.profile, problem.settings)
        work = prepare(episode, admitted, journal, policy, scope.memory.versions, "")
        conclusion, seconds = replayed(conclude(work, work.run(None, None)))
        return closing(
            policy, work.settings, episode, admitted, work.opened, work.journal, conclusion, seconds
        )
