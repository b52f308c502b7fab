"""Items that a person retired stay out of memory, whatever consolidation makes of their ids and texts."""

from __future__ import annotations

from handlers.learning.retire import ALIKE, ruled, shared, tallied
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled
from schemas.memory import Memory
from state.folds.learned import Learned
from state.folds.lives import LivesFold
from state.folds.succession import Measures, next_memory

ROLE = "reasoner"


def rules(*texts: tuple[str, str]) -> Learned:
    learned = Learned()
    learned.feed("0", KnowledgeConsolidated(role=ROLE, rules=texts, result="consolidated"))
    return learned


def test_what_was_learned_is_read_in_the_order_in_which_it_was_said() -> None:
    """The tenth record comes after the ninth, though its address does not as a text."""
    learned = Learned()
    for address in ("10", "9", "9.1"):
        said = KnowledgeConsolidated(role=address, rules=(), result="consolidated")
        learned.feed(address, said)
    assert list(learned.rules) == ["9", "9.1", "10"]


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


# ── Lessons that say the same ────────────────────────────────────────────────────────────────


def lesson(name: str, text: str) -> Learned:
    said = LessonDistilled(
        id=name, role=ROLE, polarity="do", text=text, subject="d/x", evidence=(), source="0"
    )
    learned = Learned()
    learned.feed("0", said)
    return learned


def follows(
    before: Memory, said: Learned, *words: tuple[str, str], live_from: int = 1, rule: str = ALIKE
) -> Memory:
    measures = Measures({}, ruled(before.standing, words), retirement=rule)
    return next_memory(before, said, before.number + 1, live_from, measures)


def test_who_retires_a_lesson_retires_all_that_say_the_same() -> None:
    """Also those that come later, as long as one of them stands; and restores them together."""
    one = follows(Memory("s", 0), lesson("L1.R1", "guess"))
    two = follows(one, lesson("L2.R1", "guess"))
    three = follows(two, lesson("L3.R1", "check"), ("L2.R1", "retired"))
    assert ids(three) == [("L3.R1", "check")]
    four = follows(three, lesson("L4.R1", "guess"), live_from=2)
    assert ids(four) == [("L3.R1", "check")], "L1.R1 is gone, whose name they stand under"
    assert [name for name, _ in aside(four)] == ["L2.R1", "L4.R1"]
    five = follows(four, Learned(), ("L4.R1", "restored"))
    assert [name for name, _ in ids(five)] == ["L2.R1", "L3.R1", "L4.R1"]
    apart = follows(three, lesson("L4.R1", "guess"), rule="opportunities@1")
    assert ("L4.R1", "guess") in ids(apart), "a log of an earlier build folds as before"


def test_what_one_of_them_met_counts_for_all() -> None:
    one = follows(Memory("s", 0), lesson("L1.R1", "guess"))
    two = follows(one, lesson("L2.R1", "guess"))
    met = [(("L1.R1", "L2.R1"), "wrong"), (("L2.R1",), "wrong"), ((), "right")]
    assert tallied({}, shared(two.standing, met))["tally"] == {"L1.R1": [0, 2, 2.0]}


def test_lessons_of_two_roles_are_two() -> None:
    one = follows(Memory("s", 0), lesson("L1.R1", "guess"))
    said = LessonDistilled(
        id="L2.M1",
        role="monitor",
        polarity="do",
        text="guess",
        subject="d/x",
        evidence=(),
        source="0",
    )
    learned = Learned()
    learned.feed("0", said)
    assert "same" not in follows(one, learned).standing
