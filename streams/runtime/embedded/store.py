"""A worker's episodes on one log in one file, as the runner sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from handlers.policies.base import Policy
from schemas.carried import as_text
from schemas.events.base import Event
from schemas.events.episode import ProblemAdmitted
from streams.core.closing import Closing
from streams.engine.running import SeatedStore
from streams.runtime.embedded.log import Writer

if TYPE_CHECKING:
    from streams.runtime.embedded.worker import Worker


class EmbeddedStore(SeatedStore[Writer]):
    """Implements ``streams.engine.running.EpisodeStore`` for a worker."""

    room: int | None = None
    """One file takes records of any size."""

    def __init__(self, worker: Worker) -> None:
        super().__init__(worker.schedule, worker.writer, worker.labels.said)
        self.worker, self.world = worker, worker.world
        self.terms = worker.world.terms

    def journal(self, episode: str) -> dict[str, Event]:
        """The record of an episode: what was just admitted is at hand, all else is read from the log."""
        # Taken out as it is read: once the episode opens, only the log knows all of it.
        known = self.worker.fresh.pop(episode, None)
        return self.worker.log.journal(episode) if known is None else {"admitted": known}

    def policy(self, admitted: ProblemAdmitted) -> Policy[Any]:
        """The policy that a problem asks for. Raises ``LookupError``."""
        return self.worker.learner.known(admitted.scope).policy

    async def close(self, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        """Closing, answer, reflection and grades of each in one commit; the fold sees them in that order."""
        labels, say = self.worker.labels, self.worker.batches.say
        # Held to its end, and where that never comes until the next start, which reads from there.
        held = labels.hold()
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
        late = False
        for episode, end in ends:
            missed = await labels.missed(episode, end.reflected, len(grades[episode]))
            for address, graded in missed:
                say(episode, address, graded)
            late = late or bool(missed)
            self.schedule.leave(episode)
            self.worker.progress.ended(end.closed, fresh)
        if labels.let_go(held) or late:
            # Nobody else may have anything to commit for hours.
            await self.writer.commit()
