"""A memory version that follows another: which rules stand in it, and which when it is closed once more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.events.learning import KnowledgeConsolidated
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from state.folds.succession import rules_again

ROLES = ("reasoner", "monitor", "controller")


def rule(role: str, text: str, batch: int) -> MemoryItem:
    return MemoryItem(f"{role}-r1", "rule", role, text, text_digest(text), batch)


def lesson(role: str) -> MemoryItem:
    return MemoryItem(f"{role}-l1", "lesson", role, "A lesson.", text_digest("A lesson."), 1)


def says(role: str, text: str) -> KnowledgeConsolidated:
    return KnowledgeConsolidated(role=role, rules=((f"{role}-r1", text),), result="consolidated")


BEFORE = Memory("s", 1, tuple(rule(role, f"{role}, at first.", 1) for role in ROLES))
CLOSED = Memory("s", 2, (*(rule(role, f"{role}, then.", 2) for role in ROLES), *map(lesson, ROLES)))


def test_said_anew_stands_as_said_stale_falls_back_and_the_rest_stays() -> None:
    rules = rules_again(BEFORE, CLOSED, {"reasoner": says("reasoner", "Anew.")}, {"monitor"})
    assert [(each.role, each.text, each.batch) for each in rules] == [
        ("reasoner", "Anew.", 2),
        ("controller", "controller, then.", 2),
        ("monitor", "monitor, at first.", 1),
    ]


def test_a_stale_role_that_had_no_rules_before_has_none() -> None:
    assert rules_again(Memory("s", 1), CLOSED, {}, set(ROLES)) == []


def test_a_rule_that_is_set_aside_is_a_rule_all_the_same() -> None:
    aside = ((0, rule("monitor", "monitor, aside.", 2)),)
    closed = Memory("s", 2, CLOSED.items[:1], aside=aside)
    before = Memory("s", 1, (), aside=((0, rule("reasoner", "reasoner, aside.", 1)),))
    assert [each.text for each in rules_again(before, closed, {}, set())] == [
        "monitor, aside.",
        "reasoner, then.",
    ]
    assert [each.text for each in rules_again(before, closed, {}, {"reasoner"})] == [
        "monitor, aside.",
        "reasoner, aside.",
    ]


@given(st.sets(st.sampled_from(ROLES)), st.sets(st.sampled_from(ROLES)))
def test_every_role_has_its_rules_from_one_place(anew: set[str], stale: set[str]) -> None:
    said = {role: says(role, f"{role}, anew.") for role in anew}
    stands = {each.role: each.text for each in rules_again(BEFORE, CLOSED, said, stale)}
    assert stands == {
        **{role: f"{role}, then." for role in ROLES},
        **{role: f"{role}, at first." for role in stale},
        **{role: f"{role}, anew." for role in anew},
    }
