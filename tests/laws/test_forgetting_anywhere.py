"""Law: whatever is asked, forgotten and asked again, in whichever memory, the log folds to one state."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state.folds.lives import name_of
from state.folds.state import State
from state.snapshot import Snapshots
from streams.engine.learner import Learner
from streams.engine.policies import find
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.records import LogRecords
from tests.state.test_snapshot import same
from tests.streams.cli.calling import call

pytestmark = [pytest.mark.live, pytest.mark.slow]
MODEL = ("--backbone", "rehearsal:seed=7")
IDLE = ("--until-idle", "--settle", "--no-tables", "--display", "none")


@dataclass(frozen=True)
class Asked:
    """Some of three problems, with one policy; a memory is one policy's."""

    policy: str
    first: int
    last: int

    def on(self, log: Path) -> None:
        source = f"game24:{self.first}-{self.last}"
        small = ("--set", "batch_size=2") if self.policy == "mc2" else ()
        done = call("produce", source, "--policy", self.policy, *small, "--log", log)
        assert done.code == 0, done.err


@dataclass(frozen=True)
class Worked:
    """Whatever waits is worked on."""

    def on(self, log: Path) -> None:
        done = call("worker", *MODEL, *IDLE, "--log", log)
        assert done.code == 0, done.err


@dataclass(frozen=True)
class Forgotten:
    """A problem is forgotten where it is known; rules that rest on it are written again, or fewer."""

    problem: int
    calls: int | None

    def on(self, log: Path) -> None:
        limit = () if self.calls is None else ("--call-limit", self.calls)
        words = ("--problem", f"n{self.problem}", "--yes", *MODEL, *limit)
        done = call("forget", *words, "--log", log)
        assert done.code == 0 or f"no problem 'n{self.problem}'" in done.err


PROBLEM = st.integers(901, 903)
ASKED = st.tuples(st.sampled_from(["mc2", "mgv_flavell", "cot"]), PROBLEM, PROBLEM).map(
    lambda drawn: Asked(drawn[0], min(drawn[1:]), max(drawn[1:]))
)
FORGOTTEN = st.builds(Forgotten, PROBLEM, st.sampled_from([None, None, 1, 2]))
STEPS = st.lists(
    st.one_of(st.tuples(ASKED, st.just(Worked())), st.tuples(FORGOTTEN), st.tuples(ASKED)),
    min_size=3,
    max_size=6,
).map(
    lambda drawn: [Asked("mc2", 901, 903), Worked(), *(s for step in drawn for s in step), Worked()]
)


@given(STEPS, st.lists(st.floats(0, 1), min_size=2, max_size=4))
@settings(max_examples=30)
def test_a_log_folds_to_one_state_whatever_was_forgotten_where(
    steps: Sequence[Asked | Worked | Forgotten], cuts: Sequence[float]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        for step in steps:
            step.on(path)
        with closing(SqliteLog(path)) as log:
            known = fold(log, State())
            assert versions(known) == learned(log)
            assert standing(known) == held(known)
            assert same(by_snapshots(log, Path(folder) / "s.db", cuts), known)


def versions(state: State) -> dict[str, list[str]]:
    """Every memory version, by what it means."""
    memories = {scope: fold.versions for scope, fold in state.memories.items()}
    return {scope: [m.state() for m in held.values()] for scope, held in memories.items()}


def standing(state: State) -> set[tuple[str, str, str, bool]]:
    """Lives that are not withdrawn, with their texts, and whether they last."""
    lives = ((key, life) for key, life in state.lives.known.items() if not life.withdrawn)
    return {(*key, life.item.text, life.until is None) for key, life in lives}


def held(state: State) -> set[tuple[str, str, str, bool]]:
    """What any memory version holds as it stands now, and whether the newest has it in prompts."""
    return {
        (scope, name_of(item), item.text, name_of(item) in map(name_of, fold.latest.items))
        for scope, fold in state.memories.items()
        for memory in fold.versions.values()
        for item in memory.whole()
    }


def learned(log: SqliteLog) -> dict[str, list[str]]:
    """The same as the learner of a worker has them."""
    learner = Learner(find, LogRecords(log))
    for record in log.records("learning"):
        learner.feed(record.episode, record.address, record.event)
    memories = {name: scope.memory.versions for name, scope in learner.scopes.items()}
    return {name: [m.state() for m in held.values()] for name, held in memories.items()}


def by_snapshots(log: SqliteLog, path: Path, cuts: Sequence[float]) -> State:
    """The state as projectors have it that were ended here and there."""
    places = sorted({0, log.end(), *(round(cut * log.end()) for cut in cuts)})
    state = Snapshots(path, "log").load()
    for _, upto in pairwise(places):
        kept = Snapshots(path, "log")
        state = fold(log, kept.load(), upto)
        kept.save(state)
    return Snapshots(path, "log").load()
