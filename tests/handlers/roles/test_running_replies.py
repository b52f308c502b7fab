"""Short fields that a model of 1.5 billion parameters wrote one after the other, as it said them to our prompts."""

from __future__ import annotations

import pytest

from handlers.policies.baselines.self_refine import CRITIC
from handlers.roles.controller import CONTROLLER, Decision, decision_of
from handlers.roles.distiller import DISTILLERS
from handlers.roles.form import Unreadable
from handlers.roles.meta_reasoner import META_REASONER
from handlers.roles.monitor import report_of

ADVICE = (
    "Reflection: The agent follows a straightforward subtraction strategy, starting with $40 and subtracting the total "
    "cost of the items. Fact_check: The subtraction results in $0, indicating no money left. Thought: The agent's "
    "strategy is simple and effective for this problem. Action: The agent should stop after the subtraction and report "
    "the result. When: The report shows that the strategy was sufficient to solve the problem. General_strategy: Any "
    "agent with a similar problem can follow this strategy by starting with the initial amount and subtracting the "
    "total cost of the items."
)
DECISION = (
    "Justification: The trajectory correctly calculates the remaining balance by subtracting the total amount paid "
    "from the total amount promised to return. Action: PATCH\n\nCorrected_reasoning: The mended reasoning is the "
    "remaining balance after the payment of $1980 over 12 months, which is $220.\n\nSuggestions: To continue, Janeth "
    "should pay $165 per month for the remaining 2 months to reach her goal of returning $2200 by the end of the 12 "
    "months.\n\nFinal_answer: \\boxed{220}"
)


def test_advice_is_read_from_one_line() -> None:
    values = META_REASONER.read(ADVICE)
    assert not isinstance(values, Unreadable)
    assert values["Fact_check"] == "The subtraction results in $0, indicating no money left."
    assert values["Action"] == "The agent should stop after the subtraction and report the result."
    assert str(values["General_strategy"]).endswith("total cost of the items.")


def test_a_decision_is_read_behind_its_reason() -> None:
    assert decision_of(DECISION) == Decision(
        "patch",
        justification="The trajectory correctly calculates the remaining balance by subtracting the total amount paid "
        "from the total amount promised to return.",
        reasoning="The mended reasoning is the remaining balance after the payment of $1980 over 12 months, which is "
        "$220.",
        answer="220",
    )


def test_a_verdict_is_read_behind_the_feedback_that_it_follows() -> None:
    for said, sound in (
        ("Feedback: The solution is correct. There are no steps to change. Sound: YES.", "YES"),
        ("Feedback: None. The solution is sound as it stands. Sound: NO", "NO"),
    ):
        values = CRITIC.read(said)
        assert not isinstance(values, Unreadable)
        assert values["Sound"] == sound


def test_a_decision_is_read_behind_the_last_line_of_the_prompt() -> None:
    decision = decision_of(
        "Justification: The numerator was simplified wrongly.\n\nError_found: YES\n\nDecide on this trajectory now: "
        "Action: RESTART. Suggestions: Multiply both parts by the conjugate. Final_answer: \\boxed{1}"
    )
    assert (decision.action, decision.advice) == (
        "restart",
        "Multiply both parts by the conjugate.",
    )


def test_a_decision_is_read_that_a_sentence_names() -> None:
    said = (
        "Justification: The trajectory is already correct and does not require any further adjustments. Therefore, the "
        "action is ACCEPT and the final answer is \\(\\boxed{24r^3 - 6r^2 + 44r}\\).\n\nSuggestions: None.\n\n"
        "Corrected_reasoning: None.\n\nFinal_answer: \\(\\boxed{24r^3 - 6r^2 + 44r}\\)."
    )
    decision = decision_of(said)
    assert (decision.action, decision.answer) == ("accept", "24r^3 - 6r^2 + 44r")
    for other in (
        "the action is ACCEPT | PATCH",
        "the action is accept",
        "the action is not ACCEPT",
    ):
        values = CONTROLLER.read(said.replace("the action is ACCEPT", other))
        assert isinstance(values, Unreadable), other
    both = said.replace(
        "adjustments.", "adjustments. At first I thought that the action is RESTART."
    )
    assert isinstance(CONTROLLER.read(both), Unreadable)


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("Justification: It holds so far. Action: none yet, I would say.", "Action"),
        ("Justification: It holds, so the word after action: PATCH is wrong.", "Action"),
        ("Justification: It holds.", "Action"),
    ],
)
def test_prose_is_taken_for_no_field(said: str, missing: str) -> None:
    values = CONTROLLER.read(said)
    assert isinstance(values, Unreadable)
    assert values.field == missing


def test_a_role_of_long_texts_reads_labels_at_the_start_of_lines_alone() -> None:
    """There a label in a sentence is more likely to be quoted from the work that is looked at."""
    role = DISTILLERS["reasoner"].role
    said = " ".join(
        f"{field.label}: IF a sum THEN check BECAUSE of slips." for field in role.reply.fields
    )
    assert isinstance(role.read(said), Unreadable)


def test_a_report_is_read_from_one_line_and_from_its_steps_where_they_are_none() -> None:
    """As the same model reported; a report that finds no step need not say that nothing was found."""
    for said, flag in (
        ("Analysis: off. Error_description: 2/3 was meant. Error_step: 4. Error_found: YES", "YES"),
        (
            "Analysis: all hold.\nError_description: None. No step is unreliable.\nError_step: None. No flaw.",
            "NO",
        ),
        (
            "Error_description: There is no mistake. Therefore, Error_step is NONE and Error_found is NO.",
            "NO",
        ),
        (
            "Analysis: all hold.\nError_description: None\nError_step: None of them but the last.",
            None,
        ),
        ("Analysis: all hold.\nError_step: NONE\nError_found: perhaps", None),
        ("Analysis: all hold.", None),
    ):
        assert report_of(said).flag == flag, said


def test_a_restart_without_advice_is_a_restart() -> None:
    assert decision_of("Justification: The premise is wrong.\nAction: RESTART") == Decision(
        "restart", "The premise is wrong."
    )
