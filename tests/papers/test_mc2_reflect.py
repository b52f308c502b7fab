"""MC² eq. (8), (9), (14): what an episode leaves to learn from.

Source: design/mc2.md D12.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.echo import cut_echoes
from handlers.policies.mc2.distil import chosen
from handlers.policies.mc2.reflect import (
    DONE,
    LINE_CHARS,
    Mc2Reflection,
    grade_of,
    ratings,
    selection,
)
from handlers.policies.mc2.settings import Mc2Settings
from schemas.events.reasoning import Flag
from tests.papers.mc2_says import (
    audited,
    best,
    coached,
    decided,
    episode,
    full_memory,
    member,
    reflected,
    rounds,
    setting,
    solved,
    worst,
)

YES: Flag = "YES"
NO: Flag = "NO"


@pytest.mark.claim("mc2-eq-08")
def test_reflection_is_pure_and_knows_no_outcome() -> None:
    """No question, the same bytes twice, and nothing in its arguments could hold a label."""
    ran = rounds(("YES", 3), ("NO", 1))
    first, second = reflected(ran), reflected(ran)
    assert json.dumps(first) == json.dumps(second)
    labelled, unlabelled = best("x", "right").reflected, best("x", "unknown").reflected
    assert json.dumps(labelled.summary) == json.dumps(unlabelled.summary)
    assert not {"outcome", "label", "right", "gold"} & set(first)


@pytest.mark.claim("mc2-eq-08")
def test_reflection_holds_trajectories_and_excerpts_of_the_last_round() -> None:
    found = Mc2Reflection.model_validate(reflected(rounds(("YES", 3), ("NO", 1))))
    assert found.rounds == 2
    assert found.trajectories.reasoner == ("40", "41")
    assert found.trajectories.monitor == (("YES", "2", "the total is off"), ("NO", "NONE", "NONE"))
    assert found.trajectories.controller == ((3, "wrong track"), (1, "sound"))
    assert "\\boxed{41}" in found.excerpts.trajectory
    assert "Error_found: NO" in found.excerpts.report
    assert "Action: 1" in found.excerpts.decision
    assert found.tags == ("R_good", "M_good", "C_good")


@pytest.mark.claim("mc2-eq-08")
def test_excerpts_are_bounded_and_free_of_echoed_guidance() -> None:
    note = "list the factor pairs of the target before adding anything"
    long = f"As told I {note} and so on. " + "word " * 3_000

    def reply(question: object) -> str:
        role = getattr(question, "role", "")
        if role == "composer":
            return coached(question, note)
        return {"reasoner": solved("24", long), "monitor": audited("NO"), "controller": decided(1)}[
            role
        ]

    ran = episode(reply, memory=full_memory())
    excerpts = Mc2Reflection.model_validate(reflected(ran)).excerpts
    assert note in ran.trace.text(ran.events[3][0])
    assert cut_echoes(excerpts.trajectory, [note]) == excerpts.trajectory
    assert len(excerpts.trajectory) <= 4_000
    assert excerpts.trajectory.startswith("As told I")
    assert excerpts.trajectory.endswith("\\boxed{24}")


TABLE = [
    (3, [NO], [1], "A", "good good good"),
    (3, [YES], [2], "A", "good poor good"),
    (3, [YES, NO], [3, 1], "B", "good good good"),  # D12: C.1 prevails over the printed card
    (3, [YES, YES, NO], [3, 3, 1], "B", "ok good good"),
    (3, [YES, NO, YES], [3, 3, 3], "C", "poor ok poor"),
    (4, [YES, YES, NO, NO], [3, 3, 3, 3], "C", "ok ok poor"),
    (4, [NO, NO, NO, NO], [3, 3, 3, 1], "B", "ok good ok"),
]


@pytest.mark.claim("mc2-eq-14")
@pytest.mark.parametrize(("limit", "flags", "actions", "grade", "rated"), TABLE)
def test_grade_and_ratings(
    limit: int, flags: list[Flag], actions: list[int], grade: str, rated: str
) -> None:
    settings = setting(max_rounds=limit)
    ran = rounds(*zip(flags, actions, strict=True), settings=settings)
    found = Mc2Reflection.model_validate(reflected(ran, settings))
    assert found.grade == grade
    ratings_found = found.ratings
    assert f"{ratings_found.reasoner} {ratings_found.monitor} {ratings_found.controller}" == rated


@pytest.mark.claim("mc2-eq-14")
def test_an_unknown_flag_and_another_ending() -> None:
    assert ratings(1, [None], [1], "accepted").monitor == "ok"
    stopped = ratings(2, [YES, YES], [3], "limit")
    assert (stopped.reasoner, stopped.monitor, stopped.controller) == ("ok", "ok", "ok")
    assert grade_of(1, "limit") == "C"


SELECTED = [
    ((1,), "do"),
    ((3, 3, 3), "avoid"),
    ((2,), None),
    ((3, 1), None),
    ((3, 3, 1), None),
    ((3, 3, 2), None),
]


@pytest.mark.claim("mc2-eq-09")
@pytest.mark.parametrize(("actions", "polarity"), SELECTED)
def test_selection(actions: tuple[int, ...], polarity: str | None) -> None:
    played = [("YES" if action != 1 else "NO", action) for action in actions]
    assert reflected(rounds(*played))["polarity"] == polarity


@pytest.mark.claim("mc2-eq-09")
def test_selection_with_one_round() -> None:
    settings = setting(max_rounds=1)
    assert reflected(rounds(("YES", 3), settings=settings), settings)["polarity"] == "avoid"


@pytest.mark.claim("mc2-eq-09")
@given(
    actions=st.lists(st.sampled_from((1, 2, 3)), min_size=1, max_size=6),
    ended_by=st.sampled_from((*sorted(DONE), "max_rounds", "limit")),
    fallback=st.booleans(),
)
def test_selection_law(actions: list[int], ended_by: str, fallback: bool) -> None:
    """S⁺ ⊆ A, S⁻ ⊆ C; what a limit ended, or a fallback decided, is in neither."""
    polarity = selection(len(actions), actions, ended_by, fallback=fallback)
    grade = grade_of(len(actions), ended_by)
    assert polarity != "do" or grade == "A"
    assert polarity != "avoid" or grade == "C"
    assert not (ended_by == "limit" and polarity)
    assert not (polarity == "avoid" and fallback)


@pytest.mark.claim("mc2-eq-09")
def test_a_fallback_restart_and_a_spent_limit_teach_nothing() -> None:
    script = {
        "reasoner": [solved("1")] * 3,
        "monitor": [audited("YES")] * 3,
        "controller": [decided(3), decided(3), "hm", "hm"],
    }
    assert reflected(episode(script))["polarity"] is None
    script["controller"] = [decided(3)] * 3
    assert reflected(episode(script))["polarity"] == "avoid"
    limited = reflected(episode(script, calls=8))
    assert (limited["polarity"], limited["grade"], limited["ended_by"]) == (None, "C", "limit")


@pytest.mark.claim("mc2-eq-09")
def test_a_batch_chooses_in_its_order_and_failed_ones_first() -> None:
    middling = member("m", reflected(rounds(("YES", 3), ("NO", 1))))
    failed = member("f", {})
    members = [best("a"), middling, worst("b"), failed, best("c"), worst("d")]
    assert [one.member.reflected.problem_id for one in chosen(members)] == ["a", "b", "c", "d"]
    assert [one.member.reflected.problem_id for one in chosen(members, 3)] == ["a", "b", "d"]
    assert [one.polarity for one in chosen(members, 1)] == ["avoid"]


def test_a_fallback_counts_only_where_it_was_the_last_decision() -> None:
    script = {
        "reasoner": [solved("1")] * 3,
        "monitor": [audited("YES")] * 3,
        "controller": [decided(3), "hm", "hm", decided(3)],
    }
    found = reflected(episode(script))
    assert (found["polarity"], found["actions"]) == ("avoid", [3, 3, 3])


def test_an_episode_that_a_limit_ended_at_once_leaves_a_blank() -> None:
    for settings in (setting(), setting(roles="R")):
        found = Mc2Reflection.model_validate(
            reflected(episode({"reasoner": []}, settings, calls=0), settings)
        )
        assert (found.rounds, found.grade, found.polarity, found.ended_by) == (
            0,
            "C",
            None,
            "limit",
        )
        assert (found.flags, found.actions, found.asked, found.rejected) == ((), (), (), None)
        assert (found.excerpts.trajectory, found.trajectories.reasoner) == ("", ())
        assert found.tags == ("R_ok", "M_ok", "C_ok")
        assert found.routed is None


def test_that_the_controller_was_asked_is_said_only_where_once_it_was_not() -> None:
    """Older logs hold no word of it: there it always was."""
    assert reflected(rounds(("YES", 3), ("NO", 1)))["asked"] == []
    clean = Mc2Settings.resolve("service", {})
    script = {
        "reasoner": [solved("1"), solved("2")],
        "monitor": [audited("YES"), audited("NO")],
        "controller": [decided(3)],
    }
    left = reflected(episode(script, clean), clean)
    assert left["asked"] == [True, False]
    assert Mc2Reflection.model_validate(left).routed == 3
    assert Mc2Reflection.model_validate({**left, "asked": []}).routed == 1


@pytest.mark.parametrize(
    ("flags", "actions", "rated"),
    [
        ([YES, YES, NO, NO], [3, 3, 1, 1], "ok ok ok"),
        ([YES, YES, YES, NO], [3, 3, 3, 1], "poor ok poor"),
        ([YES, NO, NO], [3, 3, 1], "ok ok poor"),
    ],
)
def test_more_than_half_of_the_rounds_make_a_role_poor(
    flags: list[Flag | None], actions: list[int], rated: str
) -> None:
    found = ratings(len(flags), flags, actions, "max_rounds")
    assert f"{found.reasoner} {found.monitor} {found.controller}" == rated
    ended = ratings(len(flags), flags, actions, "limit")
    assert {ended.reasoner, ended.monitor, ended.controller} == {"ok"}


def test_a_patch_is_an_a_in_the_paper_and_what_it_is_said_to_be_elsewhere() -> None:
    assert grade_of(1, "corrected") == "A"
    assert grade_of(1, "corrected", patch="B") == "B"
    assert grade_of(1, "accepted", patch="B") == "A"
    assert grade_of(2, "corrected") == grade_of(2, "accepted") == "B"
    assert grade_of(1, "max_rounds") == grade_of(2, "limit") == "C"


def test_what_is_kept_of_a_line_is_bounded() -> None:
    script = {
        "reasoner": [solved("7" * 400)],
        "monitor": [audited("YES", "s" * 400, "d" * 400)],
        "controller": [f"Action: 1\nJustification: {'j' * 400}"],
    }
    found = Mc2Reflection.model_validate(reflected(episode(script))).trajectories
    [answer], [(_, step, description)], [(_, why)] = (
        found.reasoner,
        found.monitor,
        found.controller,
    )
    assert {len(each or "") for each in (answer, step, description, why)} == {LINE_CHARS}
