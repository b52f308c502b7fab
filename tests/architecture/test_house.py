"""The picture in CONTRIBUTING is the code's own, and no import leads upwards."""

from __future__ import annotations

import pytest

from tests.architecture.house import FLOORS, PACKAGES, House, contract, house, picture


def test_no_arrow_leads_upwards_and_none_is_excepted() -> None:
    assert house().upwards() == []
    assert "ignore_imports" not in contract()


def test_every_floor_is_drawn() -> None:
    drawn = picture()
    assert all(f'  {floor}["<b>{floor}</b>' in drawn for floor in (*PACKAGES, *FLOORS))


@pytest.mark.parametrize(
    ("arrows", "drawn", "upwards"),
    [
        ({("c", "b"), ("b", "a"), ("c", "a")}, [("c", "b"), ("b", "a")], []),
        ({("c", "a"), ("a", "b")}, [("c", "a")], [("a", "b")]),
    ],
)
def test_arrows_that_follow_from_others_are_left_out_but_none_that_leads_up(
    arrows: set[tuple[str, str]], drawn: list[tuple[str, str]], upwards: list[tuple[str, str]]
) -> None:
    found = House(("a", "b", "c"), {}, frozenset(arrows))
    assert (found.drawn(), found.upwards()) == (drawn, upwards)
