"""The learner reads only what it takes: what its episodes asked and were answered changes nothing."""

from __future__ import annotations

from contextlib import closing

from state.folds.state import State
from streams.learner import HEARD_KINDS, Learner
from streams.policies import find
from streams.rebuild import fold
from streams.records import LogRecords
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.learned import made


def test_what_it_does_not_hear_it_does_not_need() -> None:
    with closing(SqliteLog(made())) as log:
        whole, learner = fold(log, State()), Learner(find, LogRecords(log))
        heard = list(log.records("learning", kinds=HEARD_KINDS))
        for record in heard:
            learner.feed(record.episode, record.address, record.event)
        assert 0 < len(heard) < len(list(log.records("learning")))
        assert learner.scopes.keys() == whole.memories.keys()
        for name, scope in learner.scopes.items():
            kept = whole.memories[name]
            assert len(scope.memory.versions) > 1
            assert scope.memory.versions == kept.versions
            assert (scope.memory.reflected, scope.batches) == (kept.reflected, kept.batches)
            assert scope.memory.labelling == kept.labelling
