"""Law: whoever writes without having read all of it, what is forgotten is gone in the end, and all fold alike.

On Kafka a problem may be forgotten, or an answer graded anew, between the closing of a batch and its version, and a
worker may end anywhere. Lives are drawn in which that happens.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from schemas.events.base import Event
from schemas.events.learning import (
    BatchClosed,
    KnowledgeConsolidated,
    LessonDistilled,
    MemoryVersioned,
    ProblemForgotten,
)
from schemas.identity import learning_id
from schemas.outcome import Outcome
from state.folds.forgetting import Forgetting
from state.folds.memory import MemoryFold
from state.folds.state import State
from state.snapshot import Snapshots
from streams.engine.learner import Learner
from tests.pupil import PUPIL
from tests.state.told import SCOPE, Log

OUTCOMES: tuple[Outcome, ...] = ("right", "wrong")
MANY_STEPS = 60
"""More than any of these lives takes to settle."""


class Life:
    """Up to three batches are learned from; then problems are forgotten and answers graded anew, at any moment."""

    def __init__(self, seed: int) -> None:
        self.draw, self.log = random.Random(seed), Log()
        self.fold = self.log.state.memory(SCOPE)
        names, per = iter("uvwxyz"), self.draw.randint(1, 2)
        self.batches = [[next(names) for _ in range(per)] for _ in range(self.draw.randint(1, 3))]
        self.left = [name for batch in self.batches for name in batch] + ["nobody"]
        self.gone, self.lessons = list[str](), list[str]()
        self.news = self.draw.randint(1, 4)
        for number, names_ in enumerate(self.batches, 1):
            self._learn(number, names_)
        self._hear(0.6)
        for _ in range(MANY_STEPS):
            if self.fold.forgetting.owed:
                self._learn_again()
            elif self.news > 0:
                self.news -= 1
                self._hear(0.7)
            else:
                return
        raise AssertionError(f"it never settles: {self.fold.forgetting}")

    def _learn(self, number: int, names: list[str]) -> None:
        for name in names:
            self.log.ended(name)
            self.log.graded(name, "right")
        closed = BatchClosed(
            scope=SCOPE, batch=number, members=tuple(map(episode_of, names)),
            outcomes=tuple(OUTCOMES[0] for _ in names), previous=number - 1, policy="p", policy_version="1",
            settings="0f", seed=1, calibration="platt-isotonic@1",
        )  # fmt: skip
        said: list[Event] = []
        for name in names:
            if self.draw.random() < 0.8:
                self.lessons.append(name)
                said.append(lesson_of(name))
        for role in "ab":
            if self.draw.random() < 0.5:
                cites = self._cites(self.lessons)
                said.append(rule_of(role, number, 0, cites, tuple(names)))
        self._state(closed, said)
        self._version(closed, self._made(closed))

    def _cites(self, lessons: list[str]) -> tuple[str, ...]:
        return tuple(sorted(self.draw.sample(lessons, min(len(lessons), self.draw.randint(1, 2)))))

    # -- what is heard in between ------------------------------------------------------------------

    def _hear(self, forgetful: float) -> None:
        if self.draw.random() < forgetful:
            name = self.left.pop(self.draw.randrange(len(self.left))) if self.left else "nobody"
            self.gone.append(name)
            said = ProblemForgotten(scope=SCOPE, domain="d", problem_id=name)
            self.log.say(f"n/{SCOPE}/-", f"forgotten.{len(self.log.told)}", said)
            return
        known = [name for name in self.left if name != "nobody"]
        if known:
            name = self.draw.choice(known)
            number = next(n for n, batch in enumerate(self.batches, 1) if name in batch)
            outcome = self.draw.choice(OUTCOMES)
            self.log.graded(name, outcome, grader="own@2", by="regrade", relearned_from=number)

    def _perhaps_hear(self) -> None:
        while self.news > 0 and self.draw.random() < 0.35:
            self.news -= 1
            self._hear(0.9)

    # -- a writer that has not read it yet ---------------------------------------------------------

    def _learn_again(self) -> None:
        fold = self.fold
        closed = fold.closing_without(fold.forgetting.owed[0])
        if closed.regraded:
            closed = structs.replace(closed, overturned=())
        self._perhaps_hear()
        self._state(closed, [])
        self._perhaps_hear()
        if not closed.regraded:
            self._state_again(closed)
            self._perhaps_hear()
        if self.draw.random() < 0.1 or fold.batches.get(closed.batch) != closed:
            return  # it ended here, and a successor goes on
        made = self._made(closed)
        self._perhaps_hear()
        self._version(closed, made)

    def _state_again(self, closed: BatchClosed) -> None:
        kept = [item.id for item in self.fold.kept(closed.batch)]
        before = self.fold.versions[closed.batch - 1].items
        lessons = kept + [item.id for item in before if item.kind == "lesson"]
        episode = learning_id(SCOPE, closed.batch, closed.revision)
        for at, role in enumerate(sorted(self.fold.touched(closed)[1])):
            if lessons and self.draw.random() < 0.6:
                rule = rule_of(role, closed.batch, closed.revision or 0, self._cites(lessons))
                self.log.say(episode, str(at), rule)

    def _state(self, closed: BatchClosed, said: list[Event]) -> None:
        episode = learning_id(SCOPE, closed.batch, closed.revision)
        self.log.say(episode, "batch", closed)
        for at, event in enumerate(said):
            self.log.say(episode, str(at), event)

    def _made(self, closed: BatchClosed) -> str:
        fold = self.fold
        return fold.following(fold.learned(closed), closed.batch, 1, closed).state()

    def _version(self, closed: BatchClosed, state: str) -> None:
        number, revision = closed.batch, closed.revision
        version = MemoryVersioned(
            scope=SCOPE, number=number, revision=revision, live_from=1, state=state
        )
        self.log.say(learning_id(SCOPE, number, revision), "version", version)


def episode_of(name: str) -> str:
    return f"p/d/{name}/r"


def lesson_of(name: str) -> LessonDistilled:
    return LessonDistilled(
        id=name, role="a", polarity="do", text=f"lesson of {name}", subject=f"d/{name}",
        evidence=(episode_of(name),), source="0",
    )  # fmt: skip


def rule_of(
    role: str, number: int, revision: int, cites: tuple[str, ...], members: tuple[str, ...] = ()
) -> KnowledgeConsolidated:
    """A rule that says what it was written from: lessons that it names, or all of its batch."""
    rules = ((f"R{number}", f"{number}.{revision} of {','.join(cites or members)}"),)
    return KnowledgeConsolidated(role=role, rules=rules, result="consolidated", lessons=cites)


def remains(fold: MemoryFold, gone: Iterable[str]) -> list[str]:
    """What any version still holds of problems that were forgotten."""
    found = list[str]()
    for memory in fold.versions.values():
        for item in memory.whole():
            rests = item.text.rpartition(" of ")[2].split(",")
            found += [f"{memory.name}: {item.text}" for name in gone if name in rests]
        members = fold.closing(memory.number).members if memory.number else ()
        labels = [label.episode for label in memory.labels or ()]
        held = {*members, *labels}
        found += [f"{memory.name}: {name}" for name in gone if episode_of(name) in held]
    return found


SEEDS = range(160)


def test_nothing_of_what_is_forgotten_remains() -> None:
    heard = 0
    for seed in SEEDS:
        life = Life(seed)
        assert remains(life.fold, life.gone) == [], seed
        fold = life.fold
        assert fold.forgetting == Forgetting(fold.forgetting.subjects), seed
        assert (fold.batches, fold.learning) == ({}, {}), seed
        revised = [memory for memory in life.fold.versions.values() if memory.revision > 1]
        heard += bool(revised)
    assert heard > len(SEEDS) / 5, "versions are overtaken"


def meaning(fold: MemoryFold) -> tuple[Any, ...]:
    versions = [(memory.name, memory.state()) for memory in fold.versions.values()]
    batches = {number: closed.revision for number, closed in fold.batches.items()}
    return versions, batches, fold.forgetting, fold.learning.keys()


def test_whoever_learns_folds_it_alike() -> None:
    for seed in SEEDS:
        log = Life(seed).log
        learner = Learner(lambda name: PUPIL, log)
        learner.scope(SCOPE, "pupil", "service", {})
        for each in log.told:
            learner.feed(*each)
        scope = learner.scopes[SCOPE]
        assert meaning(scope.memory) == meaning(log.state.memory(SCOPE)), seed
        assert (scope.unfinished, scope.owes, scope.window.again) == (None, False, None)


@pytest.mark.parametrize("seed", range(40))
def test_from_snapshots_that_were_written_on_the_way(seed: int, tmp_path: Path) -> None:
    """Each writes only what changed since the one before; some are gone on from."""
    log, draw = Life(seed).log, random.Random(seed)
    state, kept = State(), Snapshots(tmp_path / "kept.db", "log")
    state.attach(log)
    kept.save(state)
    for offset, each in enumerate(log.told, 1):
        state.feed(offset, *each)
        if draw.random() < 0.3:
            kept.save(state)
            if draw.random() < 0.4:
                kept = Snapshots(kept.path, "log")
                state = kept.load()
                state.attach(log)
    kept.save(state)
    again = Snapshots(kept.path, "log").load()
    again.attach(log)
    assert meaning(again.memory(SCOPE)) == meaning(log.state.memory(SCOPE))
