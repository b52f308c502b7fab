"""Judgements that nobody could read: asked for once more, then unknown in a service; ``paper`` does as its papers."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.policies.base import Conclusion
from handlers.policies.mgv.abandon import Gone, criterion
from handlers.policies.mgv.settings import (
    AcquisitionSettings,
    FlavellSettings,
    MgvSettings,
    RetrievalSettings,
)
from handlers.policies.mgv.signals import Result, evaluative
from handlers.policies.registry import find
from handlers.roles.confidence import CLOSINGS
from schemas.events.reasoning import MonitorReported
from schemas.problem import Profile
from schemas.questions import Complete
from tests.papers.mc2_says import solved
from tests.papers.mgv_says import TASK, checked, episode, felt, reflected
from tests.scripted import Ran, run, shown

VERBAL = {"confidence": "verbal"}
MUTE = "I would say so."


class Mute:
    """Right answers; what one role is asked for cannot be read, once or always."""

    def __init__(self, role: str, then: str = MUTE) -> None:
        self.role, self.then = role, then

    def __call__(self, question: Complete) -> str:
        if question.role == self.role:
            return self.then if question.history else MUTE
        match question.role:
            case "reasoner":
                return solved("96")
            case "confidence":
                return "Confidence: 0.9"
            case _:
                return checked("PASS")


@pytest.mark.parametrize("settings", [FlavellSettings, RetrievalSettings, AcquisitionSettings])
def test_a_confidence_is_asked_for_once_more(settings: type[MgvSettings]) -> None:
    ran = episode(
        settings.resolve("service", VERBAL), Mute("confidence", "Confidence: 0.9"), calls=12
    )
    first, again = ran.asks("confidence")[:2]
    assert not first.history
    assert again.history[0] == ("assistant", MUTE)
    assert ran.result.answer == "96"
    assert ran.result.confidence == 0.9


def test_a_checked_answer_is_given_though_nobody_knows_how_sure_it_is() -> None:
    """A right answer that passed its check was withheld after twelve calls, for its confidence was 0."""
    ran = episode(FlavellSettings.resolve("service", VERBAL), Mute("confidence"))
    assert (ran.result.answer, ran.result.ended_by) == ("96", "goal")
    assert (ran.result.confidence, ran.result.confidence_source) == (None, None)
    assert [each.value for each in felt(ran, "confidence")] == [None]
    assert reflected(ran, FlavellSettings.resolve("service", VERBAL))["confidence"] is None
    paper = episode(FlavellSettings.resolve("paper", VERBAL), Mute("confidence"))
    assert (paper.result.answer, paper.result.ended_by) == (None, "max_rounds")
    assert [each.value for each in felt(paper, "confidence")] == [0.0] * 4


def test_a_search_goes_on_and_gives_its_answer() -> None:
    ran = episode(
        RetrievalSettings.resolve("service", VERBAL | {"max_rounds": 2}), Mute("confidence")
    )
    assert (ran.result.answer, ran.result.confidence) == ("96", None)
    assert ran.result.ended_by == "max_rounds", "nothing stops on what nobody could read"


def test_nothing_is_mastered_on_what_nobody_could_read() -> None:
    ran = episode(AcquisitionSettings.resolve("service", VERBAL), Mute("confidence"), calls=9)
    assert (ran.result.answer, ran.result.confidence) == ("96", None)
    assert ran.result.ended_by != "mastered"
    assert {each.value for each in felt(ran, "JOL")} == {None}


def test_without_a_call_to_ask_again_it_is_unknown() -> None:
    """The limit of two calls leaves none for a second question; the answer stands."""
    ran = episode(RetrievalSettings.resolve("service", VERBAL), Mute("confidence"), calls=2)
    assert ran.result.answer == "96"
    assert [each.value for each in felt(ran, "confidence")] == [None]


@pytest.mark.parametrize(("profile", "ended"), [("service", "max_rounds"), ("paper", "max_rounds")])
def test_a_check_that_cannot_be_read_is_no_pass(profile: Profile, ended: str) -> None:
    ran = episode(FlavellSettings.resolve(profile, {"max_rounds": 2}), Mute("monitor"))
    assert ran.result.ended_by == ended
    assert [fact.flag for fact in ran.of(MonitorReported)] == [None, None]


def test_nor_is_it_a_failure_to_give_up_on() -> None:
    settings = FlavellSettings.resolve("service", {})
    unknown, failed = Gone(None, "96", 0.0), Gone(False, "96", 0.0)
    assert criterion([unknown] * 3, 3, None, settings) is None
    assert criterion([failed] * 3, 3, None, settings) == "failures"


def test_an_unknown_confidence_raises_no_doubt() -> None:
    fragmented, doubtful, unexpected, progress = evaluative(Result("96", None), 0.5)
    assert (fragmented, doubtful, unexpected, progress) == (0.0, 0.0, 0.0, 0.0)
    assert evaluative(Result("96", 0.0), 0.5)[1:3] == (1.0, 0.5)


def test_a_difficulty_that_cannot_be_read_leaves_the_feeling() -> None:
    def reply(question: Complete) -> str:
        if question.template.name == "appraise":
            return MUTE
        return Mute("nobody")(question)

    asked = episode(FlavellSettings.resolve("service", {"assess": "verbal"}), reply)
    plain = episode(FlavellSettings.resolve("service", {}), reply)
    assert [each.value for each in felt(asked, "difficulty")] == [
        each.value for each in felt(plain, "difficulty")
    ]
    assert asked.result.answer == "96"


def test_a_whole_solution_is_not_numbered_twice() -> None:
    """It numbers its own steps; ``[Step 1]`` before all of them said that they are one."""
    ran = episode(FlavellSettings.resolve("service", VERBAL), Mute("nobody"))
    asked = shown(ran.asks("confidence")[0])
    assert f"### Trajectory\n{solved('96')}" in asked
    assert "[Step" not in asked
    assert asked.endswith(CLOSINGS["A"]), "what is to be done is read last"


# ── Reflexion ────────────────────────────────────────────────────────────────────────────────


def reflexion(profile: Profile) -> Ran[Conclusion]:
    policy = find("reflexion")
    said: dict[str, Any] = {
        "reasoner": [solved("1"), solved("96")],
        "evaluator": ["Hm.", "Hm.", "Solved: YES"],
        "reflector": ["Reflection: count again"],
    }
    return run(policy.solve(TASK, policy.settings.resolve(profile, {})), said)


def test_nothing_is_reflected_on_where_no_failure_is_known() -> None:
    ran = reflexion("service")
    assert ran.roles == ["reasoner", "evaluator", "evaluator", "reasoner", "evaluator"]
    assert [question.draw for question in ran.asks("reasoner")] == [0, 1]
    assert (ran.result.answer, ran.result.ended_by) == ("96", "solved")
    assert "reflector" in reflexion("paper").roles
