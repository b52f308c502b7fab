"""Items are retired where answers were worse with them, within their batches; a person's word goes first."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.retire import (
    LEAST,
    Opportunity,
    Standing,
    alike,
    is_retired,
    one,
    outmeasured,
    overturning,
    paired,
    retired,
    ruled,
    shared,
    tallied,
    wilson_upper,
)

RULE = "opportunities@1"


def standing(*batches: tuple[int, int, int, int]) -> Standing:
    """Batches of right and wrong episodes with the item, and without it."""
    found: Standing = {}
    for won, lost, others_won, others_lost in batches:
        counts = [
            *[(("x",), "right")] * won,
            *[(("x",), "wrong")] * lost,
            *[((), "right")] * others_won,
            *[((), "wrong")] * others_lost,
        ]
        found = tallied(found, counts)
    return found


def test_clearly_worse_than_the_others_of_its_batch_is_retired() -> None:
    assert outmeasured(standing((1, 9, 9, 1)), "x")
    assert not outmeasured(standing((5, 5, 6, 4)), "x")
    assert not outmeasured(standing((9, 1, 1, 9)), "x")


def test_below_ten_opportunities_nothing_is() -> None:
    assert not outmeasured(standing((0, LEAST - 1, 50, 0)), "x")
    assert outmeasured(standing((0, LEAST, 50, 0)), "x")


def test_a_hard_batch_is_no_evidence_against_what_all_of_it_had() -> None:
    """Every episode of the hard batch had the item: there is nobody to compare with."""
    assert not outmeasured(standing((9, 1, 9, 1), (0, 40, 0, 0)), "x")


def test_hard_and_easy_batches_are_not_mixed() -> None:
    """Used in a hard batch where others fared alike, beside an easy one without it."""
    assert not outmeasured(standing((1, 9, 1, 9), (0, 0, 50, 0)), "x")


def test_unknown_and_withheld_outcomes_count_for_nothing() -> None:
    said: list[Opportunity] = [(("x",), "unknown")] * 40 + [((), "withheld")] * 40
    assert tallied({}, said) == {}


def test_a_person_goes_first() -> None:
    bad = standing((0, 20, 20, 0))
    assert is_retired(bad, "x", RULE)
    assert not is_retired(bad, "x", None)
    assert not is_retired(ruled(bad, [("x", "restored")]), "x", RULE)
    assert is_retired(ruled({}, [("y", "retired")]), "y", None)
    assert not is_retired(ruled({}, [("y", "retired"), ("y", "restored")]), "y", RULE)


MARKS = st.sampled_from("xyz")
REWARDS = st.sampled_from([0.0, 0.25, 0.5, 1.0])
PAIRS = st.lists(st.tuples(MARKS, REWARDS, REWARDS), max_size=12)


@given(PAIRS, PAIRS)
def test_pairs_add_up_in_any_order_and_whenever_they_are_counted(
    some: list[tuple[str, float, float]], more: list[tuple[str, float, float]]
) -> None:
    at_once = paired({}, some + more)
    assert paired(paired({}, some), more) == at_once
    assert paired(paired({}, more), some) == at_once
    counted = Counter(mark for mark, _, _ in some + more)
    tally = at_once.get("tally", {})
    assert {mark: right + wrong for mark, (right, wrong, _) in tally.items()} == counted


@given(st.lists(st.tuples(MARKS, st.booleans(), st.booleans()), max_size=12))
def test_a_pair_of_graded_runs_is_a_batch_of_two(pairs: list[tuple[str, bool, bool]]) -> None:
    batches: Standing = {}
    for mark, with_it, without in pairs:
        outcomes = ("right" if right else "wrong" for right in (with_it, without))
        batches = tallied(batches, zip(((mark,), ()), outcomes, strict=True))
    assert paired({}, [(mark, float(a), float(b)) for mark, a, b in pairs]) == batches


@given(PAIRS, PAIRS)
def test_pairs_change_nothing_but_the_tally_of_their_items(
    some: list[tuple[str, float, float]], more: list[tuple[str, float, float]]
) -> None:
    before = ruled(paired({}, some), [("x", "retired")])
    as_it_was, after = deepcopy(before), paired(before, more)
    assert before == as_it_was
    assert after["ruled"] == before["ruled"]
    untouched = set(before.get("tally", {})) - {mark for mark, _, _ in more}
    assert all(after["tally"][mark] == before["tally"][mark] for mark in untouched)


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_interval_ends_above_the_share_and_below_one(right: int, wrong: int) -> None:
    uses = right + wrong
    if uses:
        upper = wilson_upper(right, uses)
        assert right / uses <= upper + 1e-9
        assert upper <= 1.0


def test_the_interval_is_wilsons() -> None:
    """Newcombe 1998, Table I: 81 of 263, upper limit .3662; 0 of 20, .1611."""
    assert round(wilson_upper(81, 263), 4) == 0.3662
    assert round(wilson_upper(0, 20), 4) == 0.1611


SAME: Standing = {"same": {"b": "a", "c": "a", "y": "x"}}


def test_lessons_that_say_the_same_go_by_the_first_of_them() -> None:
    assert [one(SAME, mark) for mark in "abcxz"] == ["a", "a", "a", "x", "z"]
    assert alike(SAME, "b") == ("a", "c")
    assert alike(SAME, "a") == ("b", "c")
    assert alike(SAME, "z") == alike({}, "z") == ()
    batch: list[Opportunity] = [(("b", "z", "c"), "right"), ((), "wrong")]
    assert [*shared(SAME, batch)] == [(("a", "z"), "right"), ((), "wrong")]
    assert [*shared({}, batch)] == batch


def test_a_word_on_one_is_a_word_on_all_that_say_the_same() -> None:
    said = ruled(SAME, [("b", "retired"), ("z", "restored")])
    assert said["ruled"] == dict.fromkeys("abc", "retired") | {"z": "restored"}
    assert said["same"] == SAME["same"]
    assert ruled(SAME, []) == SAME
    assert is_retired(said, "c", None)
    joined = {**said, "same": {**said["same"], "d": "a"}}
    assert is_retired(joined, "d", None), "one that joins later follows the first"
    own = {**joined, "ruled": {**said["ruled"], "d": "restored"}}
    assert not is_retired(own, "d", None), "a word on itself goes before"


def test_a_tally_counts_right_and_wrong_beside_what_the_others_of_the_batch_lead_to_expect() -> (
    None
):
    batch: list[Opportunity] = [
        (("x", "all"), "right"), (("x", "all"), "wrong"), (("x", "all"), "wrong"),
        (("all",), "right"), (("all",), "right"), (("all",), "wrong"), (("x",), "unknown"),
    ]  # fmt: skip
    found = tallied({"ruled": {"x": "restored"}}, batch)
    assert found == {"tally": {"x": [1, 2, 2.0]}, "ruled": {"x": "restored"}}
    again = tallied(
        found, [(("x",), "right"), (("x",), "right"), ((), "wrong"), ((), "right"), ((), "wrong")]
    )
    assert again["tally"] == {"x": [3, 2, round(2 + 2 / 3, 9)]}
    assert paired({}, [("x", 0.25, 0.75), ("x", 1.0, 0.0)])["tally"] == {"x": [1.25, 0.75, 0.75]}


def test_what_was_overturned_falls_alone_and_a_word_goes_before_it() -> None:
    found = overturning(overturning({"same": {"b": "a"}}, ["b"]), ["a2", "b"])
    assert found["overturned"] == ["a2", "b"]
    assert overturning({"x": 1}, []) == {"x": 1}
    assert is_retired(found, "b", None)
    assert not is_retired(found, "a", None), "another may say the same where the outcome stands"
    assert retired(found, None) == {"a2", "b"}
    assert retired(ruled(found, [("b", "restored")]), None) == {"a2"}


def test_marks_that_say_again_what_harms_leave_with_it() -> None:
    bad = {**standing((0, 20, 20, 0)), "same": {"again": "x"}}
    assert retired(bad, RULE) == {"x", "again"}
    assert retired(bad, "pairs@1") == {"x", "again"}
    assert retired(bad, None) == frozenset()
    assert not outmeasured({"tally": {"x": [5, 5, 10 * wilson_upper(5, 10)]}}, "x"), (
        "at the end of it"
    )
    assert outmeasured({"tally": {"x": [5, 5, 10 * wilson_upper(5, 10) + 1e-7]}}, "x")
