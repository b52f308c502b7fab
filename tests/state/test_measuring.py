"""What a batch measured: which items its members met, which labels count, and what is owed again."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.learning import calibrate
from handlers.learning.retire import ALIKE, BY_ITSELF
from schemas.events.base import Event
from schemas.events.cascade import CandidatesGraded
from schemas.events.graph import PathGrounded, PrincipleInduced
from schemas.events.learning import (
    BatchClosed,
    KnowledgeConsolidated,
    MemoryVersioned,
    ProblemForgotten,
)
from schemas.identity import learning_id, text_digest
from schemas.memory import FIRST_RULE, Label, Labels, Memory, MemoryItem
from schemas.outcome import Outcome
from schemas.problem import Limits
from state.folds.forgetting import Forgetting, blank, stated, taught
from state.folds.labelling import Labelling, Stated, without
from state.folds.measuring import Met, members_of, met, numbers_after, standing_after
from state.folds.versions import Versions
from tests.reflections import reflected


def item(name: str, kind: str = "lesson", **more: Any) -> MemoryItem:
    text = f"text {name}"
    return MemoryItem(name, kind, "a", text, text_digest(text), 1, **more)


def closed(*members: str, outcomes: tuple[Outcome, ...] = (), **more: Any) -> BatchClosed:
    told = outcomes or ("unknown",) * len(members)
    said: dict[str, Any] = {
        "scope": "s", "batch": 2, "members": members, "outcomes": told, "previous": 1, "policy": "p",
        "policy_version": "1", "settings": "x", "seed": 1, **more,
    }  # fmt: skip
    return BatchClosed(**said)


ONE, TWO, RULE = item("1"), item("2"), item("R1", "rule")
VERSIONS = Versions()
VERSIONS[0] = Memory("s", 0)
VERSIONS[1] = Memory("s", 1, (RULE, ONE, TWO))
SAID = {
    "e": reflected(memory_version=1, items=("1", "R1", "gone"), held_out=("2",), problem="x"),
    "f": reflected(memory_version=1, items=("2",)),
    "g": reflected(memory_version=9, items=("1",)),
    "p/d/x/taken-0f": reflected(memory_version=1, items=("1",)),
}
BATCH = closed("e", "p/d/x/taken-0f", "f", "g", outcomes=("right", "wrong", "wrong", "right"))


def test_a_member_met_what_it_was_shown_of_the_version_that_it_opened_with() -> None:
    assert [*met(BATCH, SAID.__getitem__, VERSIONS)] == [
        Met((ONE, RULE), (TWO,), "right"), Met((TWO,), (), "wrong"), Met((), (), "right"),
    ]  # fmt: skip
    first = Met((ONE, RULE), (TWO,), "right")
    assert first.opportunity() == (("1", RULE.mark), "right")
    assert first.opportunity("lesson") == (("1",), "right")
    assert first.trial() == ((RULE.mark,), (), "right"), "only rules are tried by themselves"


def test_measures_are_asked_for_where_a_rule_takes_them() -> None:
    assert members_of(BATCH, SAID.__getitem__) == []
    found = members_of(closed("e", outcomes=("right",), rule="linucb@1"), SAID.__getitem__)
    assert [(each.episode, each.outcome, each.problem) for each in found] == [("e", "right", "x")]
    before = Memory("s", 1, learned={"arms": [1]})
    by_episode = closed(rule="linucb@1", constants={"arms": "episode"})
    assert numbers_after(before, by_episode, (), ()) == {"arms": [1]}
    assert numbers_after(before, closed(), (), ()) == {"arms": [1]}


@pytest.mark.parametrize(
    ("retirement", "marks", "tried"),
    [
        ("opportunities@1", {"1", "2", RULE.mark}, False),
        (ALIKE, {"1", RULE.mark}, False),
        (BY_ITSELF, {"1"}, True),
    ],
)
def test_items_are_tallied_by_the_rule_that_their_batch_names(
    retirement: str, marks: set[str], tried: bool
) -> None:
    batch = closed("e", "f", "g", outcomes=("right", "wrong", "right"), retirement=retirement)
    before: dict[str, Any] = {} if retirement == "opportunities@1" else {"same": {"2": "1"}}
    found = standing_after(before, batch, SAID.__getitem__, VERSIONS)
    assert set(found["tally"]) == marks
    assert found["tally"]["1"] == ([1, 0, 0.5] if not before else [1, 1, 2.0])
    assert ("tried" in found) == tried
    if tried:
        assert set(found["tried"]) == {RULE.mark}


# ── Labels ───────────────────────────────────────────────────────────────────────────────────

WHOSE = {"settings": "0f", "backbones": "m", "confidence_source": "stated"}
KEY = ("d", "p@1", "0f", "m", "stated")


def test_labels_count_for_members_whose_confidence_has_an_owner() -> None:
    labelling, outcomes = Labelling(), {"a": "right", "b": "wrong", "c": "right", "d": "unknown"}
    for name in "dcba":
        labelling.reflected(name, reflected(confidence=0.5, **WHOSE))
    labelling.reflected("a", reflected(confidence=0.9, **WHOSE))
    for name, missing in (("w", "settings"), ("x", "backbones"), ("y", "confidence_source")):
        labelling.reflected(name, reflected(confidence=0.5, **(WHOSE | {missing: None})))
    labelling.reflected("z", reflected(confidence=None, **WHOSE))
    assert {*labelling.stated} == {*"abcd"}
    labelling.regraded("a")
    assert [*labelling.changed(outcomes.__getitem__)] == [], "it is no member yet"
    labelling.closed(closed("b", "a", "d", "z"))
    first = labelling.count(None, 1, outcomes.__getitem__, FIRST_RULE)
    assert first is not None
    assert first.new == (Label("a", KEY, 0.5, True), Label("b", KEY, 0.5, False))
    labelling.counted(first, 1)
    labelling.regraded("a")
    assert labelling.count(first, 2, outcomes.__getitem__, calibrate.RULE) is first, (
        "nothing changed"
    )
    labelling.counted(first, 2)
    labelling.regraded("b")
    labelling.regraded("c")
    outcomes["b"] = "withheld"
    second = labelling.count(first, 3, outcomes.__getitem__, calibrate.RULE)
    assert second is not None
    assert second.new == (Label("b", KEY, 0.5, None),)
    assert (second.before, second.number) == (first, 3)
    assert (first.rule, second.rule) == (FIRST_RULE, calibrate.RULE), (
        "each version keeps what its batch named"
    )
    labelling.forget("b")
    assert not labelling.graded
    assert {*labelling.stated} == {*"acd"}


def test_what_a_snapshot_holds_of_confidences_is_put_in_when_it_is_asked_for() -> None:
    def later(known: dict[str, Stated]) -> None:
        known["e"] = Stated(KEY, 0.5)

    labelling = Labelling(later=[later])
    assert labelling == Labelling(), "until then it is like one that holds nothing"
    assert labelling.stated == {"e": Stated(KEY, 0.5)}
    assert labelling.later == []
    assert not labelling.stated["e"].member
    assert labelling != Labelling()


def test_a_version_keeps_its_labels_but_for_those_of_forgotten_problems() -> None:
    labels = Labels.on(
        None, 2, (Label("p/d/x/r", KEY, 0.5, True), Label("p/d/y/r", KEY, 0.5, True))
    )
    assert [each.episode for each in without(labels, 2, ("p/d/x/",))] == ["p/d/y/r"]
    assert without(labels, 3, ()) == without(None, 2, ()) == ()
    assert len(without(labels, 2, ())) == 2


# ── Forgetting ───────────────────────────────────────────────────────────────────────────────


def forgot(*problems: str, limits: Limits | None = None) -> Forgetting:
    made = Forgetting()
    for problem in problems:
        event = ProblemForgotten(
            scope="s", domain="d", problem_id=problem, limits=limits or Limits()
        )
        assert made.add(event) == f"p/d/{problem}/"
    return made


def test_what_comes_from_a_forgotten_problem_cites_it() -> None:
    made = forgot("x", limits=Limits(calls=3))
    assert made.limits == Limits(calls=3)
    assert [made.covers(name) for name in ("p/d/x/r", "p/d/xy/r", "q/p/d/x/r")] == [
        True,
        False,
        False,
    ]
    assert not Forgetting().covers("p/d/x/r")
    assert made.cites(item("1", subject="d/x"))
    assert made.cites(item("1", subject="d/y", evidence=("p/d/y/r", "p/d/x/r")))
    assert not made.cites(item("1", subject="d/y", evidence=("p/d/y/r",)))


def test_versions_are_owed_for_what_was_forgotten_before_what_was_graded_anew() -> None:
    made = forgot("x")
    made.owe_outcomes([3, 2])
    assert (made.owed, made.regraded) == ([2, 3], {2, 3})
    made.owe([3, 4])
    made.owe_outcomes([4, 5])
    assert (made.owed, made.regraded) == ([2, 3, 4, 5], {2, 5})
    made.done(2, {"1"}, {"a"})
    assert (made.owed, made.regraded) == ([3, 4, 5], {5})
    assert (made.withdrawn, made.stale) == ({"1"}, {"a"})
    for number in (3, 4, 5):
        made.done(number, {"1"}, {"a"})
    assert (made.owed, made.withdrawn, made.stale) == ([], set(), set())


def test_a_batch_that_was_closed_unawares_is_owed_like_those_before_it() -> None:
    made = forgot("x")
    assert not made.is_unknown_to(closed("p/d/y/r"))
    assert made.is_unknown_to(closed("p/d/x/r"))
    made.owe_outcomes([1])
    assert made.is_unknown_to(closed("p/d/y/r"))
    assert not made.is_unknown_to(closed("p/d/x/r", revision=1))
    made.owe_unaware(closed("p/d/y/r", batch=2))
    assert made.regraded == {1, 2}
    made.owe_unaware(closed("p/d/x/r", batch=3))
    made.owe_unaware(closed("p/d/y/r", batch=4))
    assert (made.owed, made.regraded) == ([1, 2, 3, 4], {1, 2})
    stale = MemoryVersioned(scope="s", number=4, live_from=1, state="0f")
    assert made.replaces(stale)
    assert not made.replaces(
        MemoryVersioned(scope="s", number=4, revision=1, live_from=1, state="0f")
    )
    assert not made.replaces(MemoryVersioned(scope="s", number=5, live_from=1, state="0f"))


def consolidated(role: str, *lessons: str, result: Any = "consolidated") -> KnowledgeConsolidated:
    return KnowledgeConsolidated(role=role, rules=(), result=result, lessons=lessons)


def test_rules_of_a_role_are_stale_that_rest_on_what_was_withdrawn() -> None:
    made = forgot("x")
    old = Memory("s", 2, (item("1", subject="d/x"), item("2", subject="d/y")))
    said: dict[str, Event] = {
        "0": consolidated("named", "1", "2"), "1": consolidated("other", "2"), "2": consolidated("bare"),
        "3": consolidated("kept", "1", result="kept"),
    }  # fmt: skip
    assert made.touched(old, closed("p/d/y/r"), said) == ({"1"}, {"named"})
    assert made.touched(old, closed("p/d/x/r"), said) == ({"1"}, {"named", "bare"})
    fact = PrincipleInduced(case="contrast", decision="create", principle="m")
    assert made.touched(old, closed("p/d/y/r"), said, [fact]) == ({"1"}, {"named", "bare"})
    made.withdrawn, made.stale = {"2"}, {"before"}
    assert made.touched(old, closed("p/d/y/r"), said) == ({"1", "2"}, {"named", "other", "before"})


def test_a_batch_is_closed_again_without_forgotten_members_and_with_outcomes_graded_anew() -> None:
    made = forgot("x", limits=Limits(calls=3))
    batch = closed(
        "p/d/y/r", "p/d/x/r", "p/d/z/r", outcomes=("right", "wrong", "unknown"), revision=1,
        embedder="e", measured="e",
    )  # fmt: skip
    anew: dict[str, Outcome] = {"p/d/z/r": "wrong"}
    again = made.again(batch, lambda episode: anew.get(episode))
    assert (again.members, again.outcomes) == (("p/d/y/r", "p/d/z/r"), ("right", "wrong"))
    assert (again.revision, again.limits, again.embedder, again.measured) == (
        2, Limits(calls=3), None, None,
    )  # fmt: skip
    assert again.regraded is None
    made.owe_outcomes([2])
    assert made.again(closed("p/d/y/r"), lambda episode: None).regraded is True
    assert made.again(closed("p/d/y/r"), lambda episode: None).revision == 1


def test_facts_of_forgotten_problems_are_left_out_and_principles_without_a_name_go_with_members() -> (
    None
):
    def of(**more: Any) -> PrincipleInduced:
        return PrincipleInduced(case="contrast", decision="create", principle="m", **more)

    named, other, bare = of(subject="d/x"), of(subject="d/y"), of()
    journal: dict[str, Event] = {"2": bare, "1": other, "0": named}
    made = forgot("x")
    assert made.left({**journal, "batch": closed("p/d/y/r")}) == [other, bare]
    assert made.left({**journal, "batch": closed("p/d/x/r")}) == [other]


def test_the_newest_revision_in_which_something_was_learned_or_could_be_said() -> None:
    said: dict[str, dict[str, Event]] = {
        learning_id("s", 2): {"batch": closed()},
        learning_id("s", 2, 1): {"batch": closed(revision=1)},
        learning_id("s", 2, 2): {"batch": closed(revision=2, regraded=True)},
        learning_id("s", 2, 3): {"batch": closed(revision=3, embedder="e")},
    }
    for revision, learned, asked in ((0, 0, 0), (1, 1, 1), (2, 2, 1), (3, 2, 1)):
        memory = Memory("s", 2, revision=revision)
        assert taught(said.__getitem__, memory) is said[learning_id("s", 2, learned)]
        assert stated(said.__getitem__, memory) is said[learning_id("s", 2, asked)]
    assert blank(item("1", subject="d/x", vector="AAA=")) == item("1")._replace(text="")


def test_a_fact_speaks_of_a_problem_that_any_of_its_names_leads_to() -> None:
    made = forgot("x")

    def grounded(subject: str, source: str) -> PathGrounded:
        return PathGrounded(case="q", subject=subject, path="t", outcome="right", source=source)

    graded = CandidatesGraded(episode="p/d/x/r", subject="d/y", by="label", outcomes=())
    assert [made.speaks_of(fact) for fact in (
        grounded("d/x", "3"), grounded("d/y", "p/d/x/r"), grounded("d/y", "p/d/y/r"), graded,
        consolidated("a", "1"),
    )] == [True, True, False, True, False]  # fmt: skip
