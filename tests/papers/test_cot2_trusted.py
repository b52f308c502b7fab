"""The final trajectory of a baseline under the query that the search asks of its own: nothing is searched again."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.policies.base import Policy
from handlers.policies.baselines.best_of_n import BEST_OF_N
from handlers.policies.baselines.mcts import REST_MCTS
from handlers.policies.baselines.tree import TOT
from handlers.policies.baselines.trusted import SPARE, TRUSTED
from handlers.policies.registry import ASIDE, POLICIES
from handlers.roles.confidence import PROMPTS
from schemas.events.search import ConfidenceStated
from schemas.questions import Complete
from tests.papers.cot2_says import TASK, thought
from tests.scripted import run, shown

C = 16
CASES: list[tuple[Policy[Any], dict[str, Any], str]] = [
    (BEST_OF_N, {"samples": C, "pick": "vote"}, "1 and 3 and 8 at last"),
    (TOT, {}, "[Step 1]\nhalf way\n\n[Step 2]\nso it is"),
    (REST_MCTS, {}, "[Step 1]\nhalf way\n\n[Step 2]\nso it is"),
]


def says(question: Complete, trust: str = "Confidence: 0.3") -> str:
    """Two chains in three are lost; a thought comes to an answer where it is the second."""
    told = shown(question)
    match question.role:
        case "reasoner":
            return (
                "1 and 3 and 8 at last\nFinal_answer: ### 24 ###"
                if question.draw % 3
                else "no idea"
            )
        case "thinker":
            return thought("so it is", "24") if "half way" in told else thought("half way")
        case "judge":
            return "Value: 0.6"
        case _:
            return trust


@pytest.mark.claim("cot2-tab-17")
@pytest.mark.parametrize(("policy", "values", "final"), CASES, ids=[c[0].name for c in CASES])
def test_a_baseline_s_final_trajectory_is_put_to_the_same_query(
    policy: Policy[Any], values: dict[str, Any], final: str
) -> None:
    """Its confidence was a share of votes or a judge's value, and the table compared that with the query's."""
    [asked] = [each for each in TRUSTED if each.name == f"{policy.name}_trusted"]
    settings = policy.settings.resolve("paper", values)
    plain = run(policy.solve(TASK, settings), says, calls=C)
    again = run(asked.solve(TASK, settings), says, calls=C + SPARE)
    assert [shown(each) for each in again.requests[:-1]] == [shown(e) for e in plain.requests]
    query = again.requests[-1]
    assert (query.role, PROMPTS["A"] in shown(query)) == ("confidence", True)
    assert final in shown(query)
    assert plain.result.answer == again.result.answer == "24"
    assert (again.result.confidence, again.result.confidence_source) == (0.3, "stated")
    said = again.of(ConfidenceStated)[-1]
    assert (said.value, said.wording) == (0.3, "A")
    assert plain.result.trajectory is not None
    assert said.node == plain.result.trajectory.source


def test_without_an_answer_or_a_number_it_is_unknown() -> None:
    [asked] = [each for each in TRUSTED if each.name == "best_of_n_trusted"]
    settings = BEST_OF_N.settings.resolve("paper", {"samples": 2, "pick": "vote"})
    unread = run(asked.solve(TASK, settings), lambda q: says(q, "Hard to say."), calls=2 + SPARE)
    assert (unread.result.answer, unread.result.confidence) == ("24", None)
    nobody = run(asked.solve(TASK, settings), lambda q: "no idea", calls=2 + SPARE)
    assert (nobody.result.answer, nobody.result.confidence) == (None, None)
    assert "confidence" not in {each.role for each in nobody.requests}


def test_nobody_chooses_it_as_a_policy() -> None:
    named = {each.name for each in TRUSTED}
    assert named <= ASIDE.keys()
    assert not named & POLICIES.keys()
