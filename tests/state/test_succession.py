"""A memory version that follows another: which rules stand in it, and which when it is closed once more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.events.base import Event
from schemas.events.episode import Embedded, TextKept
from schemas.events.graph import PairCompared
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from state.folds.learned import Learned, pairs_of
from state.folds.succession import Measures, assembled, next_memory, rules_again

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


# ── Putting a version together ───────────────────────────────────────────────────────────────


def taught(name: str, batch: int, role: str = "reasoner", **more: Any) -> MemoryItem:
    text = str(more.pop("text", f"text {name}"))
    return MemoryItem(name, "lesson", role, text, text_digest(text), batch, **more)


def distilled(name: str, **more: Any) -> LessonDistilled:
    said: dict[str, Any] = {
        "id": name, "role": "reasoner", "text": f"text {name}", "subject": "d/x", "evidence": ("e",), "source": "3",
        "polarity": "do", **more,
    }  # fmt: skip
    return LessonDistilled(**said)


def spoken(*events: Event) -> Learned:
    learned = Learned()
    for at, event in enumerate(events):
        learned.feed(str(at), event)
    return learned


def test_what_a_learning_episode_said_counts_by_its_address() -> None:
    learned = Learned()
    vectors = Embedded(asked="q", embedder="minilm", dimensions=1, vectors=("AAA=", "BBB="))
    named = Embedded(asked="q", embedder="other", dimensions=1, vectors=("CCC=",), texts=("0f",))
    told = [("10", distilled("b")), ("9", distilled("a", vector="own")), ("9", distilled("lost")),
            ("11", vectors), ("8", named), ("12", says("reasoner", "first")),
            ("2", TextKept(text="x")), ("13", says("reasoner", "last")), ("1.0", distilled("c"))]  # fmt: skip
    for address, event in told:
        learned.feed(address, event)
    assert [(each.id, each.vector, each.batch) for each in learned.items(7)] == [
        ("c", "AAA=", 7), ("a", "own", 7), ("b", None, 7),
    ]  # fmt: skip
    one = learned.items(7)[0]
    assert one == MemoryItem(
        "c", "lesson", "reasoner", "text c", text_digest("text c"), 7, "d/x", ("e",), "do", "AAA="
    )
    assert (learned.vectors, learned.embedder) == (["AAA=", "BBB="], "other")
    assert learned.named == [named]
    assert learned.rules["reasoner"].rules == (("reasoner-r1", "last"),)
    assert learned.facts == []
    assert spoken().embedder is None
    same = Learned()
    for address, event in reversed(told):
        if event != distilled("lost"):
            same.feed(address, event)
    assert same == learned, "whether it was put in order does not matter"


def test_new_rules_stand_for_old_ones_and_lessons_while_they_are_live() -> None:
    before = Memory(
        "s", 3, (rule("reasoner", "old", 3), rule("monitor", "kept", 2), taught("1", 1), taught("3", 3)),
        {"arms": [1]}, standing={"ruled": {"3": "restored"}}, embedder="minilm",
    )  # fmt: skip
    learned = spoken(says("reasoner", "new"), distilled("4"))
    after = next_memory(before, learned, 4, 2)
    assert [(each.id, each.text, each.batch) for each in after.items] == [
        ("monitor-r1", "kept", 2), ("reasoner-r1", "new", 4), ("3", "text 3", 3), ("4", "text 4", 4),
    ]  # fmt: skip
    assert (after.number, after.scope, after.revision, after.aside) == (4, "s", 0, ())
    assert (after.learned, after.standing, after.embedder) == (
        {"arms": [1]}, {"ruled": {"3": "restored"}}, "minilm",
    )  # fmt: skip
    measured = Measures({"arms": [2]}, {"tally": {"4": [1, 1, 1.0], "1": [0, 9, 9.0]}}, None)
    again = next_memory(before, learned, 4, 2, measured)
    assert (again.learned, again.standing) == ({"arms": [2]}, {"tally": {"4": [1, 1, 1.0]}})


def test_what_is_retired_is_set_aside_in_its_place_and_comes_back_to_it() -> None:
    lessons = [taught("1", 1), taught("2", 1)]
    harmed = Measures({}, {"tally": {"1": [0, 20, 20.0]}}, retirement="opportunities@1")
    out = assembled(Memory("s", 1), 2, [rule("monitor", "x", 1)], lessons, harmed, 3)
    assert [each.id for each in out.items] == ["monitor-r1", "2"]
    assert out.aside == ((1, lessons[0]),)
    assert out.revision == 3
    assert assembled(Memory("s", 1), 2, [], lessons, Measures({}, harmed.standing)).aside == ()
    back = next_memory(out, spoken(), 3, 1, Measures({}, {"ruled": {"1": "restored"}}))
    assert [each.id for each in back.items] == ["monitor-r1", "1", "2"]
    assert back.aside == ()


def test_a_rule_that_is_aside_stays_there_while_a_newer_one_has_its_id() -> None:
    old = rule("monitor", "old", 1)
    before = Memory("s", 1, aside=((0, old),), standing={"ruled": {old.mark: "retired"}})
    held = next_memory(before, spoken(says("monitor", "new")), 2, 1)
    assert [each.text for each in held.items] == ["new"]
    assert held.aside == ((1, old),)
    restored = replace(held, standing={"ruled": {old.mark: "restored"}})
    still = next_memory(restored, spoken(), 3, 1)
    assert [each.text for each in still.items] == ["new"], "its id is taken"
    free = next_memory(replace(restored, items=()), spoken(), 3, 1)
    assert [each.text for each in free.items] == ["old"]
    again = next_memory(before, spoken(says("monitor", "old")), 2, 1)
    assert [each.text for each in again.whole()] == ["old"], "the same words are the same rule"


def test_standing_goes_with_its_items_and_what_says_the_same_keeps_its_first() -> None:
    standing = {
        "tally": {"1": [1, 1, 1.0], "head": [2, 2, 2.0], "gone": [9, 9, 9.0]},
        "tried": {"gone": [1]}, "same": {"1": "head", "gone": "head"},
        "overturned": ["1", "gone"], "ruled": {"gone": "retired"},
    }  # fmt: skip
    after = assembled(Memory("s", 1), 2, [], [taught("1", 1)], Measures({}, standing))
    assert after.standing == {
        "tally": {"1": [1, 1, 1.0], "head": [2, 2, 2.0]}, "tried": {}, "same": {"1": "head"},
        "overturned": ["1"], "ruled": {"gone": "retired"},
    }  # fmt: skip
    none = assembled(
        Memory("s", 1), 2, [], [], Measures({}, standing, retirement="opportunities@2")
    )
    assert none.standing == {"ruled": {"gone": "retired"}}


def test_lessons_that_say_the_same_are_joined_from_the_rules_on_that_count_them_as_one() -> None:
    lessons = [taught("1", 1), taught("2", 2, text="text 1")]
    for retirement, same in (
        ("opportunities@1", None), ("opportunities@2", {"2": "1"}), ("opportunities@3", {"2": "1"}),
    ):  # fmt: skip
        measures = Measures({}, retirement=retirement)
        found = assembled(Memory("s", 1), 2, [], lessons, measures)
        assert found.standing.get("same") == same
    settled = assembled(Memory("s", 2), 3, [], lessons, Measures({}, retirement="opportunities@2"))
    assert settled.standing == {}, "what older lessons say again was settled then"


def test_pairs_are_told_by_the_marks_of_the_rules_that_they_compared() -> None:
    def compared(principle: str, with_it: float, without: float) -> PairCompared:
        return PairCompared(
            pair="p", problem="x", active=(), principle=principle, p=0.5, with_reward=with_it,
            without_reward=without, memory_version=1,
        )  # fmt: skip

    before = Memory("s", 1, (rule("monitor", "x", 1), taught("1", 1)))
    facts: list[Event] = [
        compared("monitor-r1", 0.75, 0.25), compared("gone", 1.0, 0.0), compared("1", 1.0, 0.0),
        TextKept(text="x"), compared("monitor-r1", 0.0, 0.5),
    ]  # fmt: skip
    mark = before.items[0].mark
    assert [*pairs_of(facts, before)] == [(mark, 0.75, 0.25), (mark, 0.0, 0.5)]
