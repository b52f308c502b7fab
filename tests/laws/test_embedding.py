"""Laws of a memory's vectors by another embedder: each item gets its own, and nothing else changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.embedding import TOGETHER, embed_anew
from schemas.memory import Memory, MemoryItem
from schemas.questions import Embed


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
