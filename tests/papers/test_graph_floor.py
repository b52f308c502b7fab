"""Graph memory's floor of likeness: what is unlike a problem counts for nothing in ``service``, however near it is.

The paper takes the nearest cases, however far they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from handlers.learning.likeness import BY_LETTERS, USUAL
from handlers.policies.base import Conclusion, Task
from handlers.policies.bases import BASES
from handlers.policies.graph_memory import GRAPH_MEMORY, GraphSettings
from handlers.policies.graph_memory.settings import base_of
from schemas.events.graph import ExperienceShown, PairCompared, PairSkipped, PrincipleInduced
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.problem import Profile
from schemas.vectors import pack
from tests.papers.gm_says import BAD, FAR, GOOD, NEAR, OTHER, PROBLEM, learning, member, remembering
from tests.papers.mc2_says import near_to
from tests.scripted import Ran, hashed, run, shown

ANSWER = "<answer>the Seine</answer>"
UNLIKE = "Sort these letters backwards"
"""A problem that shares no word with the others."""


def used(
    memory: Memory, profile: Profile = "service", problem: str = PROBLEM, **values: Any
) -> Ran[Conclusion]:
    """An episode that may be guided by this memory."""
    settings = GraphSettings.resolve(profile, {"phase": "use", **values})
    task = Task("h1", problem, "qa", seed=7, memory_version=memory.number)
    return run(GRAPH_MEMORY.solve(task, settings), [ANSWER], memory=memory)


def principles(ran: Ran[Conclusion]) -> list[str]:
    return [name for fact in ran.of(ExperienceShown) for name in fact.items]


def both() -> Memory:
    """A case that is like the problem, one that is not, and what stands on the path of each."""
    return remembering(
        {NEAR: {GOOD: "right"}, UNLIKE: {OTHER: "right"}}, {GOOD: {"m1": 1.0}, OTHER: {"m2": 9.0}}
    )


def far() -> Memory:
    return remembering({UNLIKE: {OTHER: "right"}}, {OTHER: {"m2": 1.0, "m3": 1.0}})


# ── Used ─────────────────────────────────────────────────────────────────────────────────────


def test_a_problem_that_is_like_no_case_is_worked_on_by_the_base_word_for_word() -> None:
    ran = used(far())
    assert principles(ran) == []
    base, own = base_of(GraphSettings.resolve("service", {}))
    task = Task("h1", PROBLEM, "qa", seed=7, memory_version=1)
    bare = run(base.solve(task, own), [ANSWER], memory=far())
    assert [shown(question) for question in ran.requests] == [shown(q) for q in bare.requests]
    assert base.name in BASES


def test_the_paper_shows_what_is_nearest_however_far_it_is() -> None:
    assert set(principles(used(far(), "paper"))) == {"m2", "m3"}
    assert GraphSettings.resolve("paper", {}).relevance_floor is None


def test_only_what_is_like_the_problem_is_active() -> None:
    """Neither a principle nor a weight of the other path reaches the prompt, though it weighs nine times as much."""
    ran = used(both())
    [fact] = ran.of(ExperienceShown)
    assert fact.items == ("m1",)
    alone = remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m1": 1.0}})
    assert fact.scores == used(alone).of(ExperienceShown)[0].scores
    assert "advice m2" not in shown(ran.requests[0])
    assert set(principles(used(both(), "paper"))) == {"m1", "m2"}


@pytest.mark.parametrize(
    ("embedder", "floor"),
    [("hashed-256", BY_LETTERS.floor), ("minilm-l6-v2-int8", USUAL.floor), (None, USUAL.floor)],
)
def test_each_embedder_brings_its_own_floor(embedder: str | None, floor: float) -> None:
    for cosine, found in ((floor + 0.01, ["m1"]), (floor - 0.01, [])):
        memory = replace(at(near_to(hashed(PROBLEM), cosine)), embedder=embedder)
        assert principles(used(memory)) == found
        assert principles(used(memory, relevance_floor=0.9)) == []
        assert principles(used(memory, "paper")) == ["m1"]


def at(vector: Sequence[float]) -> Memory:
    """A memory whose one case has this vector."""
    memory = remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m1": 1.0}})
    items = [_moved(item, vector) if item.role == "case" else item for item in memory.items]
    return replace(memory, items=tuple(items))


def _moved(item: MemoryItem, vector: Sequence[float]) -> MemoryItem:
    return item._replace(vector=pack(vector))


# ── Weighed and built ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("floor", "pairs"), [("embedder", 0), (None, 1)])
def test_a_problem_that_is_like_no_case_moves_no_weight_and_says_why(
    floor: str | None, pairs: int
) -> None:
    ran = learning(
        member("wrong", None, phase="weigh"),
        script=lambda _: ANSWER,
        memory=far(),
        label=lambda _: "right",
        relevance_floor=floor,
    )
    assert len(ran.of(PairCompared)) == pairs
    assert [fact.reason for fact in ran.of(PairSkipped)] == ["no_principle"] * (1 - pairs)
    assert bool(ran.requests) == bool(pairs)


@pytest.mark.parametrize(
    ("case", "floor", "borrowed"),
    [(NEAR, "embedder", 1), (UNLIKE, "embedder", 0), (UNLIKE, None, 1)],
)
def test_a_failure_borrows_only_from_problems_that_are_like_its_own(
    case: str, floor: str | None, borrowed: int
) -> None:
    memory = remembering({case: {GOOD: "right"}}, {GOOD: {"m1": 1.0}})
    ran = learning(member("wrong", BAD), memory=memory, relevance_floor=floor)
    facts = ran.of(PrincipleInduced)
    assert len(facts) == borrowed
    assert all(fact.near == (text_digest(case),) for fact in facts)


def test_what_is_far_by_words_is_not_far_by_letters_alone() -> None:
    """The other question of the scripts shares words such as "the": a floor, and no judge of meaning."""
    memory = remembering({FAR: {GOOD: "right"}}, {GOOD: {"m1": 1.0}})
    assert principles(used(memory)) == ["m1"]
