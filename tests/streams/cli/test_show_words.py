from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.views.words import (
    amount,
    cells,
    clean,
    cost,
    cut,
    kilo,
    one_line,
    pad,
    ranges,
    spark,
    wrap,
)

ANY = st.text(st.characters(), max_size=60)
STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def steers(text: str) -> bool:
    return any(
        unicodedata.category(char) in STEERING for char in text if char not in "\u200c\u200d"
    )


@given(ANY)
def test_nothing_that_steers_a_terminal_passes(text: str) -> None:
    assert not steers(clean(text).replace("\n", ""))
    assert not steers(one_line(text))
    assert clean(clean(text)) == clean(text)


def test_escape_sequences_are_shown_not_obeyed() -> None:
    assert clean("\x1b[2J\x9b1m\u202eabc\r\nd\re") == "␛[2J\\x9b1m\\u202eabc\nd␍e"


@given(ANY, st.integers(1, 40))
def test_cut_and_pad_fit(text: str, room: int) -> None:
    line = one_line(text)
    assert cells(cut(line, room)) <= room
    assert cells(pad(line, room)) == room
    if cells(line) <= room:
        assert cut(line, room) == line


@given(ANY, st.integers(2, 40))
def test_wrap_loses_nothing(text: str, room: int) -> None:
    line = one_line(text)
    lines = wrap(line, room)
    assert all(cells(each) <= room for each in lines)
    assert "".join("".join(lines).split()) == "".join(line.split())


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (None, "unknown"),
        (0, "0"),
        (950, "950"),
        (38_600, "38.6k"),
        (497_200, "497k"),
        (1_200_000, "1.2M"),
        (199_940, "199.9k"),
        (199_960, "200k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
    ],
)
def test_thousands(number: int | None, said: str) -> None:
    assert kilo(number) == said


def test_runs_of_ids() -> None:
    assert (
        ranges(["R1", "R2", "R3", "R5", "L4.R2", "L4.R3", "C6", "M7"])
        == "R1-R3 R5 L4.R2 L4.R3 C6 M7"
    )
    assert ranges([]) == ""


def test_bars() -> None:
    assert spark([0.0, 0.5, 1.0]) == "▁▅█"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0"),
        (0.0123, "0.0123"),
        (0.00001234, "0.00001234"),
        (12.3456, "12.35"),
        (999.96, "1000"),
        (12345.678, "12,345.68"),
        (1e7, "10,000,000.00"),
    ],
)
def test_an_amount_is_never_said_in_powers_of_ten(value: float, said: str) -> None:
    """12,345.68 was ``1.235e+04``: nobody checks that against a bill."""
    assert amount(value) == said
    assert cost(value) == f"cost {said}"
