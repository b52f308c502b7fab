"""The learner on Kafka: for the scopes of partitions that are ours it grades, closes batches and learns.

It decides on nothing but what is accepted on the log: while a record of its own is under way there, it waits. Otherwise
it could close a batch twice, or learn from one that another owner closed first. So a kill loses no more than what
a learning episode had asked and not recorded: a batch that is on the log without its version is learned from by
whoever owns the scope next, and goes on behind the last reply that is there.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from itertools import count
from typing import Any

from handlers.answers.grade import CHECKERS
from schemas.events.episode import EpisodeClosed
from schemas.events.learning import BatchClosed, Graded, GradeProposed, Reflected
from schemas.identity import is_numbered, learning_id
from schemas.problem import Feedback, Limits
from state.journal import TooLarge
from streams.answering.grading.grader import Grading
from streams.core.closing import GRADED, check, evidence_of
from streams.engine.grades import graded
from streams.engine.learner import Learner, episode_of
from streams.engine.learning import learn
from streams.engine.regraded import learned_with, relearned_from
from streams.engine.schedule import Schedule, is_cold
from streams.engine.scopes import Scope
from streams.engine.settling import Statement
from streams.runtime.kafka.append import KafkaWriter, Until
from streams.runtime.kafka.place import partition_of
from streams.runtime.kafka.view import View

_log = logging.getLogger(__name__)
AT_ONCE = 100
"""How many finished episodes are looked at before others have their turn."""


class KafkaLearner:
    """Learner's records for owned partitions. ``writer_of`` gives the writer where we may append."""

    def __init__(
        self,
        learner: Learner,
        view: View,
        schedule: Schedule,
        world: Any,
        limits: Limits,
        writer_of: Callable[[int], KafkaWriter | None],
        until: Until,
        grading: Grading | None = None,
    ) -> None:
        self.learner, self.view, self.schedule = learner, view, schedule
        self.world, self.limits, self.writer_of, self.until = world, limits, writer_of, until
        self.grader = grading or Grading()
        self.batches = self.learned = 0
        """How often a batch was closed here to its version, and how many of them it was: some are closed again."""
        self.stalled: set[str] = set()
        """Scopes whose next batch is larger than its log takes."""
        self.grading: dict[int, set[tuple[str, str]]] = defaultdict(set)
        """Grades that we stated in each partition."""
        self.numbers = count()
        """Tells tasks apart that grade: one episode may have several under way."""

    def partition(self, scope: str) -> int:
        """Where a scope's learning lies."""
        return partition_of(scope.encode(), len(self.view.fences))

    # -- grades ------------------------------------------------------------------------------------

    def reflected(self, episode: str, event: Reflected) -> None:
        """Grade an episode that just left its reflection, by checker and by what was said of it."""
        writer = self.writer_of(self.partition(event.scope))
        if writer is None:
            return
        for address, grade in check(event):
            self._state(writer, episode, address, grade)
        for feedback in self.view.said.of(episode, event):
            self._grade(episode, event, feedback)

    def told(self, feedback: Feedback) -> None:
        """Grade the answers that new feedback speaks of."""
        for episode in self.view.episodes_of(feedback):
            event = self.view.reflection(episode)
            if event is not None and feedback.judges(event.answer):
                self._grade(episode, event, feedback)

    async def catch_up(self, partition: int) -> None:
        """State grades that former owners still owed, ourselves under an earlier claim too.

        What is graded is not graded again, and so by no later version of its grader: an answer may take a process.
        """
        owing = [episode for episode, at in self.view.owing.items() if at == partition]
        for number, episode in enumerate(owing):
            event = self.view.reflection(episode)
            if event is None:
                continue
            writer = self.writer_of(partition)
            by_checker = event.domain in CHECKERS
            if writer is not None and by_checker and not self.view.is_graded(episode, None, None):
                for address, grade in check(event):
                    self._state(writer, episode, address, grade)
            for feedback in self.view.said.of(episode, event):
                if not self.view.is_graded(episode, feedback.by, evidence_of(feedback)):
                    self._grade(episode, event, feedback)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)

    def fenced(self, partition: int) -> None:
        """Another claimed it: what we stated there and have not read back may not count."""
        self.grading.pop(partition, None)

    def _state(self, writer: KafkaWriter, episode: str, address: str, event: Graded) -> None:
        grade, stated = (episode, address), self.grading[writer.lane.partition]
        # What we stated is not known before it was read back, and grading may come here again until then.
        if grade not in stated and not self.view.knows(*grade):
            stated.add(grade)
            try:
                writer.state("learning", episode, address, event)
            except TooLarge as error:
                _log.warning("%s stays ungraded by one judgement: %s", episode, error)
            else:
                _ = writer.lane.commit()

    def proposed(self, scope: Scope, partition: int) -> dict[str, GradeProposed]:
        """By episode, the grades given anew of a scope's answers that we have not stated yet."""
        stated = self.grading[partition]
        found = self.view.proposed.get(scope.id, {})
        return {
            name: said for name, said in found.items() if (name, GRADED + said.grade) not in stated
        }

    def _grade_anew(self, scope: Scope, writer: KafkaWriter) -> bool:
        """State what was proposed of a scope's answers; whether there was anything.

        Called when all that we appended has come back: so no batch that closed is unknown to what is said here.
        """
        if scope.half_made is not None:
            return False
        proposed = self.proposed(scope, writer.lane.partition)
        learned = learned_with(scope) if proposed else {}
        for episode, said in proposed.items():
            forgotten = scope.memory.forgetting.covers(episode)
            grades, outcome = self.learner.grades, said.outcome
            batch = None if forgotten else relearned_from(learned, grades, episode, outcome)
            event = Graded(
                scope=said.scope,
                outcome=said.outcome,
                grader=said.grader,
                by="regrade",
                source=said.source,
                detail=said.detail,
                relearned_from=batch,
            )
            self._state(writer, episode, GRADED + said.grade, event)
        return bool(proposed)

    def _grade(self, episode: str, reflected: Reflected, feedback: Feedback) -> None:
        partition = self.partition(reflected.scope)
        if self.writer_of(partition) is None:
            return
        name = f"b/grade/{episode}/{next(self.numbers)}"
        self.schedule.start(name, self._grade_later(episode, reflected, feedback), partition)

    async def _grade_later(self, episode: str, reflected: Reflected, feedback: Feedback) -> None:
        address, event = await graded(self.grader, reflected, feedback)
        # A grader may take long, and the partition may have moved meanwhile: its next owner finds what is owed.
        writer = self.writer_of(self.partition(reflected.scope))
        if writer is not None:
            self._state(writer, episode, address, event)
            await writer.commit()

    # -- batches -----------------------------------------------------------------------------------

    def settled(self, partition: int, writer: KafkaWriter) -> bool:
        """Whether everything that we appended there has come back."""
        lane = writer.lane
        return lane.quiet and self.view.upto[partition] > lane.last

    def _let_go(self) -> None:
        """Keep no grade that was read back: the view knows it, and a worker may live for millions of them."""
        for partition, stated in self.grading.items():
            writer = self.writer_of(partition) if stated else None
            if writer is not None and self.settled(partition, writer):
                stated -= {grade for grade in stated if self.view.knows(*grade)}

    def dispatch(self) -> None:
        """Begin to learn from what is due."""
        self._let_go()
        for scope in list(self.learner.scopes.values()):
            partition = self.partition(scope.id)
            writer = self.writer_of(partition)
            if writer is None or scope.id in self.stalled or not self.settled(partition, writer):
                continue
            if self._grade_anew(scope, writer):
                continue
            try:
                if not is_cold(scope, self.learner):
                    self._learn_if_due(scope, partition, writer)
                    continue
                # It starts from another scope's memory: without version 0 none of its episodes may open.
                name = learning_id(scope.id, 0)
                source = self.learner.scopes.get(scope.warm_source or "")
                if source is None or name in self.schedule.tasks:
                    continue
                for address, event in self.learner.warm(scope, source.memory.latest):
                    writer.state("learning", name, address, event)
                self.schedule.start(name, self._land(partition, writer), partition)
            except TooLarge as error:
                self._stall(scope, error)
                # What was said before it has to go out, or nothing else of this partition is ever settled.
                name = learning_id(scope.id, 0)
                self.schedule.start(name, self._land(partition, writer), partition)

    def _stall(self, scope: Scope, error: TooLarge) -> None:
        """A scope whose next batch its log cannot take learns no more here; the others do."""
        self.stalled.add(scope.id)
        _log.warning("%s learns no more: %s", scope.id, error)

    def _learn_if_due(self, scope: Scope, partition: int, writer: KafkaWriter) -> None:
        name = learning_id(scope.id, scope.window.versioned + 1)
        if name in self.schedule.tasks:
            return
        closed = scope.unfinished
        if closed is None:
            due = scope.window.due()
            if due is None:
                return
            closed = self.learner.batch_closed(scope, due, self.limits)
            writer.keep(closed.settings, scope.settings_text)
            writer.state("learning", episode_of(closed), "batch", closed)
        self.schedule.start(name, self._learn(scope, closed, partition, writer), partition)

    async def _learn(
        self, scope: Scope, closed: BatchClosed, partition: int, writer: KafkaWriter
    ) -> None:
        episode = episode_of(closed)
        await self._land(partition, writer)
        if episode not in self.view.journals:
            return  # the batch did not count: another worker owns the scope
        journal = dict(self.view.journals[episode])
        if not isinstance(journal.get("closed"), EpisodeClosed) and scope.policy.learns != "none":
            numbered = {a: e for a, e in journal.items() if is_numbered(a)}
            ended = await learn(scope, closed, self.learner, writer, self.world, numbered)
            writer.state("learning", episode, "closed", ended)
            await self._land(partition, writer)
        writer.state("learning", episode, "version", self.learner.version(scope, closed))
        await self._land(partition, writer)
        self.batches += 1
        self.learned += closed.revision is None

    async def _land(self, partition: int, writer: KafkaWriter) -> None:
        """Durable, and read back."""
        await writer.land(self.until, lambda: self.view.upto[partition])

    # -- settling ----------------------------------------------------------------------------------

    async def settle(self, scope: Scope, statements: list[Statement]) -> None:
        """Say what settling owes."""
        partition = self.partition(scope.id)
        writer = self.writer_of(partition)
        if writer is None or not self.settled(partition, writer):
            return
        try:
            for episode, address, event in statements:
                writer.state("learning", episode, address, event)
        except TooLarge as error:
            self._stall(scope, error)
        await self._land(partition, writer)

    def close(self) -> None:
        """End the grader's process, if one was started."""
        self.grader.close()
