"""The learner reads only what it takes; and a scope that begins with what another learned."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace

from handlers.policies.mc2.settings import Mc2Settings
from schemas.events.learning import KnowledgeConsolidated, MemoryVersioned
from schemas.identity import learning_id
from state.folds.memory import MemoryFold
from state.folds.state import State
from streams.engine.learner import HEARD_KINDS, Learner
from streams.engine.policies import find
from streams.engine.scopes import scope_made, settings_text
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.records import LogRecords
from tests.papers.mc2_says import full_memory
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


def test_a_scope_that_starts_from_another_says_whose_rules_it_begins_with() -> None:
    """Version 0 holds the rules alone, in its own name; its facts are recorded before it, by number."""
    source = replace(full_memory(("one", "two"), number=4), scope="game24/mc2/main/0", revision=2)
    mine = scope_made(find("mc2"), MemoryFold("mine"), "paper", {"warm_start": source.scope})
    assert mine.warm_source == source.scope
    learner = Learner(find, scopes={"mine": mine})
    *facts, (address, version) = learner.warm(mine, source)
    assert [at for at, _ in facts] == ["0", "1", "2"]
    assert [fact.role for _, fact in facts if isinstance(fact, KnowledgeConsolidated)] == [
        "reasoner",
        "monitor",
        "controller",
    ]
    assert address == "version"
    assert isinstance(version, MemoryVersioned)
    assert (version.scope, version.number, version.live_from) == ("mine", 0, 1)
    assert version.origin == "game24/mc2/main/0@4.2"
    for at, event in (*facts, (address, version)):
        assert learner.feed(learning_id("mine", 0), at, event)
    (zero,) = mine.memory.versions.values()
    assert (zero.scope, zero.number, zero.state()) == ("mine", 0, version.state)
    assert sorted((item.role, item.text) for item in zero.items) == sorted(
        (item.role, item.text) for item in source.items if item.kind == "rule"
    )
    assert mine.warm_source is None, "once"


def test_a_setting_that_came_after_logs_were_written_is_named_only_where_it_is_set() -> None:
    """What an earlier build wrote has the same digest as what this one writes."""
    off = {"composer": "off"}
    usual, bare = (settings_text(Mc2Settings.resolve("service", given)) for given in ({}, off))
    assert not {"composer", "prompts"} & json.loads(usual).keys()
    assert json.loads(bare) == {**json.loads(usual), "composer": "off"}
    assert settings_text(Mc2Settings.resolve("service", {"composer": "on"})) == usual
