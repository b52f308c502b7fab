"""When a person is asked behind a vote, what he is asked, and what his word comes to."""

from __future__ import annotations

import pytest

from handlers.policies.base import Conclusion, Task
from handlers.policies.reviewed import REVIEWED, ReviewedSettings, is_open, question, settled
from handlers.policies.unread import standings, taken
from schemas.events.episode import ReviewAnswered
from schemas.outcome import Heard
from schemas.questions import Review, Reviewed
from tests.papers.mc2_says import solved
from tests.scripted import Ran, run

SETTINGS = ReviewedSettings()


def voted(answer: str | None, share: float | None, limit: str | None = None) -> Conclusion:
    return Conclusion(
        answer=answer,
        ended_by="voted",
        confidence=share,
        confidence_source="vote_share",
        limit=limit,
    )


@pytest.mark.parametrize(
    ("answer", "share", "opens"),
    [("7", 0.4, True), ("7", 0.5, True), ("7", 0.6, False), ("7", None, True), (None, 0.9, True)],
)
def test_a_vote_settles_nothing_up_to_half_of_all_samples(
    answer: str | None, share: float | None, opens: bool
) -> None:
    assert is_open(voted(answer, share), SETTINGS) is opens


def test_what_a_person_is_asked() -> None:
    assert question(voted("7", 0.4)) == (
        "40% of the samples say so, which settles nothing. Is that answer right? If it is not, "
        "which one is?"
    )
    assert question(voted("7", None)).startswith("0% of the samples say so")
    assert question(voted(None, None)) == (
        "No sample came to an answer that can be read. What is the right answer?"
    )


@pytest.mark.parametrize(
    ("result", "answer", "verdict", "end"),
    [
        ("answered", "8", None, Conclusion(answer="8", ended_by="reviewed")),
        ("answered", "8", False, Conclusion(answer="8", ended_by="reviewed")),
        (
            "answered",
            None,
            True,
            Conclusion(
                answer="7", ended_by="reviewed", confidence=0.4, confidence_source="vote_share"
            ),
        ),
        ("answered", None, False, Conclusion(answer=None, ended_by="rejected")),
        ("passed", None, None, voted("7", 0.4, "calls")),
        ("nobody", None, None, voted("7", 0.4, "calls")),
    ],
)
def test_what_his_word_comes_to(
    result: Heard, answer: str | None, verdict: bool | None, end: Conclusion
) -> None:
    assert settled(voted("7", 0.4, "calls"), Reviewed(result, answer, verdict)) == end


def episode(*answers: str) -> Ran[Conclusion]:
    settings = REVIEWED.settings.resolve("service", {"samples": len(answers)})
    task = Task("q", "What is it?", "default", 1)
    return run(REVIEWED.solve(task, settings), [solved(each) for each in answers])


def test_he_is_asked_about_the_winner_and_only_where_the_vote_is_open() -> None:
    ran = episode("7", "8", "9", "7")
    asked = [each for _, each in ran.asked if isinstance(each, Review)]
    assert [(each.proposed, each.question[:3]) for each in asked] == [("7", "50%")]
    assert [event.result for event in ran.of(ReviewAnswered)] == ["nobody"]
    assert ran.result == voted("7", 0.5)
    assert not episode("7", "7", "8").of(ReviewAnswered)


def test_an_unread_judgement_is_unknown_or_nothing_and_stands_for_the_average() -> None:
    assert [taken(value, "zero") for value in (None, 0.3)] == [0.0, 0.3]
    assert [taken(value, "unknown") for value in (None, 0.3)] == [None, 0.3]
    assert standings([0.2, None, 0.6]) == pytest.approx([0.2, 0.4, 0.6])
    assert standings([None, None]) == [0.0, 0.0]
