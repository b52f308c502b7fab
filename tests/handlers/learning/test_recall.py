"""What an episode is reminded of, one lesson after another."""

from __future__ import annotations

from dataclasses import replace
from math import cos, sin

import pytest

from handlers.learning.recall import nearest, select, unrelated
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Recall, RecalledItem
from schemas.vectors import pack

QUERY = (1.0, 0.0)


def lesson(
    name: str, angle: float | None, role: str = "a", text: str = "", **more: str
) -> MemoryItem:
    text = text or f"text {name}"
    vector = None if angle is None else pack((cos(angle), sin(angle)))
    return MemoryItem(
        name, "lesson", role, text, text_digest(text), 1, more.get("subject", ""), vector=vector
    )


RULE = MemoryItem("R1", "rule", "a", "rule", text_digest("rule"), 1)
ITEMS = (
    RULE,
    lesson("far", 1.4),
    lesson("b-near", 0.5),
    lesson("a-near", 0.5, text="text b-near"),
    lesson("own", 0.0, subject="d/x"),
    lesson("none", None),
    lesson("other", 0.0, "b"),
)
MEMORY = Memory("s", 1, ITEMS)
ASKED = Recall("q", ("a",), 9, ("rule", "lesson"), "d/x")


def names(question: Recall, memory: Memory = MEMORY) -> list[str]:
    return [item.id for item, _ in select(memory, question, QUERY)]


def test_rules_come_first_then_the_nearest_lessons_of_each_role_but_no_problems_own() -> None:
    assert names(ASKED) == ["R1", "a-near", "b-near", "far", "none"]
    assert names(replace(ASKED, exclude="")) == ["R1", "own", "a-near", "b-near", "far", "none"]
    assert names(replace(ASKED, top=2)) == ["R1", "a-near", "b-near"]
    assert names(replace(ASKED, top=0)) == ["R1"]
    assert names(replace(ASKED, kinds=("lesson",), roles=("b", "a"), top=1)) == ["other", "a-near"]
    assert names(replace(ASKED, kinds=("rule",), roles=("b", "a"))) == ["R1"]
    similarity = {item.id: found for item, found in select(MEMORY, ASKED, QUERY)}
    assert similarity["R1"] is None
    assert similarity["none"] == 0.0
    assert similarity["far"] == pytest.approx(cos(1.4), abs=1e-3)
    assert similarity["far"] == round(similarity["far"] or 0, 9)


def test_related_lessons_are_wanted_once_and_none_below_the_embedders_floor() -> None:
    related = replace(ASKED, related=True)
    assert names(related) == ["R1", "a-near"], "the other says the same, and far has .17"
    letters = Memory("s", 1, ITEMS, embedder="hashed-ngrams@1")
    assert names(related, letters) == ["R1", "a-near", "far"]
    assert names(replace(related, top=1), letters) == ["R1", "a-near"]
    many = [lesson(f"{at}", 0.4 * at) for at in range(3)]
    assert [item.id for item, _ in nearest(many, replace(related, top=2), QUERY)] == ["0", "1"]


def test_roles_whose_lessons_have_nothing_to_do_with_the_query_are_named() -> None:
    related = Recall("q", ("c", "b", "a"), 3, exclude="d/x", related=True)
    shown = (RecalledItem("1", "lesson", "b", "t"), RecalledItem("2", "rule", "a", "t"))
    assert unrelated(MEMORY, related, shown) == ("a",)
    assert unrelated(MEMORY, related, ()) == ("b", "a")
    assert unrelated(MEMORY, replace(related, related=False), ()) == ()
    assert unrelated(MEMORY, replace(related, top=0), ()) == ()
    only_own = Memory("s", 1, (ITEMS[4], RULE))
    assert unrelated(only_own, related, ()) == ()
    assert unrelated(only_own, replace(related, exclude=""), ()) == ("a",)
