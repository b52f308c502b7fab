"""Another embedder for what was measured: at any moment, and after any crash, as if it had always been there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.memory import Memory
from tests.contracts.runtimes import in_one_process
from tests.streams.measuring import (
    BANDIT,
    CASES,
    COUNT,
    GRAPH,
    asked,
    changed,
    life_of,
    live,
    lived,
    memory_of,
)

POLICIES = {"arms": BANDIT, "cases": CASES, "graph": GRAPH}
OLD, NEW = 16, 24


@cache
def undisturbed(name: str, width: int, marks: Sequence[int], forgotten: Sequence[int]) -> Memory:
    """What one embedder makes of all of it."""
    with in_one_process() as runtime:
        widths = [width] * (len(marks) + 1)
        return lived(runtime, POLICIES[name], widths, marks, (), forgotten)


def same_measures(one: Memory, other: Memory) -> None:
    assert one.learned == other.learned
    assert one.embedder == other.embedder
    assert [(i.id, i.vector) for i in one.whole()] == [(i.id, i.vector) for i in other.whole()]


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=12)
@given(
    st.lists(st.integers(3, COUNT), min_size=1, max_size=2).map(sorted),
    st.lists(st.integers(0, 9), max_size=2),
    st.lists(st.integers(0, COUNT - 1), max_size=2, unique=True),
)
def test_a_memory_is_as_its_new_embedder_would_have_made_it(
    name: str, marks: list[int], deaths: list[int], forgotten: list[int]
) -> None:
    """There, and back again if there are two marks; problems are forgotten from under it."""
    widths = [OLD, NEW, OLD][: len(marks) + 1]
    with in_one_process() as runtime:
        found = lived(runtime, POLICIES[name], widths, marks, deaths, forgotten)
    same_measures(found, undisturbed(name, widths[-1], tuple(marks), tuple(forgotten)))


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=8)
@given(st.lists(st.integers(0, 6), max_size=2))
def test_a_change_that_is_taken_back_half_way_leaves_nothing_of_it(
    name: str, deaths: list[int]
) -> None:
    with in_one_process() as runtime:
        log, policy = runtime.log(), POLICIES[name]
        log.publish([asked(at) for at in range(5)])
        live(runtime, policy, OLD)
        log.publish(commands=[changed(1, NEW)])
        for left in deaths:
            runtime.live(life_of(policy, NEW, dies_after=left))
        log.publish(commands=[changed(2, OLD)])
        live(runtime, policy, OLD)
        log.publish([asked(at) for at in range(5, COUNT)])
        live(runtime, policy, OLD)
        live(runtime, policy, OLD, settle=True)
        found = memory_of(log, policy)
    same_measures(found, undisturbed(name, OLD, (5,), ()))
