"""Episodes on one log in one file, as the runner sees them: the worker's own, and one that is solved beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from handlers.policies.base import Policy
from schemas.carried import as_text
from schemas.events.base import Event
from schemas.events.episode import ProblemAdmitted
from schemas.memory import Memory
from streams.core.closing import Closing
from streams.core.drive import Run, Waiting
from streams.engine.running import parking

if TYPE_CHECKING:
    from streams.runtime.embedded.worker import Worker


class EmbeddedStore:
    """Implements ``streams.engine.running.EpisodeStore`` for a worker."""

    room: int | None = None
    """One file takes records of any size."""
    purpose: str | None = None

    def __init__(self, worker: Worker) -> None:
        self.worker, self.writer, self.world = worker, worker.writer, worker.world
        self.backbones, self.grant = worker.world.description, worker.world.grant

    def journal(self, episode: str) -> dict[str, Event]:
        """The record of an episode: what was just admitted is at hand, all else is read from the log."""
        # Taken out as it is read: once the episode opens, only the log knows all of it.
        known = self.worker.fresh.pop(episode, None)
        return self.worker.log.journal(episode) if known is None else {"admitted": known}

    def policy(self, admitted: ProblemAdmitted) -> Policy[Any]:
        """The policy that a problem asks for. Raises ``LookupError``."""
        return self.worker.learner.known(admitted.scope).policy

    def memories(self, scope: str) -> Mapping[int, Memory]:
        """The memory versions of a scope."""
        return self.worker.learner.known(scope).memory.versions

    def wait(self, episode: str, run: Run | None, why: Waiting) -> None:
        """Let an episode wait for a person or for its tenant's next day, unless somebody has answered meanwhile."""
        self.worker.schedule.wait(episode, run, why, self.worker.labels.said)

    def leave(self, episode: str) -> None:
        """Let go of an episode that somebody else has ended."""
        self.worker.schedule.leave(episode)

    async def park(self, episode: str, error: Exception, journal: dict[str, Event]) -> None:
        """Leave an episode to a person, with the reason."""
        # Nobody waits for a person in memory: a worker that is started again finds it parked.
        self.writer.state("events", episode, *parking(error, journal))
        await self.writer.commit()
        self.worker.schedule.leave(episode)

    async def close(self, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        """Closing, answer, reflection and grades of each in one commit; the fold sees them in that order."""
        labels, say = self.worker.labels, self.worker.batches.say
        # Grading may run a program or ask a process, so it comes before anything of the closing is
        # stated: a kill meanwhile finds the episode open, and closes it once more.
        grades = {e: (*end.graded, *await labels.known(e, end.reflected)) for e, end in ends}
        for episode, end in ends:
            self.writer.state("events", episode, "closed", end.closed)
            self.writer.send("answers", episode, end.answer, as_text(end.headers))
            say(episode, "reflected", end.reflected)
            for address, graded in grades[episode]:
                say(episode, address, graded)
        await self.writer.commit()
        # Feedback may have come while the commit was under way, which `known` did not see and `take` graded
        # nothing for, since the episode was not closed yet.
        for episode, end in ends:
            missed = await labels.missed(episode, end.reflected, len(grades[episode]))
            for address, graded in missed:
                say(episode, address, graded)
            self.worker.schedule.leave(episode)
            self.worker.progress.ended(end.closed, fresh)
