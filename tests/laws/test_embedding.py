"""Laws of a memory's vectors by another embedder: each item and context gets its own, and nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.bandits import arms_of, linucb
from handlers.learning.contexts import Folded, anew
from handlers.learning.embedding import TOGETHER, embed_anew
from handlers.learning.measured import Measured
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings, constants
from schemas.memory import Memory, MemoryItem
from schemas.questions import Embed
from schemas.vectors import pack


def item(at: int, vector: str | None) -> MemoryItem:
    return MemoryItem(f"L{at}", "lesson", "r", f"text {at}", f"d{at}", 1, vector=vector)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    """Items with and without a vector, some of them set aside."""
    kinds = draw(st.lists(st.sampled_from(["live", "bare", "aside"]), max_size=12))
    items = [item(at, None if kind == "bare" else f"old {at}") for at, kind in enumerate(kinds)]
    aside = tuple((at, items[at]) for at, kind in enumerate(kinds) if kind == "aside")
    live = tuple(each for each, kind in zip(items, kinds, strict=True) if kind != "aside")
    return Memory("s", 3, live, aside=aside, embedder="old")


@given(memories(), st.integers(min_value=0, max_value=12))
def test_each_vector_goes_to_its_item_and_nothing_else_changes(memory: Memory, given_: int) -> None:
    owed = [each.id for each in memory.embedded()]
    vectors = [f"new {name}" for name in owed][:given_]
    after = memory.embedded_anew(vectors, "new", 1)
    came = dict(zip(owed, vectors, strict=False))
    assert {i.id: i.vector for i in after.whole()} == {i.id: came.get(i.id) for i in memory.whole()}
    bare = [each._replace(vector=None) for each in memory.whole()]
    assert [each._replace(vector=None) for each in after.whole()] == bare
    assert [place for place, _ in after.aside] == [place for place, _ in memory.aside]
    assert (after.embedder, after.revision, after.number) == ("new", 1, memory.number)


@given(st.integers(min_value=0, max_value=3 * TOGETHER))
def test_every_item_with_a_vector_is_asked_for_once_and_in_order(count: int) -> None:
    items = tuple(item(at, "old" if at % 3 else None) for at in range(count))
    asked: list[Embed] = []
    for question in embed_anew(Memory("s", 1, items), lambda item: item.text):
        assert isinstance(question, Embed)
        asked.append(question)
    assert [text for each in asked for text in each.texts] == [i.text for i in items if i.vector]
    assert all(0 < len(each.texts) <= TOGETHER for each in asked)


ARMS = constants(MetaReasonerSettings(feature_dims=None, merge_above=0.9, retire_after=2))
TEXTS = [f"t{at}" for at in range(8)]
FLAT = st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 3).map(pack)
EMBEDDERS = st.fixed_dictionaries(dict.fromkeys(TEXTS, FLAT))
"""Few directions: some texts are alike, so that proposals are merged."""

Batches: TypeAlias = list[list[tuple[list[str], list[tuple[str, str, float]]]]]


@st.composite
def batches(draw: st.DrawFn) -> Batches:
    """By batch and episode: texts that were proposed, and pulls of an arm in a context."""
    text, arm = st.sampled_from(TEXTS), st.sampled_from(["a1", "a2", "a4", "a5"])
    pull = st.tuples(arm, text, st.sampled_from([-0.5, 0.1, 0.9]))
    one = st.tuples(st.lists(text, max_size=2), st.lists(pull, max_size=4))
    return draw(st.lists(st.lists(one, max_size=3), min_size=1, max_size=3))


def measured(
    proposed: Sequence[str], pulls: Sequence[tuple[str, str, float]], by: Mapping[str, str]
) -> Measured:
    proposals = [
        {"id": f"a{4 + at}", "when": "w", "text": text, "parent": "a1", "vector": by[text]}
        for at, text in enumerate(proposed)
    ]
    rows = [[arm, by[text], reward, reward] for arm, text, reward in pulls]
    summary = {"proposals": proposals, "pulls": rows}
    return Measured("p/x", "unknown", summary, texts=tuple(text for _, text, _ in pulls))


def folded(given_: Batches, by: Mapping[str, str]) -> tuple[dict[str, Any], list[Folded]]:
    """The state after all batches, and what each was folded of."""
    state: dict[str, Any] = {}
    history: list[Folded] = []
    for batch in given_:
        history.append(
            Folded(state, [measured(proposed, pulls, by) for proposed, pulls in batch], ARMS)
        )
        state = linucb(state, history[-1].members, ARMS)
    return state, history


@given(batches(), EMBEDDERS)
def test_arms_by_their_own_embedder_are_what_they_were(
    given_: Batches, by: Mapping[str, str]
) -> None:
    """Merges, retirements and regressions of any history, reckoned again from texts: the same to the bit."""
    state, history = folded(given_, by)
    assert anew(state, history, ARMS, lambda text: by[str(text)]) == state


@given(batches(), EMBEDDERS, EMBEDDERS)
def test_what_was_decided_about_arms_stays_whoever_embeds(
    given_: Batches, by: Mapping[str, str], other: Mapping[str, str]
) -> None:
    state, history = folded(given_, by)
    after = arms_of(anew(state, history, ARMS, lambda text: other[str(text)]), ARMS)
    decided = ("id", "text", "parent", "pulls", "rated", "retired", "origin")
    for old, new in zip(arms_of(state, ARMS), after, strict=True):
        assert [getattr(old, name) for name in decided] == [getattr(new, name) for name in decided]
        assert new.vector == (None if old.vector is None else other[old.text])


@given(batches(), EMBEDDERS)
def test_without_vectors_arms_keep_their_counts_and_know_no_context(
    given_: Batches, by: Mapping[str, str]
) -> None:
    """As after a question that was given up: nothing of another embedder is left, and no pull is lost."""
    state, history = folded(given_, by)
    bare = arms_of(anew(state, history, ARMS, lambda text: None), ARMS)
    assert [(arm.id, arm.pulls) for arm in bare] == [
        (arm.id, arm.pulls) for arm in arms_of(state, ARMS)
    ]
    assert not any(arm.vector or arm.rows or arm.inverse for arm in bare)
