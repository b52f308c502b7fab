"""Batches: closing windows, running learning episodes, settling what will never arrive."""

from __future__ import annotations

from collections.abc import Callable

from schemas.events.base import Event
from schemas.events.learning import BatchClosed, PositionVoided, Reflected
from schemas.identity import is_numbered, learning_id
from schemas.problem import Limits
from state.folds.windows import Due
from streams.core.drive import World
from streams.engine.learner import Learner, episode_of
from streams.engine.learning import learn
from streams.engine.schedule import is_cold
from streams.engine.scopes import Scope
from streams.engine.settling import owing
from streams.runtime.embedded.log import SqliteLog, Writer


class Batches:
    """The learner's effects on one log: what it says is recorded and fed to the fold at once."""

    def __init__(
        self,
        log: SqliteLog,
        writer: Writer,
        learner: Learner,
        world: World | None,
        limits: Limits,
    ) -> None:
        self.log, self.writer, self.learner = log, writer, learner
        self.world, self.limits = world, limits
        self.ended: dict[str, Reflected] = {}
        """What episodes left that is stated and not on disk yet, in its order."""
        writer.about_to_append = self.appended

    def say(self, episode: str, address: str, event: Event) -> None:
        """Record on ``learning``; the fold sees records in the order in which they are stated."""
        # A fold that lagged behind what was said would close a batch twice. One that is ahead of
        # the disk is harmless: whoever is killed loses both.
        self.writer.state("learning", episode, address, event)
        self.learner.feed(episode, address, event)
        if isinstance(event, Reflected):
            self.ended[episode] = event

    def give_up_voided(self) -> None:
        """Take from what just ended the places that were voided on the log before it. Who calls holds the log."""
        # A person's word may come while an end waits for its commit: then it stands before the end for
        # whoever reads the log, and we hear it behind.
        for said in self.ended.values():
            if said.position is not None:
                void = self.log.find(f"n/{said.scope}/{said.series}", f"void.{said.position}")
                if isinstance(void, PositionVoided) and said.scope in self.learner.scopes:
                    window = self.learner.scopes[said.scope].window
                    window.void_before(void, [*self.ended])

    def appended(self) -> None:
        """What ended is about to be on disk, behind all that is there."""
        self.give_up_voided()
        self.ended.clear()

    def warm_up(self, scope: Scope) -> bool:
        """Make version 0 of a scope that starts from another's memory. Returns whether that was to do."""
        source = self.learner.scopes.get(scope.warm_source or "")
        if source is None or not is_cold(scope, self.learner):
            return False
        for address, event in self.learner.warm(scope, source.memory.latest):
            self.say(learning_id(scope.id, 0), address, event)
        return True

    def close(self, scope: Scope, due: Due) -> BatchClosed:
        """Close a batch that is due."""
        closed = self.learner.batch_closed(scope, due, self.limits)
        # The text of its settings first: the record names it by its digest.
        self.writer.keep(closed.settings, scope.settings_text)
        self.say(episode_of(closed), "batch", closed)
        return closed

    async def learn(self, scope: Scope, closed: BatchClosed) -> None:
        """Run or resume the learning episode of a closed batch, and state its memory version."""
        episode = episode_of(closed)
        # A worker that was killed between closing and version left a closed episode: then nobody is asked again.
        if scope.policy.learns != "none" and self.log.find(episode, "closed") is None:
            journal = {a: e for a, e in self.log.journal(episode).items() if is_numbered(a)}
            recorder = Relayed(self.writer, self.learner)
            ended = await learn(scope, closed, self.learner, recorder, self.world, journal)
            self.say(episode, "closed", ended)
        self.say(episode, "version", self.learner.version(scope, closed))

    def settle(self, scope: Scope, is_admitted: Callable[[str, str, int], bool]) -> bool:
        """Void what never arrived, or close a partial window. Returns whether anything moved."""
        # All of it before any is said: each statement moves the window.
        found = [*owing(scope, lambda series, at: is_admitted(scope.id, series, at))]
        for episode, address, event in found:
            self.say(episode, address, event)
        return bool(found)


class Relayed:
    """A recorder that also feeds the learner with what a learning episode says."""

    def __init__(self, writer: Writer, learner: Learner) -> None:
        self.writer, self.learner = writer, learner
        self.commit, self.keep, self.send = writer.commit, writer.keep, writer.send

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        """Record, and let the fold see it."""
        self.writer.state(topic, episode, address, event)
        self.learner.feed(episode, address, event)
