"""The final trajectory of a search under other words of the query: nothing is generated or searched again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handlers.policies.base import Conclusion
from handlers.policies.cot2_meta import solve
from handlers.policies.cot2_meta.rescored import RescoreSettings
from handlers.policies.cot2_meta.rescored import solve as rescored
from handlers.roles.confidence import PROMPTS
from schemas.events.search import ConfidenceStated
from schemas.questions import Complete
from tests.papers.cot2_says import GOOD, TASK, always, setting
from tests.scripted import Ran, run, shown


def in_other_words(said: str) -> Callable[[Complete], str]:
    """A model that trusts every trajectory by 0.8, and says this where it is asked in the words of B."""
    model = always(step=GOOD, trust=0.8, answer="24")
    return lambda question: said if PROMPTS["B"] in shown(question) else str(model(question))


def end_of(script: Callable[[Complete], str], **values: Any) -> Ran[Conclusion]:
    return run(rescored(TASK, RescoreSettings.resolve("paper", values)), script, calls=11)


@pytest.mark.claim("cot2-wordings")
def test_the_search_goes_as_it_went_and_only_its_end_is_put_in_other_words() -> None:
    """Each wording was a run of its own, whose search it steered too."""
    values = {"primary_calls": 9}
    plain = run(solve(TASK, setting(**values)), in_other_words("Confidence: 0.3"), calls=11)
    again = end_of(in_other_words("Confidence: 0.3"), **values)
    assert [shown(each) for each in again.requests[:-1]] == [shown(e) for e in plain.requests]
    assert again.requests[-1].role == "confidence"
    assert PROMPTS["B"] in shown(again.requests[-1])
    assert (plain.result.answer, plain.result.confidence) == ("24", 0.8)
    assert (again.result.answer, again.result.confidence) == ("24", 0.3)
    said = again.of(ConfidenceStated)[-1]
    assert (said.wording, said.value) == ("B", 0.3)
    final = [e for e in plain.of(ConfidenceStated) if e.node == said.node]
    assert final, "it is put to a trajectory that the search itself asked about"


def test_without_a_trajectory_or_a_reply_the_confidence_is_unknown() -> None:
    voted = end_of(
        in_other_words("Confidence: 0.3"),
        primary_calls=9,
        abstain_threshold=0.99,
        stop_threshold=1.0,
    )
    assert (voted.result.ended_by, voted.result.confidence) == ("fallback", None)
    assert "confidence" not in {question.role for question in voted.requests[-2:]}
    unread = end_of(in_other_words("Hard to say."), primary_calls=9)
    assert (unread.result.answer, unread.result.confidence) == ("24", None)
