"""Items that a person retired stay out of memory, whatever consolidation makes of their ids and texts."""

from __future__ import annotations

from handlers.learning.retire import ruled
from schemas.events.learning import KnowledgeConsolidated
from schemas.memory import Memory
from state.folds.learned import Learned
from state.folds.lives import LivesFold
from state.folds.succession import Measures, next_memory

ROLE = "reasoner"


def rules(*texts: tuple[str, str]) -> Learned:
    learned = Learned()
    learned.feed("0", KnowledgeConsolidated(role=ROLE, rules=texts, result="consolidated"))
    return learned


def ids(memory: Memory) -> list[tuple[str, str]]:
    return [(item.id, item.text) for item in memory.items]


def aside(memory: Memory) -> list[tuple[str, str]]:
    return [(item.id, item.text) for _, item in memory.aside]


def after(before: Memory, said: Learned, *words: tuple[str, str]) -> Memory:
    measures = Measures({}, ruled(before.standing, words))
    return next_memory(before, said, before.number + 1, 1, measures)


def begun() -> tuple[Memory, str]:
    """A version with two rules, and the mark of the first."""
    first = after(Memory("s", 0), rules(("R1", "one"), ("R2", "two")))
    return first, first.items[0].mark


def test_retired_restored_in_its_place() -> None:
    first, mark = begun()
    second = after(first, Learned(), (mark, "retired"))
    assert (ids(second), aside(second)) == ([("R2", "two")], [("R1", "one")])
    assert ids(after(second, Learned(), (mark, "restored"))) == ids(first)


def test_a_retired_text_stays_out_under_another_id() -> None:
    first, mark = begun()
    second = after(first, Learned(), (mark, "retired"))
    third = after(second, rules(("R1", "two"), ("R2", "one")))
    assert (ids(third), aside(third)) == ([("R1", "two")], [("R2", "one")])
    lives = LivesFold()
    for old, new in ((Memory("s", 0), first), (first, second), (second, third)):
        list(lives.versioned(old, new, new.number))
    assert [life.item.text for life in lives.known.values() if life.retired] == ["one"]


def test_a_restored_rule_does_not_take_the_id_of_a_newer_one() -> None:
    first, mark = begun()
    second = after(first, Learned(), (mark, "retired"))
    third = after(second, rules(("R1", "new"), ("R2", "two")))
    fourth = after(third, Learned(), (mark, "restored"))
    assert ids(fourth) == [("R1", "new"), ("R2", "two")]
    assert aside(fourth) == [("R1", "one")]
    assert ids(after(fourth, rules(("R2", "two")))) == [("R1", "one"), ("R2", "two")]


def test_the_place_of_what_is_aside_is_part_of_the_digest() -> None:
    first, mark = begun()
    second = after(first, Learned(), (mark, "retired"))
    assert len({first.state(), second.state(), Memory("s", 2, second.items).state()}) == 3
