"""The life of each item: since when it stands, until when, and what became of the episodes that had it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from state.folds.forgetting import blank
from state.folds.lives import ItemUsage, LivesFold, Spans, name_of


def item(
    name: str, kind: str = "lesson", text: str = "", role: str = "a", **more: Any
) -> MemoryItem:
    text = text or f"text {name}"
    return MemoryItem(name, kind, role, text, text_digest(text), 1, **more)


ONE, TWO, RULE = item("1", vector="AAA="), item("2"), item("R1", "rule", "old")
EMPTY = Memory("s", 0)
FIRST = Memory("s", 1, (RULE, ONE), embedder="minilm")
NEWER = item("R1", "rule", "new")
SECOND = Memory("s", 2, (NEWER, ONE, TWO))


def told(fold: LivesFold) -> dict[str, tuple[int, int | None, int, int, int, bool]]:
    return {
        name: (life.since, life.until, life.uses, life.right, life.wrong, life.retired)
        for (_, name), life in fold.known.items()
    }


def begun() -> LivesFold:
    fold = LivesFold()
    assert [life.item for life in fold.versioned(EMPTY, FIRST, 10)] == [RULE, ONE]
    return fold


def rule(each: MemoryItem) -> str:
    return f"a/R1~{each.text_digest}"


def test_a_version_begins_what_is_new_and_ends_what_it_leaves_out() -> None:
    fold = begun()
    assert (name_of(RULE), name_of(ONE)) == (rule(RULE), "1")
    assert told(fold) == {rule(RULE): (1, None, 0, 0, 0, False), "1": (1, None, 0, 0, 0, False)}
    assert [fold.known["s", name].embedder for name in ("1", rule(RULE))] == ["minilm", None]
    changed = [*fold.versioned(FIRST, SECOND, 20)]
    assert [life.item for life in changed] == [RULE, NEWER, TWO]
    assert {life.off for life in changed} == {20}
    assert told(fold) == {
        rule(RULE): (1, 2, 0, 0, 0, False),
        "1": (1, None, 0, 0, 0, False),
        rule(NEWER): (2, None, 0, 0, 0, False),
        "2": (2, None, 0, 0, 0, False),
    }
    assert fold.known["s", "1"].off == 10
    assert changed[0].key == ("s", rule(RULE))
    assert not fold.known["s", "1"].withdrawn
    back = Memory("s", 3, (RULE, ONE, TWO))
    assert [life.item for life in fold.versioned(SECOND, back, 30)] == [NEWER, RULE]
    assert told(fold)[rule(RULE)] == (3, None, 0, 0, 0, False), "it is back after a break"
    again = item("1", text="text 1", vector="BBB=")
    other = replace(back, number=4, items=(RULE, again, TWO), embedder="other")
    assert [life.item for life in fold.versioned(back, other, 40)] == [ONE, again]
    life = fold.known["s", "1"]
    assert (life.since, life.until, life.item, life.embedder) == (1, None, again, "other")


def test_items_count_the_episodes_that_had_them_by_their_outcome() -> None:
    fold = begun()
    assert [life.item for life in fold.used("e", FIRST, ("R1", "1", "gone"), "right", 11)] == [
        RULE,
        ONE,
    ]
    fold.used("f", FIRST, ("1",), "unknown", 12)
    fold.used("g", FIRST, ("1",), "wrong", 13)
    assert fold.used("h", FIRST, ("gone",), "right", 14) == ()
    assert "h" not in fold.uses
    assert told(fold)["1"] == (1, None, 3, 1, 1, False)
    assert told(fold)[rule(RULE)] == (1, None, 1, 1, 0, False)
    assert (fold.known["s", "1"].off, fold.known["s", rule(RULE)].off) == (13, 11)
    assert [life.item for life in fold.graded("f", "unknown", "wrong", 15)] == [ONE]
    fold.graded("e", "right", "wrong", 16)
    assert told(fold)["1"] == (1, None, 3, 0, 3, False)
    assert fold.known["s", "1"].off == 16
    assert fold.graded("h", "unknown", "right", 17) == ()
    lost = [*fold.forget({"f", "e", "x"}, lambda episode: "wrong", 18)]
    assert [life.item for life in lost] == [RULE, ONE, ONE], "e before f"
    assert told(fold)["1"] == (1, None, 1, 0, 1, False)
    assert told(fold)[rule(RULE)] == (1, None, 0, 0, 0, False)
    assert [*fold.uses] == ["g"]
    assert {life.off for life in lost} == {18}


def test_what_a_snapshot_holds_is_read_when_it_is_asked_for() -> None:
    fold, asked = begun(), list[str]()

    def later() -> tuple[ItemUsage, ...]:
        asked.append("e")
        return (fold.known["s", "1"],)

    fold.uses["e"] = later
    assert not asked
    assert fold.used_in("e") == fold.used_in("e") == (fold.known["s", "1"],)
    assert asked == ["e"]
    life = ItemUsage("s", lambda: ONE, 1, 1, kept=True)
    assert (life.item, life.held) == (ONE, ONE)
    life.becomes(TWO)
    assert (life.item, life.kept) == (TWO, False)


def test_items_that_are_set_aside_are_retired_until_they_are_back() -> None:
    fold = begun()
    fold.used("e", FIRST, ("1",), "wrong", 11)
    aside = replace(FIRST, number=2, items=(RULE,), aside=((1, ONE),))
    assert [life.item for life in fold.versioned(FIRST, aside, 20)] == [ONE, ONE]
    assert told(fold)["1"] == (1, 2, 1, 0, 1, True)
    assert [*fold.versioned(aside, replace(aside, number=3), 30)] == []
    back = replace(FIRST, number=4)
    assert {life.key for life in fold.versioned(aside, back, 40)} == {("s", "1")}
    assert told(fold)["1"] == (4, None, 1, 0, 1, False)
    returned = item("R2", "rule", "old")
    hidden = replace(back, number=5, aside=((0, returned),))
    assert [life.item for life in fold.versioned(back, hidden, 50)] == [returned]
    assert told(fold)[f"a/R2~{returned.text_digest}"] == (5, 5, 0, 0, 0, True)


def test_a_version_that_is_closed_again_withdraws_what_none_holds_any_more() -> None:
    fold = begun()
    assert [*fold.versioned(FIRST, SECOND, 20)]
    new = replace(SECOND, items=(NEWER, ONE), revision=1)
    lost = [*fold.revised(SECOND, {0: EMPTY, 1: FIRST, 2: new}, 30)]
    assert [life.item for life in lost] == [blank(TWO)]
    assert (lost[0].until, lost[0].withdrawn, lost[0].off) == (2, True, 30)
    assert (blank(TWO).text, blank(TWO).text_digest, blank(TWO).id) == ("", TWO.text_digest, "2")
    older = replace(SECOND, items=(NEWER,), revision=2)
    held = [*fold.revised(new, {0: EMPTY, 1: FIRST, 2: older}, 40)]
    assert [(life.item, life.since, life.until, life.withdrawn) for life in held] == [
        (ONE, 1, 2, False)
    ]
    returned = [*fold.revised(older, {0: EMPTY, 1: FIRST, 2: replace(SECOND, revision=3)}, 50)]
    assert [(life.item, life.since, life.until, life.withdrawn) for life in returned] == [
        (ONE, 1, None, False),
        (TWO, 2, None, False),
    ]
    aside = replace(SECOND, items=(NEWER, ONE), aside=((2, TWO),), revision=4)
    set_aside = [*fold.revised(SECOND, {0: EMPTY, 1: FIRST, 2: aside}, 60)]
    assert [(life.item, life.since, life.until, life.retired) for life in set_aside] == [
        (TWO, 2, 2, True)
    ]


def test_a_span_is_the_last_stretch_of_versions_that_hold_an_item() -> None:
    def of(number: int, *items: MemoryItem) -> Memory:
        return Memory("s", number, items)

    versions = {0: of(0, ONE), 1: of(1), 2: of(2, ONE, TWO), 3: of(3, ONE, TWO), 5: of(5, TWO)}
    assert Spans(versions, 5).last("1") == (2, 4, ONE)
    assert Spans(versions, 5).last("2") == (5, None, TWO)
    assert Spans(versions, 3).last("1") == (2, None, ONE)
    assert Spans(versions, 1).last("1") == (0, 1, ONE)
    assert Spans(versions, 1).last("2") is None
