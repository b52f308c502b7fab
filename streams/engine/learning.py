"""Learning episodes: a closed batch is worked on by its policy's learner, or replayed from its record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from handlers.limits import Ledger
from schemas.asking import OutOfLimit, Unanswered
from schemas.events.base import Event
from schemas.events.codec import as_written
from schemas.events.episode import EpisodeClosed
from schemas.events.learning import BatchClosed
from schemas.memory import Memory
from schemas.outcome import Status
from streams.core.backbone import Stuck
from streams.core.defects import describe
from streams.core.drive import Run, World, drive, replayed
from streams.core.unkept import Unkept, refused_by
from streams.engine.episode import NOT_AN_OUTCOME, defect_of
from streams.engine.learner import Learner, episode_of
from streams.engine.scopes import Scope


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
        # What only embeds anew compares with nothing.
        memory = Memory(scope.id, closed.batch)
    embedder = closed.embedder or scope.memory.changing or closed.measured

    def begun(recorder: Any, world: World | None) -> Run:
        return Run(
            *(episode, journal, closed.seed, memory, "learning", recorder, world, embedder),
            seeded=scope.profile == "paper",
            in_text=scope.profile == "paper",
            refused=refused_by(unkept),
        )

    def again(alone: Run) -> object:
        return replayed(drive(learner.steps(scope, closed), alone, Ledger.of(closed.limits)))

    run = begun(recorder, world)
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
    except Exception as error:
        # It is the policy's own defect. The batch still gets its version, made of what was
        # said so far: a scope whose learner is broken would else stop all episodes that
        # wait for that version.
        # A policy whose record leads to no defect cannot be verified, but nobody could adopt a batch
        # as he adopts an episode; what struck is then the best that can be said.
        with suppress(Stuck):
            error = defect_of(error, run, begun(None, None), again)
        ended_by, status = f"error: {describe(error)}", "failed"
    usage = run.tally.usage(round(ledger.spent_seconds, 6))
    return as_written(EpisodeClosed(status=status, ended_by=ended_by, usage=usage))
