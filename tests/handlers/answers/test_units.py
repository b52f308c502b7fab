"""A unit is the same one spelled out and abbreviated."""

from __future__ import annotations

import pytest

from handlers.answers.units import unit


@pytest.mark.parametrize(("long", "short"), [("kilometers", "km"), ("milligrams", "mg")])
def test_prefixes_are_read_in_words_too(long: str, short: str) -> None:
    found = unit(long)
    assert found is not None
    assert found == unit(short)
    assert found != unit(short[1:]), "a prefix is a factor"
