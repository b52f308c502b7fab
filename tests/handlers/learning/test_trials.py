"""What a rule is worth by itself: counted within batches, against what chance alone would bring."""

from __future__ import annotations

from math import comb

from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.retire import ALIKE, BY_ITSELF, Standing, is_retired, retired, ruled, tallied
from handlers.learning.trials import (
    DIGITS,
    LEAST_WITH,
    LEAST_WITHOUT,
    SURE,
    Trial,
    Tried,
    tried,
    tried_of,
)

COUNTS = st.integers(0, 12)
MARKS = st.sets(st.sampled_from("xyz"))
OUTCOMES = st.sampled_from(["right", "wrong", "unknown", "withheld"])


@st.composite
def trials(draw: st.DrawFn) -> Trial:
    """An episode that was shown some rules and did without others."""
    shown, held = draw(MARKS), draw(MARKS)
    return tuple(sorted(shown)), tuple(sorted(held - shown)), draw(OUTCOMES)


def standing(*batches: tuple[int, int, int, int]) -> Standing:
    """Batches of right and wrong episodes with the rule, and where it was held out."""
    found: Standing = {}
    for right, wrong, right_without, wrong_without in batches:
        found = tried(
            found,
            [
                *[(("x",), (), "right")] * right,
                *[(("x",), (), "wrong")] * wrong,
                *[((), ("x",), "right")] * right_without,
                *[((), ("x",), "wrong")] * wrong_without,
            ],
        )
    return found


def known(*batches: tuple[int, int, int, int]) -> Tried:
    found = tried_of(standing(*batches), "x")
    assert found is not None
    return found


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_a_batch_is_compared_with_all_ways_in_which_chance_could_have_dealt_it(
    right: int, wrong: int, right_without: int, wrong_without: int
) -> None:
    """The mean and the variance of a hypergeometric count, by its very definition."""
    shown, held, rights = right + wrong, right_without + wrong_without, right + right_without
    both = shown + held
    if not both:
        return
    ways = [comb(rights, k) * comb(both - rights, shown - k) for k in range(min(rights, shown) + 1)]
    dealt = sum(ways)
    mean = sum(k * way for k, way in enumerate(ways)) / dealt
    variance = sum((k - mean) ** 2 * way for k, way in enumerate(ways)) / dealt
    found = known((right, wrong, right_without, wrong_without))
    assert abs(found.excess - (right - mean)) < 1e-6
    assert abs(found.variance - variance) < 1e-6
    if shown and held:
        assert found.effect is not None
        assert abs(found.effect - (right / shown - right_without / held)) < 1e-6
    else:
        assert found.effect is None


@given(st.lists(trials(), max_size=30))
def test_the_order_of_a_batch_does_not_matter_and_every_graded_episode_counts_once(
    batch: list[Trial],
) -> None:
    again = sorted(batch, key=str)
    assert tried({}, batch) == tried({}, again)
    for mark in "xyz":
        found = tried_of(tried({}, batch), mark) or Tried()
        graded = [trial for trial in batch if trial[2] in ("right", "wrong")]
        assert found.shown == sum(mark in shown for shown, _, _ in graded)
        assert found.held_out == sum(mark in held for _, held, _ in graded)
        assert found.right + found.right_without == sum(
            mark in {*shown, *held} for shown, held, outcome in graded if outcome == "right"
        )


@given(st.lists(st.tuples(COUNTS, COUNTS, COUNTS, COUNTS), max_size=6))
def test_batches_add_up_and_none_but_an_excess_of_wrong_answers_retires(
    batches: list[tuple[int, int, int, int]],
) -> None:
    batches = [batch for batch in batches if sum(batch)]
    if not batches:
        return
    whole, parts = known(*batches), [known(batch) for batch in batches]
    assert abs(whole.excess - sum(part.excess for part in parts)) < 10**-DIGITS * 10
    assert whole.shown == sum(part.shown for part in parts)
    assert 0 <= whole.coverage <= 1
    if whole.harms:
        assert whole.excess < 0
        assert whole.shown >= LEAST_WITH
        assert whole.held_out >= LEAST_WITHOUT
        assert whole.effect is not None
        assert whole.effect < 0


def test_worse_with_it_than_without_it_is_retired_and_no_more_than_that() -> None:
    assert known((1, 9, 9, 1)).harms
    assert not known((5, 5, 6, 4)).harms
    assert not known((9, 1, 1, 9)).harms
    few = (0, 40, LEAST_WITHOUT - 1, 0)
    assert not known(few).harms, "held out of too few"
    assert known((0, 40, LEAST_WITHOUT, 0)).harms
    assert not known((0, LEAST_WITH - 1, 40, 0)).harms, "shown to too few"
    assert SURE > 2


def test_a_hard_batch_says_nothing_of_a_rule_that_all_of_it_had() -> None:
    assert not known((9, 1, 4, 1), (0, 40, 0, 0)).harms
    assert known((0, 40, 0, 0)).effect is None


def test_hard_and_easy_batches_are_not_mixed() -> None:
    """Shown in a hard batch, held out in an easy one: within each nothing differs."""
    assert not known((1, 19, 0, 1), (1, 0, 19, 1)).harms


def test_a_person_goes_first_and_the_rule_of_retirement_is_that_of_its_batches() -> None:
    bad = standing((0, 20, 20, 0))
    assert retired(bad, BY_ITSELF) == {"x"}
    assert retired(bad, ALIKE) == frozenset(), "logs of earlier builds fold as before"
    assert retired(bad, None) == frozenset()
    assert not is_retired(ruled(bad, [("x", "restored")]), "x", BY_ITSELF)


def test_what_an_earlier_build_retired_stays_so_until_it_is_tried_by_itself() -> None:
    shown, without = [(("x",), "wrong")] * 20, [((), "right")] * 20
    before = tallied({}, [*shown, *without])
    assert is_retired(before, "x", BY_ITSELF)
    fine = [*[(("x",), (), "right")] * 20, *[((), ("x",), "wrong")] * 5]
    assert not is_retired(tried(before, fine), "x", BY_ITSELF)


def test_unknown_and_withheld_outcomes_count_for_nothing() -> None:
    assert tried({}, [(("x",), (), "unknown"), ((), ("x",), "withheld")]) == {}


def test_three_standard_errors_ten_episodes_with_it_and_five_without_make_harm_sure() -> None:
    worse = Tried(5, 5, 4, 1, excess=-6.1, variance=4.0, weight=3.0)
    assert worse.harms
    assert not worse._replace(excess=-6.0).harms, "as far as chance may bring it"
    assert worse._replace(excess=-6.0 - 1e-8).harms
    assert not worse._replace(right=4).harms
    assert not worse._replace(wrong_without=0).harms
    assert worse.effect == -6.1 / 3.0
    assert (worse.shown, worse.held_out, worse.coverage) == (10, 5, 10 / 15)
    assert Tried().effect is None


def test_a_standing_is_counted_side_by_side_and_kept_where_nothing_was_tried() -> None:
    batch: list[Trial] = [
        (("x",), ("y",), "right"), (("x",), (), "wrong"), (("x", "y"), (), "right"),
        ((), ("x",), "wrong"), (("x",), (), "withheld"),
    ]  # fmt: skip
    found = tried({"ruled": {"x": "restored"}}, batch)
    assert found["ruled"] == {"x": "restored"}
    assert found["tried"]["x"] == [2, 1, 0, 1, 0.5, 0.25, 0.75]
    assert found["tried"]["y"] == [1, 0, 1, 0, 0.0, 0.0, 0.5]
    more = tried(found, batch[:1])
    assert more["tried"]["x"][:4] == [3, 1, 0, 1]
    assert more["tried"]["x"][4:] == found["tried"]["x"][4:], "one side alone tells nothing"
    assert tried_of(more, "z") is None
