"""The law of lives: what is carried from one version to the next is what looking it up anew would find."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.memory import Memory, MemoryItem
from state.folds.lives import LivesFold, name_of

ROLES, IDS, TEXTS = (
    st.sampled_from("rs"),
    st.sampled_from(["R1", "R2", "R3"]),
    st.sampled_from("ab"),
)
RULES = st.dictionaries(st.tuples(ROLES, IDS), TEXTS, max_size=5)
"""Ids of rules by role: two roles may well number theirs alike."""


def version(number: int, rules: dict[tuple[str, str], str], before: Memory) -> Memory:
    """A version of these rules; one that says the same as before is the same item."""
    known = {(item.role, item.id, item.text): item for item in before.items}
    items = tuple(
        known.get((role, name, text)) or MemoryItem(name, "rule", role, text, f"d-{text}", number)
        for (role, name), text in rules.items()
    )
    return Memory("s", number, items)


@given(st.lists(RULES, min_size=1, max_size=6))
def test_lives_begin_and_end_with_their_items_whatever_roles_call_them(
    versions: list[dict[tuple[str, str], str]],
) -> None:
    fold, before = LivesFold(), Memory("s", 0)
    for number, rules in enumerate(versions, 1):
        after = version(number, rules, before)
        for _ in fold.versioned(before, after, number):
            pass
        standing = {life.key[1] for life in fold.known.values() if life.until is None}
        assert standing == {name_of(item) for item in after.items}
        for item in after.items:
            (life,) = fold.used(f"p/{number}", after, (item.id,), "unknown", number)
            alike = [each for each in after.items if each.id == item.id]
            assert life.item is alike[-1]
        before = after
