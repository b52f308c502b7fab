"""Batches: closing windows, running learning episodes, settling what will never arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handlers.limits import Ledger
from schemas.asking import OutOfLimit, Unanswered
from schemas.events.base import Event
from schemas.events.codec import as_written
from schemas.events.episode import EpisodeClosed
from schemas.events.learning import BatchClosed
from schemas.identity import is_numbered, learning_id
from schemas.memory import Memory
from schemas.outcome import Status
from schemas.problem import Limits
from state.folds.windows import Due
from streams.defects import describe
from streams.drive import Run, World, drive
from streams.episodes import NOT_AN_OUTCOME
from streams.learner import Learner, episode_of
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.settling import owing
from streams.scopes import Scope
from streams.unkept import Unkept, refused_by


class Batches:
    """The learner's effects on one log: what it says is recorded and fed to the fold at once."""

    def __init__(
        self,
        log: SqliteLog,
        writer: Writer,
        learner: Learner,
        world: World | None,
        limits: Limits,
        is_admitted: Callable[[str, str, int], bool],
    ) -> None:
        self.log, self.writer, self.learner = log, writer, learner
        self.world, self.limits, self.is_admitted = world, limits, is_admitted

    def say(self, episode: str, address: str, event: Event) -> None:
        """Record on ``learning``; the fold sees records in the order in which they are stated."""
        self.writer.state("learning", episode, address, event)
        self.learner.feed(episode, address, event)

    def warm_up(self, scope: Scope) -> bool:
        """Make version 0 of a scope that starts from another's memory. Returns whether that was to do."""
        source = self.learner.scopes.get(scope.warm_source or "")
        if source is None:
            return False
        for address, event in self.learner.warm(scope, source.memory.latest):
            self.say(learning_id(scope.id, 0), address, event)
        return True

    def close(self, scope: Scope, due: Due) -> BatchClosed:
        """Close a batch that is due."""
        closed = self.learner.batch_closed(scope, due, self.limits)
        self.writer.keep(closed.settings, scope.settings_text)
        self.say(episode_of(closed), "batch", closed)
        return closed

    async def learn(self, scope: Scope, closed: BatchClosed) -> None:
        """Run or resume the learning episode of a closed batch, and state its memory version."""
        episode = episode_of(closed)
        if scope.policy.learns != "none" and self.log.find(episode, "closed") is None:
            journal = {a: e for a, e in self.log.journal(episode).items() if is_numbered(a)}
            recorder = Relayed(self.writer, self.learner)
            ended = await learn(scope, closed, self.learner, recorder, self.world, journal)
            self.say(episode, "closed", ended)
        self.say(episode, "version", self.learner.version(scope, closed))

    def settle(self, scope: Scope) -> bool:
        """Void what never arrived, or close a partial window. Returns whether anything moved."""
        found = owing(scope, lambda series, at: self.is_admitted(scope.id, series, at))
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


async def learn(
    scope: Scope,
    closed: BatchClosed,
    learner: Learner,
    recorder: Any,
    world: World | None,
    journal: dict[str, Event],
    watch: Callable[[Run], None] | None = None,
    unkept: Unkept | None = None,
) -> EpisodeClosed:
    """Run the learning episode of a closed batch, or replay it with no world; its closing event.

    ``unkept`` is what its log would not take, where its closing says so.
    """
    episode = episode_of(closed)
    memory = scope.memory.versions[closed.previous]
    if closed.embedder is not None:
        memory = Memory(scope.id, closed.batch)  # what only embeds anew compares with nothing
    embedder = closed.embedder or scope.memory.changing or closed.measured
    run = Run(
        *(episode, journal, closed.seed, memory, "learning", recorder, world, embedder),
        seeded=scope.profile == "paper",
        in_text=scope.profile == "paper",
        refused=refused_by(unkept),
    )
    if watch is not None:
        watch(run)
    ledger = Ledger.of(closed.limits)
    ended_by = "learned"
    status: Status = "answered"
    try:
        await drive(learner.steps(scope, closed), run, ledger)
    except Unanswered as question:
        ended_by, status = f"unanswered: {question.reason}", "failed"
    except OutOfLimit as limit:
        ended_by, status = f"limit: {limit.which}", "exhausted"
    except NOT_AN_OUTCOME:
        raise
    except Exception as error:  # the policy's own defect: what it said so far is what was learned
        if run.unkept is not None:
            raise run.unkept from None
        ended_by, status = f"error: {describe(error)}", "failed"
    usage = run.tally.usage(round(ledger.spent_seconds, 6))
    return as_written(EpisodeClosed(status=status, ended_by=ended_by, usage=usage))
