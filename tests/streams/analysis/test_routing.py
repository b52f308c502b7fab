"""Fixed rules of two models on banks whose truth is set by hand: whose answer each gives, and at which price."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.research.analysis.routing import Routed, routed
from streams.research.analysis.sampling import Chain, Drawn, Ended, Sampled

PRICE = 3.0
ALONE = [f"vote of {n} of the {model}" for model in ("smaller", "larger") for n in (1, 3, 5)]
UNLESS = [
    f"the larger, unless {k} of {n} agree"
    for k, n in ((2, 2), (2, 3), (3, 3), (3, 5), (4, 5), (5, 5))
]


def bank(*said: str, tokens: int | None = 10) -> list[Drawn]:
    """A problem for each word and a chain for each letter: x is right, a dot says nothing, all else is wrong."""
    return [
        Drawn(f"{at}", tuple(Chain(None if c == "." else c, c == "x", tokens) for c in each))
        for at, each in enumerate(said)
    ]


def ended(*right: bool, tokens: float | None = 100) -> dict[str, Ended]:
    return {f"{at}": Ended(each, 2, tokens) for at, each in enumerate(right)}


def rules(found: Routed | None) -> dict[str, Sampled]:
    assert found is not None
    return {each.rule: each for each in found.rules}


def test_where_the_smaller_agrees_with_itself_the_larger_is_never_asked() -> None:
    small, large = bank("xxxxx", "aaaaa"), bank("yyyyy", "xxxxx", tokens=50)
    found = rules(routed("run", ended(True, True), (small, large), PRICE))
    for rule in UNLESS:
        _, _, of = rule.removesuffix(" agree").rpartition(" ")
        assert (found[rule].chains, found[rule].tokens) == (int(of), 10 * int(of)), rule
        assert found[rule].right == 0.5, (
            "one is agreed upon and right, one is agreed upon and wrong"
        )
        assert found[rule].gain == -0.5, "the run was right in both"


def test_where_it_never_does_the_larger_answers_and_both_are_paid() -> None:
    small, large = bank("abcde", "....."), bank("xxxxx", "xxxxx", tokens=50)
    found = rules(routed("run", ended(False, True), (small, large), PRICE))
    for rule in UNLESS:
        _, _, of = rule.removesuffix(" agree").rpartition(" ")
        assert found[rule].chains == int(of) + 1, rule
        assert found[rule].tokens == 10 * int(of) + PRICE * 50, rule
        assert (found[rule].right, found[rule].gain) == (1, 0.5)


def test_a_threshold_counts_those_that_agree_and_not_those_that_are_right() -> None:
    """Three of five say the same: that is enough for three, and not for four."""
    small, large = bank("aaaxx", "aaaxx"), bank("xxxxx", "xxxxx")
    found = rules(routed("run", ended(True, True), (small, large), PRICE))
    assert found["the larger, unless 3 of 5 agree"].right == 0
    assert found["the larger, unless 4 of 5 agree"].right == 1
    assert 0 < found["the larger, unless 2 of 2 agree"].right < 1, (
        "it hangs on which two come first"
    )


def test_each_model_alone_is_paid_at_its_own_price() -> None:
    small, large = bank("xxxxx", "aaaaa"), bank("xxxxx", "xxxxx", tokens=50)
    found = rules(routed("run", ended(True, False, tokens=200), (small, large), PRICE))
    assert [found[rule].tokens for rule in ALONE] == [10, 30, 50, 150, 450, 750]
    assert [found[rule].right for rule in ALONE] == [0.5] * 3 + [1] * 3
    assert [found[rule].price for rule in ALONE] == pytest.approx(
        [0.05, 0.15, 0.25, 0.75, 2.25, 3.75]
    )


def test_the_run_comes_first_and_is_held_against_nothing() -> None:
    known = routed("run", ended(True, False), (bank("xxxxx"), bank("xxxxx")), PRICE)
    assert known is not None
    assert (known.problems, known.price) == (1, PRICE)
    first = known.rules[0]
    assert (first.rule, first.chains, first.tokens, first.right) == ("run", 2, 100, 1)
    assert first.gain is first.price is None
    assert [each.rule for each in known.rules[1:]] == ALONE + UNLESS


def test_what_was_not_counted_has_no_price() -> None:
    small, large = bank("abcde", "aaaaa"), bank("xxxxx", "xxxxx", tokens=None)
    found = rules(routed("run", ended(True, True), (small, large), PRICE))
    assert found["vote of 1 of the larger"].tokens is None
    assert found["the larger, unless 2 of 2 agree"].tokens is None, "one problem asks it"
    assert found["vote of 5 of the smaller"].price == 0.5
    found = rules(routed("run", ended(True, True, tokens=None), (small, small), PRICE))
    assert {each.price for each in found.values()} == {None}


def test_nothing_is_told_where_no_problem_is_shared_or_chains_are_too_few() -> None:
    whole = bank("xxxxx")
    assert routed("run", {}, (whole, whole), PRICE) is None
    assert routed("run", ended(True), (whole, []), PRICE) is None
    assert routed("run", ended(True), (whole, bank("xxxx")), PRICE) is None


@given(
    st.lists(st.text("xab.", min_size=5, max_size=7), min_size=1, max_size=4),
    st.lists(st.text("xab.", min_size=5, max_size=7), min_size=4, max_size=4),
    st.floats(0.5, 20),
)
def test_a_higher_threshold_asks_the_larger_model_more_often_and_never_less(
    small: list[str], large: list[str], price: float
) -> None:
    banks = bank(*small), bank(*large, tokens=50)
    found = rules(routed("run", ended(*[True] * len(small)), banks, price, orders=7))
    for of in (3, 5):
        asked = [found[rule].chains or 0 for rule in UNLESS if rule.endswith(f"of {of} agree")]
        spent = [found[rule].tokens or 0 for rule in UNLESS if rule.endswith(f"of {of} agree")]
        assert asked == sorted(asked)
        for calls, tokens in zip(asked, spent, strict=True):
            assert of <= calls <= of + 1
            assert tokens == pytest.approx(10 * of + price * 50 * (calls - of))
