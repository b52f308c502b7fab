"""What an episode's own answers were worth, in worlds whose truth is set by hand."""

from __future__ import annotations

import pytest

from schemas.events.reasoning import Generated
from schemas.outcome import Outcome
from streams.research.analysis.cases import Case
from streams.research.evidence.drafts import drafts, table_of
from tests.streams.bench.worlds import case


def said(problem: str, outcome: Outcome, *answers: str | None) -> Case:
    """An episode with these answers on its way; ``x`` is right, and it gives ``x`` where it is right, else ``y``."""
    events = [Generated(answer=answer, source=f"{at}") for at, answer in enumerate(answers)]
    given = "x" if outcome == "right" else "y"
    return case(problem, outcome, events, reference="x", answer=given)


def test_the_first_the_vote_and_the_given_are_told_apart() -> None:
    [found] = drafts([
        said("spoilt by what followed", "wrong", "x", "y", "x"),
        said("put right, as votes would", "right", "y", "x", "x"),
        said("put right against the vote", "right", "y", "y", "x"),
        said("one answer, which stands", "right", "x"),
        said("wrong all the way", "wrong", "y", None, "y"),
    ])  # fmt: skip
    assert found.episodes == 5
    assert found.answers == pytest.approx(13 / 5)
    assert (found.first, found.voted, found.given) == (2, 3, 3)
    assert (found.put_right, found.spoilt) == (2, 1)
    assert (found.given_alone, found.voted_alone) == (1, 1)
    *_, row = table_of([found])
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:] == ["5", "2.6", "2", "3", "3", "2", "1", "1.000", "1", "1", "1.000"]


def test_a_vote_that_is_torn_goes_to_what_was_said_first() -> None:
    [found] = drafts([said("a", "right", "y", "x"), said("b", "right", "x", "y")])
    assert (found.first, found.voted, found.given) == (1, 1, 2)


def test_nothing_is_told_of_single_answers_and_of_what_nobody_can_judge() -> None:
    assert list(drafts([said("a", "right", "x"), said("b", "wrong", "y")])) == []
    assert list(drafts([case("a", "right"), said("b", "unknown", "x", "y")])) == []
    unknown = case("a", "right", [Generated(answer=each, source="1") for each in "xz"])
    assert list(drafts([unknown])) == [], "there is no reference that would say whether z is right"
    [found] = drafts([unknown, said("b", "right", "y", "x")])
    assert found.episodes == 1
