"""Cells of runs that choose an offered backbone: their names hang on who that is, and not on what he is called here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from streams.research.bench.plan import Options, Planner, sources
from streams.research.bench.speed import SPEED
from tests.streams.bench.test_planner import GAMES, STEADY, recipe
from tests.streams.bench.worlds import always


class Small(SPEED.settings):  # type: ignore[name-defined, misc]
    """Settings of a policy that is always answered by one of those that are offered."""

    backbone: str | None = "mini"


def names(runs: Mapping[str, Any], offered: Mapping[str, str], by: Any = STEADY) -> list[str]:
    """What the cells of a recipe of these runs are called."""
    made, options = recipe(runs, GAMES), Options()
    planned = Planner(made, sources(made, options), options, by, "m", offered)
    return [cell.plan.memory for cell in planned.cells()]


def unlike(runs: Mapping[str, Any], by: Any = STEADY) -> list[bool]:
    """Which of them are called otherwise where "mini" is another model."""
    before, after = (names(runs, {"mini": model}, by) for model in ("a", "b"))
    return [x != y for x, y in zip(before, after, strict=True)]


def test_only_what_is_answered_by_another_model_is_another_cell() -> None:
    chosen: dict[str, Any] = {
        name: {"policy": "speed", "settings": {"backbone": name}} for name in ("mini", "gone")
    }
    assert unlike({**chosen, "own": {"policy": "speed"}}) == [True, False, False]
    assert len({*names({**chosen, "own": {"policy": "speed"}}, {"mini": "a"})}) == 3


def test_a_policy_that_chooses_for_itself_is_asked_too() -> None:
    own = replace(SPEED, settings=Small)
    assert unlike({"a": {"policy": "speed"}}, always(own)) == [True]


def test_what_is_matched_to_a_run_hangs_on_who_answered_that() -> None:
    for settings, other in (({"backbone": "mini"}, True), ({}, False)):
        runs = {
            "a": {"policy": "speed", "matched": {"run": "b"}},
            "b": {"policy": "speed", "settings": settings},
        }
        assert unlike(runs) == [other, other]
