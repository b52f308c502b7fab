"""Cosine: exact, the same in any order, and 0 where there is no direction."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.cosine import cosine, rounded

NUMBERS = st.floats(-100, 100).filter(lambda x: x == 0 or abs(x) > 1e-6)
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=30)


@pytest.mark.claim("mc2-eq-16")
def test_the_papers_hand_case() -> None:
    assert [cosine((1, 0), other) for other in ((2, 0), (3, 4), (0, 1))] == [1, 0.6, 0]


def test_a_vector_of_zeros_is_like_nothing() -> None:
    assert cosine((0, 0), (1, 2)) == cosine((0, 0), (0, 0)) == cosine((), ()) == 0.0


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 1 dimensions"):
        cosine((1, 2), (1,))


@given(PAIRS)
def test_no_order_of_dimensions_changes_a_bit(pairs: list[tuple[float, float]]) -> None:
    left, right = zip(*pairs, strict=True)
    shuffled = sorted(pairs)
    again = cosine(*map(tuple, zip(*shuffled, strict=True)))
    assert again == cosine(left, right) == cosine(right, left)
    assert -1 <= again <= 1


@given(PAIRS)
def test_length_does_not_matter(pairs: list[tuple[float, float]]) -> None:
    left, right = zip(*pairs, strict=True)
    assert rounded(cosine([4 * x for x in left], right)) == rounded(cosine(left, right))


def test_rounding_leaves_no_negative_zero() -> None:
    assert str(rounded(-1e-12)) == "0.0"
    assert rounded(0.1234567894) == 0.123456789
