"""A run at its own price: rules of whole chains, mixed so that they take as many tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.research.analysis.equal_price import priced
from streams.research.analysis.sampling import Ended, beside
from tests.streams.analysis.test_sampling import bank


def run(right: list[bool], tokens: float | None, calls: int = 1) -> dict[str, Ended]:
    return {f"{at}": Ended(each, calls, tokens) for at, each in enumerate(right)}


@given(
    st.lists(st.tuples(st.text("xab.", min_size=7, max_size=7), st.booleans()), min_size=1, max_size=5),
    st.integers(1, 6),
)  # fmt: skip
def test_at_the_price_of_whole_chains_it_is_their_vote_and_halfway_the_mean_of_both(
    said: list[tuple[str, bool]], count: int
) -> None:
    known, right = bank(*(letters for letters, _ in said)), [one for _, one in said]
    gains: list[float] = []
    for tokens in (10.0 * count, 10.0 * count + 5, 10.0 * count + 10):
        found = priced(known, "run", run(right, tokens))
        assert found is not None
        assert found.votes is not None
        assert (found.problems, found.tokens) == (len(said), tokens)
        gains.append(found.votes.gain)
    assert gains[1] == pytest.approx((gains[0] + gains[2]) / 2)
    held = beside(known, "run", run(right, 10.0 * count, count))
    assert held is not None
    assert held[0].equal_gain == pytest.approx(gains[0])


def test_below_the_first_rung_and_above_the_last_nothing_is_told() -> None:
    """Where all agree, two of them cost 20 tokens, three 30 and four 40, and each is right."""
    known = bank("xxxxxx", "xxxxxx")
    told = {
        tokens: (found.votes and found.votes.gain, found.agreed and found.agreed.gain)
        for tokens in (9.0, 15.0, 20.0, 35.0, 45.0, 61.0)
        if (found := priced(known, "run", run([True, False], tokens)))
    }
    assert told == {
        9: (None, None), 15: (-0.5, None), 20: (-0.5, -0.5), 35: (-0.5, -0.5), 45: (-0.5, None), 61: (None, None),
    }  # fmt: skip


def test_the_threshold_takes_more_only_where_answers_differ() -> None:
    """One problem's chains agree and the other's never do: two rungs differ by the second's chains alone."""
    known = bank("xxxxxx", "abcdex")
    # At most two chains of either are 20 tokens in the mean, at most three 25: half of each at 22.5.
    found = priced(known, "run", run([True, True], 22.5))
    assert found is not None
    assert found.agreed is not None
    assert found.votes is not None
    assert found.agreed.interval is not None
    least = (
        beside(known, "run", run([True, True], 20, 2)),
        beside(known, "run", run([True, True], 25, 3)),
    )
    votes = [each[0].equal_gain for each in least if each is not None]
    assert found.agreed.gain == pytest.approx(sum(each for each in votes if each is not None) / 2)


def test_tokens_that_nobody_knows_have_no_price_and_other_problems_do_not_count() -> None:
    known = bank("xxxxxx", "aaaaaa")
    assert priced(known, "run", run([True], None)) is None
    assert priced(known, "run", {"elsewhere": Ended(True, 1, 10)}) is None
    uncounted = priced(bank("xxxxxx", tokens=None), "run", run([True], 20))
    assert uncounted is not None
    assert (uncounted.votes, uncounted.agreed) == (None, None)
    one = priced(known, "run", run([True], 20))
    assert one is not None
    assert one.problems == 1
    assert one.votes is not None
    assert one.votes.gain == 0
