"""Which of an episode's feelings is measured, and what is counted of its replies."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.events.episode import Completed
from schemas.events.monitoring import ExperienceFelt
from streams.research.analysis.cases import Case
from streams.research.analysis.found import Unit
from streams.research.analysis.mechanisms import cost_of, cut_off, felt_error
from tests.streams.bench.worlds import case


def felt(problem: str, outcome: Any, *values: float) -> Case:
    """An episode that judged itself so often."""
    events = [
        ExperienceFelt(experience="JOL", source="assess", value=value, round=at)
        for at, value in enumerate(values)
    ]
    return case(problem, outcome, events)


def test_a_feeling_is_the_first_of_its_kind_or_a_judgement_of_what_was_done_the_last() -> None:
    """First it is as sure as can be and wrong; last it is sure and right, and unsure and wrong."""
    cases = [felt("a", "right", 0.0, 1.0), felt("b", "wrong", 1.0, 0.0)]
    first, last = felt_error("JOL")(cases), felt_error("JOL", last=True)(cases)
    assert (first.value, first.known) == (1.0, 2)
    assert (last.value, last.known) == (0.0, 2)
    other = felt_error("JOL", last=True, of_wrong=True)(cases)
    assert other.value == 1.0


def reply(
    finish: str, *, cost: float | None = None, role: str = "thinker", **more: Any
) -> Completed:
    """A model's reply to a role that ended so."""
    asked = f"complete {role} x"
    return Completed(asked=asked, text="t", finish=finish, model="m", cost=cost, **more)


@pytest.mark.parametrize(("finish", "was"), [("length", True), ("stop", False), ("", None)])
def test_a_reply_was_cut_off_by_its_length_alone(finish: str, was: bool | None) -> None:
    replies = [reply(finish), reply("length", reused=True)]
    assert list(cut_off([case("a", events=replies)])) == [Unit("d/a", was)]


def test_a_role_costs_what_a_thousand_of_its_own_replies_do_and_what_has_no_price_is_unknown() -> (
    None
):
    replies = [reply("stop", cost=0.25), reply("stop"), reply("stop", cost=4.0, role="oracle")]
    assert list(cost_of("thinker")([case("a", events=replies)])) == [
        Unit("d/a", 250.0),
        Unit("d/a", None),
    ]
