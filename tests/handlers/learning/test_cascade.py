"""What a cascade learns of votes, opinions and arms, and the chances that follow."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.learning.cascade import (
    after,
    chance_of_lead,
    expected_reward,
    joined,
    known_arms,
    lead_key,
    reliability,
    shrunk,
)
from handlers.learning.measured import Measured
from handlers.learning.votes import chance
from schemas.events.cascade import CandidatesGraded
from schemas.outcome import Outcome
from schemas.vectors import pack

CONSTANTS: dict[str, Any] = {
    "start": [{"name": "more", "when": "w", "text": "t"}, {"name": "check", "when": "w", "text": "t"}],
    "expected": {"more": [None, 0.25, 0.0], "check": [2, 0.5, 0.1]},
    "worth": 20.0, "cases_kept": 2, "feature_dims": None, "ridge": 1.0, "dual_from": 1,
}  # fmt: skip


def stage(
    arm: str | None, key: str, said: int | None, leads: int | None, **more: Any
) -> dict[str, Any]:
    return {
        "arm": arm, "key": key, "said": said, "leads": leads, "votes": arm in (None, "more"),
        "context": [1.0, 0.5, 0.25], "margin": 3, "spent": 4.0, **more,
    }  # fmt: skip


def learned(
    stages: list[dict[str, Any]], outcomes: tuple[Outcome, ...] | None, before: Any = None
) -> dict[str, Any]:
    member = Measured("p/d/x/r", "right", {"stages": stages, "vector": "v"}, "What is 1 + 1?")
    fact = () if outcomes is None else (
        CandidatesGraded(episode="p/d/x/r", subject="d/x", by="label", outcomes=outcomes),
    )  # fmt: skip
    return after(before or {}, [member], CONSTANTS, fact)


def test_chances_are_drawn_towards_what_was_felt_before() -> None:
    assert shrunk((3, 4), 0.5, 2) == pytest.approx(4 / 6)
    state = {"leads": {"3:1:5": [3, 4]}, "opinions": {"check": [1, 4]}}
    assert lead_key(3, 1, 5) == "3:1:5"
    assert chance_of_lead(state, 3, 1, 5, 0.75, 2.0) == pytest.approx(
        (3 + 2 * chance(3, 1, 5, 0.75)) / 6
    )
    assert chance_of_lead(state, 2, 1, 5, 0.75, 2.0) == chance(2, 1, 5, 0.75)
    assert chance_of_lead(state, 0, 0, 5, 0.75, 2.0) == 0.0
    assert reliability(state, "check", 0.5, 4.0) == pytest.approx(3 / 8)
    assert reliability({}, "check", 0.5, 4.0) == 0.5


def test_an_opinion_that_agrees_makes_both_surer_and_one_that_differs_takes_its_share() -> None:
    both = 0.6 * 0.5 / (0.6 * 0.5 + 0.4 * 0.5 * 0.25)
    assert joined(0.6, 0.5, agrees=True) == pytest.approx((both, both))
    whole = 0.6 * 0.5 + 0.4 * 0.5 + 0.4 * 0.5 * 0.75
    assert joined(0.6, 0.5, agrees=False) == pytest.approx((0.3 / whole, 0.2 / whole))
    assert joined(1.0, 1.0, agrees=False) == (0.0, 0.0)
    assert joined(1.0, 0.0, agrees=True) == (0.0, 0.0)
    assert joined(1.0, 0.0, agrees=False) == (1.0, 0.0)


def test_what_an_arm_should_bring_hangs_on_the_chance_that_it_is_wanted_and_its_price() -> None:
    context = [1.0, 0.4, 0.0, 2.0]
    assert expected_reward("check", context, 3, CONSTANTS) == pytest.approx(0.2 - 0.06 - 2 * 2 / 20)
    assert expected_reward("more", context, 3, CONSTANTS) == pytest.approx(0.1 - 3 * 2 / 20)
    assert expected_reward("more", context, 0, CONSTANTS) == pytest.approx(0.1 - 2 / 20)


def test_what_more_chains_should_bring_is_what_they_raise_the_chance_by_as_far_as_it_can_rise() -> (
    None
):
    context = [1.0, 0.4, 0.0, 2.0]
    told: dict[str, Any] = {
        **CONSTANTS,
        "expected_by": "votes",
        "expected": {
            "more": [None, 0.0, 0.0, 1.0],
            "search": [6, 0.0, 0.0, 1.5],
            "check": [2, 0.5, 0.1, 0.0],
        },
    }
    for raises, counted in ((0.1, 0.1), (0.9, 0.4)):
        assert expected_reward("more", context, 3, told, raises) == pytest.approx(
            counted - 4 * 2 / 20
        )
        assert expected_reward("more", context, 0, told, raises) == pytest.approx(
            counted - 1 * 2 / 20
        )
        assert expected_reward("search", context, 3, told, raises) == pytest.approx(
            1.5 * counted - 6 * 2 / 20
        )
        assert expected_reward("check", context, 3, told, raises) == pytest.approx(
            0.2 - 0.06 - 2 * 2 / 20
        )


BY_VOTES: dict[str, Any] = {
    **CONSTANTS, "expected_by": "votes", "expected": {"more": [None, 0.0, 0.0, 1.0]},
}  # fmt: skip


def rescued(
    constants: dict[str, Any], before: Any = None, name: str = "p/d/x/r", **more: Any
) -> dict[str, Any]:
    """What is known after an episode in which more chains put a wrong answer right."""
    stages = [stage(None, "2:1:3", 0, 0, **more), stage("more", "3:2:5", 1, 1)]
    member = Measured(name, "right", {"stages": stages, "vector": "v"}, "What is 1 + 1?")
    fact = CandidatesGraded(episode=name, subject="d/x", by="label", outcomes=("wrong", "right"))
    return after(before or {}, [member], constants, (fact,))


def test_an_arm_is_credited_beside_what_its_stage_lets_expect() -> None:
    more = rescued(BY_VOTES, raises=0.2)["arms"][0]
    residual = 1 - 4 / 20 - expected_reward("more", [1.0, 0.5, 0.25], 3, BY_VOTES, 0.2)
    assert more["rows"] == [[pack((1.0, 0.5, 0.25)), pytest.approx(residual)]]


def test_episodes_and_constants_of_two_versions_are_not_mixed() -> None:
    """A window may have been begun by one build and closed by another, in either order."""
    early = rescued(BY_VOTES)
    assert early["arms"][0]["pulls"] == 0, "what it was expected to bring is not known"
    assert early["leads"] == {"2:1:3": [0, 1], "3:2:5": [1, 1]}
    assert rescued(CONSTANTS, raises=0.2) == rescued(CONSTANTS), "as that build folds it"


def test_what_was_learned_beside_other_expectations_begins_anew() -> None:
    before = rescued(CONSTANTS)
    assert before["arms"][0]["pulls"] == 1
    assert "expected_by" not in before
    member = Measured("p/d/y/r", "unknown", {"stages": [], "vector": "v"}, "What is 1 + 2?")
    now = after(before, [member], BY_VOTES)
    assert (now["arms"][0]["pulls"], now["expected_by"]) == (0, "votes")
    assert now["leads"] == before["leads"], "how votes turned out hangs on no expectation"
    again = rescued(BY_VOTES, now, "p/d/z/r", raises=0.2)
    assert again["arms"][0]["pulls"] == 1
    assert after(again, [member], BY_VOTES)["arms"] == again["arms"]


def test_a_graded_episode_tells_of_its_vote_its_opinions_and_what_each_arm_gained() -> None:
    stages = [
        stage(None, "2:1:3", 0, 0),
        stage("check", "check", 1, 1),
        stage("more", "3:1:5", 1, 1),
    ]
    state = learned(stages, ("wrong", "right"))
    assert state["leads"] == {"2:1:3": [0, 1], "3:1:5": [1, 1]}
    assert state["opinions"] == {"check": [1, 1]}
    assert state["cases"] == [
        {"id": "p/d/x/r", "problem": "What is 1 + 1?", "vector": "v", "features": [5, 2, 2],
         "easy": False}
    ]  # fmt: skip
    more, check = state["arms"]
    assert (more["id"], more["name"], more["birth"]) == ("more", "more", 1)
    gained = 1 - 0 - 4 / 20
    residual = gained - expected_reward("check", [1.0, 0.5, 0.25], 3, CONSTANTS)
    assert check["rows"] == [[pack((1.0, 0.5, 0.25)), pytest.approx(residual)]]
    assert (check["pulls"], check["rated"]) == (1, pytest.approx(gained))
    assert more["rated"] == pytest.approx(-4 / 20), "it changed nothing, and had its price"


def test_an_answer_that_nobody_gave_is_wrong_where_others_were_graded_and_else_unknown() -> None:
    stages = [stage(None, "0:0:3", None, None), stage("check", "check", 0, 0)]
    state = learned(stages, ("right",))
    assert (state["leads"], state["opinions"]) == ({}, {"check": [1, 1]})
    assert state["cases"][0]["easy"] is False
    assert state["arms"][1]["rated"] == pytest.approx(1 - 4 / 20)
    ungraded = learned(stages, None)
    assert (ungraded["leads"], ungraded["opinions"]) == ({}, {})
    assert ungraded["cases"][0]["easy"] is None
    assert [each["pulls"] for each in ungraded["arms"]] == [0, 0]
    unknown = learned(
        [stage(None, "1:0:1", 0, 0), stage("gone", "gone", 1, 1)], ("unknown", "right")
    )
    assert unknown["leads"] == {}
    assert unknown["opinions"] == {"gone": [1, 1]}
    assert [each["id"] for each in unknown["arms"]] == ["more", "check"]


def test_a_member_counts_once_and_only_the_last_cases_are_kept() -> None:
    stages = [stage(None, "2:1:3", 0, 0)]
    state = learned(
        stages, ("right",), {"cases": [{"id": "1"}, {"id": "2"}], "leads": {"2:1:3": [1, 3]}}
    )
    assert [case["id"] for case in state["cases"]] == ["2", "p/d/x/r"]
    assert state["leads"] == {"2:1:3": [2, 4]}
    assert learned(stages, ("right",), state) == state
    nothing = after({}, [Measured("e", "right", {})], CONSTANTS)
    assert (nothing["cases"], nothing["leads"]) == ([], {})
    assert (
        after({}, [Measured("e", "right", {"stages": []})], CONSTANTS)["cases"][0]["easy"] is None
    )
    assert [arm.id for arm in known_arms(state, CONSTANTS)] == ["more", "check"]
