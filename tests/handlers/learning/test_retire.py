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
    is_retired,
    outmeasured,
    paired,
    ruled,
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
