"""The mirror recalls what the plain rule recalls, whatever the vectors are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.recall import select
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Recall
from schemas.vectors import as_kept, pack
from state.mirror import SMALL, Mirrors

NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 0.25, 3e-5, 65504.0, 6e-8, 1.0009765625])
VECTOR = st.lists(NUMBERS, min_size=5, max_size=5).map(tuple)
ROLE = "monitor"


def item(number: int, vector: tuple[float, ...] | None, subject: str, kind: str) -> MemoryItem:
    text = f"text {number}"
    packed = None if vector is None else pack(vector)
    return MemoryItem(
        id=f"L{number * 7919 % 1000}.{number}",
        kind=kind,
        role=ROLE,
        text=text,
        text_digest=text_digest(text),
        batch=1,
        subject=subject,
        vector=packed,
    )


ITEM = st.tuples(
    st.one_of(st.none(), VECTOR),
    st.sampled_from(["d/a", "d/b", ""]),
    st.sampled_from(["lesson", "lesson", "lesson", "rule"]),
)
MEMORY = st.lists(ITEM, min_size=0, max_size=3 * SMALL).map(
    lambda parts: Memory(
        "s", 1, tuple(item(n, vector, of, kind) for n, (vector, of, kind) in enumerate(parts))
    )
)


@given(MEMORY, VECTOR, st.integers(0, 6), st.sampled_from(["", "d/a", "d/none"]), st.booleans())
def test_equals_the_plain_rule(
    memory: Memory, query: tuple[float, ...], top: int, exclude: str, related: bool
) -> None:
    question = Recall("q", (ROLE, "nobody"), top, exclude=exclude, related=related)
    kept = as_kept(query)
    assert Mirrors().select(memory, question, kept) == select(memory, question, kept)


def test_near_ties_are_decided_exactly() -> None:
    """Vectors that differ in the last bit of float16, far below the product's error."""
    base = [0.1] * 256
    vectors = [tuple(as_kept([*base[:n], 0.1001, *base[n + 1 :]])) for n in range(200)]
    memory = Memory("s", 1, tuple(item(n, v, "", "lesson") for n, v in enumerate(vectors)))
    query = as_kept(base)
    question = Recall("q", (ROLE,), 3)
    assert Mirrors().select(memory, question, query) == select(memory, question, query)


def test_looks_further_where_the_nearest_all_say_the_same() -> None:
    """A hundred lessons that are one, nearer than any other, and two more far behind them."""
    near = [item(n, (1.0, 0.01 * (n % 3), 0.0, 0.0, 0.0), "", "lesson") for n in range(100)]
    rest = [item(100, (1.0, 1.0, 0.0, 0.0, 0.0), "", "lesson")]
    rest += [item(101, (1.0, 0.0, 1.0, 0.0, 0.0), "", "lesson")]
    memory, query = Memory("s", 1, (*near, *rest)), (1.0, 0.0, 0.0, 0.0, 0.0)
    question = Recall("q", (ROLE,), 3, related=True)
    found = Mirrors().select(memory, question, query)
    assert found == select(memory, question, query)
    assert len(found) == 3
    assert {hit.text for hit, _ in found[1:]} == {"text 100", "text 101"}


def test_keeps_few_blocks_and_never_an_old_one() -> None:
    mirrors = Mirrors(kept=2)
    question = Recall("q", (ROLE,), 1)
    for number in range(5):
        memory = Memory("s", number, (item(number, (1.0,) * 5, "", "lesson"),))
        assert mirrors.select(memory, question, (1.0,) * 5)[0][0] is memory.items[0]
    assert len(mirrors.blocks) == 2
    again = Memory("s", 4, (item(9, (1.0,) * 5, "", "lesson"),))
    assert mirrors.select(again, question, (1.0,) * 5)[0][0] is again.items[0]


@given(st.lists(MEMORY, min_size=2, max_size=4), VECTOR)
def test_a_block_made_from_an_earlier_one_is_the_same(
    memories: list[Memory], query: tuple[float, ...]
) -> None:
    """Versions share items, drop some at the front and add some at the end, as live windows do."""
    mirrors, question, kept = Mirrors(), Recall("q", (ROLE,), 3), as_kept(query)
    items: tuple[MemoryItem, ...] = ()
    for number, memory in enumerate(memories):
        items = (*items[number * 3 :], *memory.items)
        version = Memory("s", number, items)
        assert mirrors.select(version, question, kept) == select(version, question, kept)
