"""Arms: how proposals join, merge and are refused, who retires, and what a regression is kept as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import cos, sin
from typing import Any

import pytest

from handlers.learning.bandits import (
    Arm,
    Bandit,
    Fate,
    admit,
    arms_of,
    best,
    born,
    fate,
    heeded,
    is_dual,
    linucb,
    mark_of,
    regression,
    retires,
    settled,
    start,
    worst,
    written,
)
from handlers.learning.measured import Measured
from schemas.vectors import pack

CONSTANTS: dict[str, Any] = {
    "start": [{"when": "always", "text": "Think."}, {"when": "never", "text": "Stop.", "name": "s"}],
    "arms": "scope", "feature_dims": None, "ridge": 1.0, "exploration": 0.2,
    "merge_above": 0.9, "arm_limit": 3, "retire_after": 4, "retire_below": 0.25,
}  # fmt: skip
EVICTING = CONSTANTS | {"evicts": True}


def turned(angle: float) -> str:
    return pack((cos(angle), sin(angle)))


def arm(birth: int, angle: float | None = None, **more: Any) -> Arm:
    vector = None if angle is None else turned(angle)
    said: dict[str, Any] = {"origin": "proposed", "vector": vector, **more}
    return Arm(id=f"a{birth}", birth=birth, when="w", text=f"text {birth}", **said)


def test_arms_begin_with_those_of_the_settings_and_come_back_as_they_were_written() -> None:
    begun = arms_of({}, CONSTANTS)
    assert [(each.id, each.birth, each.origin, each.name) for each in begun] == [
        ("a1", 1, "start", ""), ("a2", 2, "start", "s"),
    ]  # fmt: skip
    assert begun == start(CONSTANTS["start"])
    assert written(begun[0]) == {
        "id": "a1", "birth": 1, "when": "always", "text": "Think.", "origin": "start", "pulls": 0,
        "rated": 0.0, "retired": False,
    }  # fmt: skip
    pulled = arm(3, 0.5, pulls=2, rated=0.5, word="restored", rows=((turned(0), 0.25),))
    assert written(pulled)["rows"] == [[turned(0), 0.25]]
    assert arms_of({"arms": [written(pulled)]}, CONSTANTS) == [pulled]
    assert (pulled.mean, arm(1).mean) == (0.25, 0.0)


@pytest.mark.parametrize(
    ("pulls", "rated", "origin", "leaves"),
    [(4, 0.9, "proposed", True), (4, 1.0, "proposed", False), (3, 0.0, "proposed", False),
     (9, 0.0, "start", False), (4, 1 - 1e-12, "proposed", False)],
)  # fmt: skip
def test_an_arm_that_was_proposed_and_keeps_earning_too_little_retires(
    pulls: int, rated: float, origin: str, leaves: bool
) -> None:
    one = arm(3, pulls=pulls, rated=rated, origin=origin)
    assert retires(one, CONSTANTS) == settled(one, CONSTANTS).retired == leaves
    told = replace(one, word="restored")
    assert settled(told, CONSTANTS) is told, "a person's word goes first"


def test_a_persons_word_is_heeded_by_the_arms_that_it_is_on() -> None:
    state: dict[str, Any] = {
        "arms": [written(arm(1)), written(arm(2, retired=True))],
        "more": 1,
    }
    assert mark_of("a2") == "arm~a2"
    assert heeded(state, {"arm~a9": "retired", "a1": "retired"}) is state
    found = heeded(state, {"arm~a2": "restored"})
    assert found["arms"][0] is state["arms"][0]
    assert (found["arms"][1]["word"], found["arms"][1]["retired"]) == ("restored", False)
    assert found["more"] == 1
    assert heeded(state, {"arm~a1": "retired"})["arms"][0]["retired"]
    assert heeded({}, {"arm~a1": "retired"}) == {}


NEAR = [arm(1, origin="start"), arm(2, 0.0), arm(3, 1.0)]


@pytest.mark.parametrize(
    ("angle", "arms", "constants", "found"),
    [
        (0.1, NEAR, CONSTANTS, ("merged", "a2", "a2", None, None)),
        (1.1, NEAR, CONSTANTS, ("merged", "a3", "a3", None, None)),
        (
            0.1, [NEAR[0], replace(NEAR[1], retired=True)], CONSTANTS,
            ("refused", None, "a2", "like an arm that was retired", None),
        ),
        (0.5, NEAR[:2], CONSTANTS, ("added", None, "a2", None, None)),
        (0.5, NEAR[:1], CONSTANTS, ("added", None, None, None, None)),
        (0.52, NEAR, CONSTANTS, ("refused", None, "a3", "as many arms as there may be", None)),
        (0.52, NEAR, EVICTING, ("added", None, "a3", None, "a2")),
        (
            0.52, [arm(1, 0.0, origin="start"), arm(2, 1.0, word="restored"), arm(3, 2.0, origin="start")],
            EVICTING, ("refused", None, "a2", "as many arms as there may be", None),
        ),
        (0.05, [arm(1, 0.0), arm(2, 0.0)], CONSTANTS, ("merged", "a1", "a1", None, None)),
    ],
)  # fmt: skip
def test_a_proposal_is_merged_refused_or_added(
    angle: float,
    arms: list[Arm],
    constants: dict[str, Any],
    found: tuple[str, str | None, str | None, str | None, str | None],
) -> None:
    came = fate(turned(angle), arms, constants)
    assert (came.result, came.arm, came.nearest, came.reason, came.evicts) == found
    assert (came.similarity is None) == (came.nearest is None)


def test_what_is_as_like_as_the_bar_says_is_merged() -> None:
    likeness = fate(turned(0.5), NEAR[:2], CONSTANTS).similarity
    assert likeness is not None
    assert likeness == pytest.approx(cos(0.5), abs=1e-3)
    assert fate(turned(0.5), NEAR[:2], CONSTANTS | {"merge_above": likeness}).result == "merged"


def test_the_worst_makes_room_and_start_arms_and_spoken_ones_stay() -> None:
    arms = [
        arm(1, origin="start"), arm(2, pulls=2, rated=1.0), arm(3, pulls=2, rated=0.5),
        arm(4, pulls=4, rated=1.0), arm(5, word="restored"),
    ]  # fmt: skip
    assert (worst(arms) or arms[0]).id == "a3", "the older of two with the lowest mean"
    assert (worst([*arms, arm(6, pulls=1, rated=9.0, retired=True)]) or arms[0]).id == "a6"
    assert (worst([*arms, arm(7)]) or arms[0]).id == "a7", "never pulled is worth nothing"
    assert worst([arms[0], arms[4]]) is None


def test_a_new_arm_has_the_next_birth_whoever_left() -> None:
    arms = [arm(1), arm(4)]
    new = admit(arms, Fate("added", evicts="a1"), "when", "what", "a4", "vector")
    assert [each.id for each in arms] == ["a4", "a5"]
    assert new == Arm(
        id="a5", birth=5, when="when", text="what", origin="proposed", parent="a4", vector="vector"
    )
    assert born([], "w", "t", None, "v").id == "a1"


def proposal(name: str, angle: float, parent: str = "a1") -> dict[str, Any]:
    said = {"id": name, "vector": turned(angle), "when": "w", "text": name, "parent": parent}
    return dict(said)


def summed(*proposals: dict[str, Any], pulls: Sequence[tuple[str, str, float, float]]) -> Measured:
    """A member of a batch with nothing but its summary."""
    return Measured("e", "right", {"proposals": proposals, "pulls": pulls})


def test_a_batch_joins_proposals_and_credits_every_pull_to_the_scopes_own_arm() -> None:
    x = turned(0.2)
    first = summed(proposal("a3", 0.0), pulls=[("a3", x, 0.5, 0.25), ("a1", x, 1.0, 1.0)])
    again = summed(proposal("a3", 0.1), pulls=[("a3", x, 0.25, 0.5), ("a9", x, 1.0, 1.0)])
    lost = summed(proposal("a3", 2.0), pulls=[("a3", x, 1.0, 1.0)])
    state = linucb({}, [first, again, lost], CONSTANTS)
    told = {each["id"]: (each["pulls"], each["rated"]) for each in state["arms"]}
    assert told == {"a1": (1, 1.0), "a2": (0, 0.0), "a3": (2, 0.75)}
    third = state["arms"][2]
    assert (third["text"], third["parent"], third["origin"]) == ("a3", "a1", "proposed")
    poor = summed(pulls=[("a3", x, 0.0, 0.0)] * 2)
    after = linucb(state, [poor], CONSTANTS)
    assert after["arms"][2]["retired"]
    by_episode = CONSTANTS | {"arms": "episode"}
    assert linucb({"arms": [1]}, [first], by_episode) == {"arms": [1]}


def test_an_evicted_arm_is_credited_no_more() -> None:
    x = turned(0.2)
    full = linucb({}, [summed(proposal("a3", 0.0), pulls=[])], CONSTANTS)
    swapped = summed(proposal("a4", 2.0, "a3"), pulls=[("a3", x, 1.0, 1.0), ("a4", x, 0.5, 0.5)])
    state = linucb(full, [swapped], EVICTING)
    assert [(each["id"], each["pulls"]) for each in state["arms"]] == [
        ("a1", 0),
        ("a2", 0),
        ("a4", 1),
    ]
    assert state["arms"][2]["parent"] == "a3"


# ── Choosing ─────────────────────────────────────────────────────────────────────────────────


def test_arms_in_service_compete_and_start_arms_where_there_are_none() -> None:
    arms = [arm(1, origin="start", retired=True), arm(2), arm(3, retired=True)]
    assert [each.id for each in Bandit(arms, CONSTANTS).competing] == ["a2"]
    gone = [replace(each, retired=True) for each in arms]
    bandit = Bandit(gone, CONSTANTS)
    assert [each.id for each in bandit.competing] == ["a1"]
    assert [name for name, _ in bandit.scores(turned(0.1))] == ["a1"]
    assert bandit.arm("a3") is gone[2]
    assert best([("a1", 0.5), ("a2", 0.75), ("a3", 0.75)]) == "a2"


@pytest.mark.parametrize("constants", [CONSTANTS, CONSTANTS | {"dual_from": 2}])
def test_a_reward_lifts_its_arm_and_a_frozen_bandit_learns_nothing(
    constants: dict[str, Any],
) -> None:
    x = turned(0.0)
    bandit = Bandit(start(CONSTANTS["start"]), constants)
    assert bandit.scores(x) == [("a1", 0.2), ("a2", 0.2)]
    bandit.credit("a2", x, 1.0, 0.5)
    scores = dict(bandit.scores(x))
    assert scores["a1"] == 0.2
    assert scores["a2"] == pytest.approx(0.5 + 0.2 * 0.5**0.5, abs=1e-8)
    assert (bandit.arms[1].pulls, bandit.arms[1].rated, bandit.arms[0].pulls) == (1, 0.5, 0)
    still = Bandit(start(CONSTANTS["start"]), constants, frozen=True)
    still.credit("a2", x, 1.0, 0.5)
    assert still.scores(x) == [("a1", 0.2), ("a2", 0.2)]
    assert still.arms[1].pulls == 0


@pytest.mark.parametrize("constants", [EVICTING, EVICTING | {"dual_from": 2}])
def test_a_proposal_takes_the_place_of_the_arm_that_it_evicts(constants: dict[str, Any]) -> None:
    x = turned(0.0)
    bandit = Bandit([*start(CONSTANTS["start"]), arm(3, 1.0)], constants)
    bandit.credit("a3", x, 1.0, 1.0)
    bandit.credit("a2", x, 1.0, 1.0)
    lifted = dict(bandit.scores(x))["a2"]
    came = fate(turned(2.0), bandit.arms, constants)
    new = bandit.admit(came, "when", "what", turned(2.0))
    assert (new.id, new.parent) == ("a4", "a3")
    assert bandit.scores(x) == [("a1", 0.2), ("a2", lifted), ("a4", 0.2)]


@pytest.mark.parametrize(
    ("dual_from", "dims", "dual"), [(None, 99, False), (8, 7, False), (8, 8, True), (8, 9, True)]
)
def test_arms_are_kept_by_their_pulls_from_so_many_dimensions_on(
    dual_from: int | None, dims: int, dual: bool
) -> None:
    assert is_dual(dims, {"dual_from": dual_from}) == dual
    assert not is_dual(dims, {})


def test_pulls_are_kept_while_they_take_less_room_than_the_matrix_that_they_add_up_to() -> None:
    wide = [pack([float(at == place) for at in range(6)]) for place in range(4)]
    pulls = [("a1", x, 0.5, 0.5) for x in wide]
    kept = linucb({}, [summed(pulls=pulls[:3])], CONSTANTS)["arms"][0]
    assert len(kept["rows"]) == 3
    assert "inverse" not in kept
    folded = linucb({}, [summed(pulls=pulls)], CONSTANTS)["arms"][0]
    assert "rows" not in folded
    assert folded["inverse"]
    dual = linucb({}, [summed(pulls=pulls)], CONSTANTS | {"dual_from": 6})
    assert len(dual["arms"][0]["rows"]) == 4
    by_matrix, by_rows = (
        regression(arms_of({"arms": [each]}, CONSTANTS)[0], 6, CONSTANTS)
        for each in (folded, dual["arms"][0])
    )
    assert by_matrix.inverse.tolist() == by_rows.inverse.tolist()
    assert by_matrix.b.tolist() == by_rows.b.tolist()
    assert by_rows.inverse.diagonal().tolist() == [0.5] * 4 + [1.0] * 2
