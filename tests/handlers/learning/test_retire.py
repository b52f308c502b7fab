"""Items are retired where answers were worse with them, within their batches; a person's word goes first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.retire import (
    LEAST,
    Opportunity,
    Standing,
    is_retired,
    outmeasured,
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
