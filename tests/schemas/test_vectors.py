"""Packed vectors: half precision, small, exact both ways, and nothing that is no number."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.vectors import HALF_LIMIT, as_kept, halves, pack, unpack, width

HALVES = st.lists(st.floats(width=16, allow_nan=False, allow_infinity=False), max_size=40)
ANY = st.lists(st.floats(-HALF_LIMIT, HALF_LIMIT), max_size=40)


@given(HALVES)
def test_half_precision_numbers_come_back_as_they_were(vector: list[float]) -> None:
    assert list(unpack(pack(vector))) == vector


@given(ANY)
def test_keeping_twice_is_keeping_once(vector: list[float]) -> None:
    kept = as_kept(vector)
    assert as_kept(kept) == kept
    assert all(abs(k - v) <= max(abs(v) / 2048, 2**-25) for k, v in zip(kept, vector, strict=True))


def test_the_bytes_are_little_endian_on_every_machine() -> None:
    assert pack([1.0, -2.0, 0.5]) == "ADwAwAA4"
    assert unpack("ADwAwAA4") == (1.0, -2.0, 0.5)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e6])
def test_what_half_precision_cannot_hold_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"finite|float16"):
        pack([0.0, value])


@pytest.mark.parametrize("text", ["AA=", "AAAA", "not base64", "ADwÄ"])
def test_what_is_no_packed_vector_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        unpack(text)


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_a_packed_vector_has_two_bytes_for_each_number(count: int) -> None:
    packed = pack([1.0] * count)
    assert (width(packed), len(halves(packed))) == (count, 2 * count)
    assert pack([1] * count) == packed


def test_the_largest_number_is_kept_and_what_is_wrong_is_named() -> None:
    assert unpack(pack([HALF_LIMIT, -HALF_LIMIT])) == (65504.0, -65504.0)
    with pytest.raises(ValueError, match="beyond float16, which ends at 65504"):
        pack([65_520.0])
    with pytest.raises(ValueError, match="nan is not a finite number"):
        pack([math.nan])
    with pytest.raises(ValueError, match="even number of bytes"):
        halves("AAAA")
