"""Laws of recall: a pure function, the nearest first, ties by id, never a problem's own lessons."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.cosine import cosine
from handlers.learning.likeness import likeness_of
from handlers.learning.recall import same, select
from schemas.identity import digest, text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Recall
from schemas.vectors import HALF_LIMIT, as_kept, pack, unpack

ROLES = ("thinker", "judge")
HALVES = st.floats(-HALF_LIMIT, HALF_LIMIT, width=16)
SMALL = st.sampled_from([-1.0, 0.0, 1.0, 2.0])
VECTORS = st.lists(SMALL | HALVES, min_size=3, max_size=3).map(tuple)


def item(
    name: int, kind: str, role: str, subject: str, vector: tuple[float, ...] | None
) -> MemoryItem:
    text = f"{kind} {name}"
    return MemoryItem(
        id=f"{kind[0]}{name}",
        kind=kind,
        role=role,
        text=text,
        text_digest=text_digest(text),
        batch=1,
        subject=subject,
        vector=None if vector is None else pack(vector),
    )


ITEMS = st.builds(
    item,
    st.integers(0, 99),
    st.sampled_from(["lesson", "lesson", "rule"]),
    st.sampled_from(ROLES),
    st.sampled_from(["", "d/a", "d/b"]),
    st.none() | VECTORS,
)
MEMORIES = st.lists(ITEMS, max_size=12, unique_by=lambda each: each.id).map(
    lambda items: Memory("s", 1, tuple(items))
)
QUESTIONS = st.builds(
    Recall,
    st.just("query"),
    st.sampled_from([ROLES, ROLES[:1], ROLES[1:], ()]),
    st.integers(0, 6),
    st.sampled_from([("rule", "lesson"), ("lesson",), ("rule",)]),
    st.sampled_from(["", "d/a"]),
)


@given(MEMORIES, QUESTIONS, VECTORS, st.randoms(use_true_random=False))
def test_lessons_come_nearest_first_whatever_order_they_were_learned_in(
    memory: Memory, question: Recall, query: tuple[float, ...], chance: Random
) -> None:
    question = replace(question, kinds=("lesson",))
    shuffled = list(memory.items)
    chance.shuffle(shuffled)
    hits = select(memory, question, query)
    assert hits == select(memory, question, query)
    assert hits == select(Memory("s", 1, tuple(shuffled)), question, query)


@given(MEMORIES, QUESTIONS, VECTORS)
def test_the_top_are_those_that_nothing_left_out_beats(
    memory: Memory, question: Recall, query: tuple[float, ...]
) -> None:
    hits = select(memory, question, query)
    for role in question.roles:
        mine = [hit for hit in hits if hit[0].role == role and hit[0].kind == "lesson"]
        able = [
            each
            for each in memory.of(role, "lesson")
            if "lesson" in question.kinds
            and (not question.exclude or each.subject != question.exclude)
        ]
        assert len(mine) == min(question.top, len(able))
        keys = [(-(near or 0.0), each.id) for each, near in mine]
        assert keys == sorted(keys)
        taken = {each.id for each, _ in mine}
        for each in able:
            near = round(cosine(query, unpack(each.vector)), 9) if each.vector else 0.0
            assert each.id in taken or not keys or (-near, each.id) > keys[-1]


@given(MEMORIES, QUESTIONS, VECTORS)
def test_rules_come_all_and_in_order_and_own_lessons_never(
    memory: Memory, question: Recall, query: tuple[float, ...]
) -> None:
    hits = select(memory, question, query)
    for role in question.roles:
        rules = [each for each, near in hits if near is None and each.role == role]
        assert tuple(rules) == (memory.of(role, "rule") if "rule" in question.kinds else ())
    assert {each.role for each, _ in hits} <= set(question.roles)
    assert not question.exclude or all(
        each.subject != question.exclude for each, near in hits if near is not None
    )


@given(MEMORIES, QUESTIONS, VECTORS, st.sampled_from([None, "hashed-256", "minilm-53aa5117-256"]))
def test_what_is_related_is_above_the_floor_and_each_lesson_once(
    memory: Memory, question: Recall, query: tuple[float, ...], embedder: str | None
) -> None:
    """Nothing that was left out for another reason would have been near enough and new."""
    memory, meant = replace(memory, embedder=embedder), likeness_of(embedder)
    hits = select(memory, replace(question, related=True), query)
    for role in question.roles:
        mine = [(hit, near) for hit, near in hits if hit.role == role and near is not None]
        assert all(near >= meant.floor for _, near in mine)
        kept = [hit for hit, _ in mine]
        assert not any(same(a, b, meant) for at, a in enumerate(kept) for b in kept[:at])
        if "lesson" not in question.kinds or len(mine) == question.top:
            continue
        every = select(memory, replace(question, top=99), query)
        for item, near in every:
            if item.role == role and near is not None and near >= meant.floor:
                assert any(item is hit or same(item, hit, meant) for hit in kept)


@given(QUESTIONS)
def test_a_question_of_an_earlier_build_is_asked_in_the_same_words(question: Recall) -> None:
    """Recordings of what was recalled without this hang on its digest."""
    said = digest([question.roles, question.top, question.kinds, question.exclude])
    assert dict(question.parts())["wanted"] == said
    assert dict(replace(question, related=True).parts())["wanted"] != said


@given(VECTORS)
def test_the_zero_vector_is_like_nothing(vector: tuple[float, ...]) -> None:
    assert cosine((0.0, 0.0, 0.0), vector) == cosine(vector, (0.0, 0.0, 0.0)) == 0.0


@given(VECTORS, VECTORS)
def test_a_similarity_is_a_number_that_can_be_recorded(
    left: tuple[float, ...], right: tuple[float, ...]
) -> None:
    near = cosine(left, right)
    assert -1.0 <= near <= 1.0
    assert near == cosine(right, left)
    assert not any(left) or math.isclose(cosine(left, left), 1.0, rel_tol=1e-12)


@given(st.lists(HALVES))
def test_a_vector_comes_back_as_it_was_kept(vector: list[float]) -> None:
    kept = as_kept(vector)
    assert kept == tuple(vector)
    assert as_kept(kept) == kept


@given(st.lists(st.floats(-HALF_LIMIT, HALF_LIMIT), max_size=5))
def test_a_live_vector_and_a_replayed_one_are_equal(vector: list[float]) -> None:
    assert unpack(pack(as_kept(vector))) == as_kept(vector)
