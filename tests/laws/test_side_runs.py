"""Laws of side runs: solves and forks on one log, each by a process that may end, be killed or lose its claim.

Each has connections of its own, as a process would; what happens between them is drawn step by step.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from schemas.events.episode import Completed
from schemas.identity import digest
from state.journal import Fenced
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.embedded.sides import EpisodeLock, beside
from tests.laws.test_fence import connect

EPISODES = [f"p/default/{name}/0" for name in "abcd"]
LIVING = st.integers(0, 9)


@dataclass
class SideRun:
    """Works on what it read after its claim, and on what it was answered since."""

    log: SqliteLog
    lock: EpisodeLock
    episode: str
    ends: ExitStack = field(default_factory=ExitStack)
    waiting: int = 0
    fenced: bool = False
    writer: Writer = field(init=False)
    known: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.ends.callback(self.lock.close)
        self.ends.callback(self.log.close)
        self.writer = self.ends.enter_context(beside(self.log, "solve", self.episode))
        said = self.log.journal(self.episode).values()
        self.known = [event.text for event in said if isinstance(event, Completed)]

    def ask(self, luck: int) -> str:
        """An answer that hangs on all before it; it is paid for from now on."""
        text = digest([luck, *self.known])
        because = f"Complete {digest(self.known)}"
        event = Completed(asked=because, text=text, finish="stop", model="m")
        self.writer.state("events", self.episode, str(len(self.known)), event)
        self.known.append(text)
        self.waiting += 1
        return text


class SideRuns(RuleBasedStateMachine):
    """Several side runs, and someone who takes their partitions from them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name, "law.db")
        SqliteLog(self.path, create=True).close()
        self.reader = connect(self.path)
        self.worker = self.reader.claim("worker")
        self.living: list[SideRun] = []
        self.landed: dict[str, list[str]] = {episode: [] for episode in EPISODES}
        self.stale = self.asked = 0

    def teardown(self) -> None:
        for run in self.living:
            run.ends.close()
        self.reader.close()
        self.folder.cleanup()

    @rule(episode=st.sampled_from(EPISODES))
    def begin(self, episode: str) -> None:
        """An episode that somebody works on is refused; else its run gets the lowest free partition."""
        lock = EpisodeLock(self.path, episode)
        if any(run.episode == episode for run in self.living):
            assert not lock.take()
            lock.close()
            return
        assert lock.take()
        taken = {run.writer.partition for run in self.living if not self._was_robbed(run)}
        run = SideRun(connect(self.path), lock, episode)
        assert run.writer.partition == min(set(range(1, 99)) - taken)
        assert run.known == self.landed[episode]
        self.living.append(run)

    def _was_robbed(self, run: SideRun) -> bool:
        """Whether somebody claimed its partition since."""
        query = "select epoch from claims where topic = 'events' and partition = ?"
        row = self.reader.db.execute(query, (run.writer.partition,)).fetchone()
        return row is None or row[0] != run.writer.epoch

    @precondition(lambda self: self.living)
    @rule(which=LIVING)
    def ask(self, which: int) -> None:
        run = self.living[which % len(self.living)]
        if not run.fenced:
            self.asked += 1
            run.ask(self.asked)

    @precondition(lambda self: self.living)
    @rule(which=LIVING)
    def land(self, which: int) -> None:
        self._land(self.living[which % len(self.living)])

    def _land(self, run: SideRun) -> None:
        robbed = self._was_robbed(run)
        try:
            run.writer.flush()
        except Fenced:
            assert robbed, "its claim was the latest"
            run.fenced = True
            self.stale += run.waiting
        else:
            assert not (robbed and run.waiting)
            if not robbed:
                self.landed[run.episode] = list(run.known)
        run.waiting = 0

    @precondition(lambda self: self.living)
    @rule(which=LIVING)
    def end(self, which: int) -> None:
        run = self.living.pop(which % len(self.living))
        self._land(run)
        run.ends.close()

    @precondition(lambda self: self.living)
    @rule(which=LIVING)
    def die(self, which: int) -> None:
        """Killed: what it had not written is lost, its claim stands, its lock is gone."""
        run = self.living.pop(which % len(self.living))
        run.log.db.close()
        run.ends.close()

    @precondition(lambda self: self.living)
    @rule(which=LIVING)
    def rob(self, which: int) -> None:
        """Somebody takes its partition though it lives: its lock's file was removed, say."""
        robber = connect(self.path)
        robbed = self.living[which % len(self.living)].writer.partition
        robber.give_back(robber.claim("robber", robbed))
        robber.close()

    @invariant()
    def what_was_landed_is_on_the_log_once(self) -> None:
        for episode, texts in self.landed.items():
            said = list(self.reader.journal(episode).values())
            assert [event.text for event in said if isinstance(event, Completed)] == texts
        assert (self.reader.counter("stale"), self.reader.counter("repeated")) == (self.stale, 0)

    @invariant()
    def only_the_living_and_the_killed_have_partitions(self) -> None:
        """As many as ever lived at once, however many there were; the worker keeps its own."""
        claims = self.reader.claims()
        assert claims[0] == "worker"
        assert len(claims) <= 1 + len(EPISODES)
        self.worker.keep(str(self.reader.end()), "a worker beside them is not disturbed")
        self.worker.flush()


@pytest.mark.timeout(300)
def test_no_living_side_run_is_ever_fenced_and_nothing_paid_is_lost() -> None:
    run_state_machine_as_test(SideRuns, settings=settings(max_examples=60, stateful_step_count=40))
