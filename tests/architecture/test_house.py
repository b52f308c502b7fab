"""The picture in CONTRIBUTING is the code's own, and few imports lead upwards."""

from __future__ import annotations

import pytest

from tests.architecture.house import FLOORS, PACKAGES, House, contract, explained, house, picture

MOST_UPWARDS = 3


def test_few_arrows_lead_upwards_and_each_is_explained_at_its_contract() -> None:
    floor_of = {module: floor for floor, ours in house().modules.items() for module in ours}
    upwards = house().upwards()
    assert 0 < len(upwards) <= MOST_UPWARDS
    said: set[tuple[str, str]] = set()
    for ignored, why in explained():
        a, b = (floor_of[module.split(".")[1]] for module in ignored.split(" -> "))
        assert why.startswith(f"{a} -> {b}: "), ignored
        said.add((a, b))
    assert said == set(upwards)
    assert [ignored for ignored, _ in explained()] == contract()["ignore_imports"]


def test_every_floor_and_every_upward_arrow_is_drawn() -> None:
    drawn = picture()
    assert all(f'  {floor}["<b>{floor}</b>' in drawn for floor in (*PACKAGES, *FLOORS))
    assert all(f"  {a} -.-> {b}\n" in drawn for a, b in house().upwards())


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
