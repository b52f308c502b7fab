"""What facts say of an answer that was graded anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.retold import retold
from schemas.events.base import Event
from schemas.events.cascade import CandidatesGraded
from schemas.events.graph import PairCompared, PathGrounded
from schemas.outcome import Outcome

OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(["right", "wrong", "unknown"])
EPISODES = ("p/d/a/r", "p/d/b/r", "p/d/c/r")


def path(source: str, outcome: Outcome) -> PathGrounded:
    return PathGrounded(case="c", subject="d/a", path="GS KN", outcome=outcome, source=source)


def graded(by: Any, *outcomes: Outcome) -> CandidatesGraded:
    return CandidatesGraded(episode="p/d/a/r", subject="d/a", by=by, outcomes=outcomes)


def left(given: int | None) -> Callable[[str], Mapping[str, Any]]:
    def summary_of(episode: str) -> Mapping[str, Any]:
        return {"stages": [{"leads": 0}, {"leads": given}]}

    return summary_of


@pytest.mark.parametrize(
    ("fact", "given", "now", "told"),
    [
        (graded("label", "wrong", "right"), 1, "wrong", graded("label", "wrong", "wrong")),
        (graded("label", "wrong", "wrong"), 0, "right", graded("label", "right", "wrong")),
        (graded("label", "wrong", "right"), 1, "right", graded("label", "wrong", "right")),
        (graded("label", "wrong", "right"), 1, "unknown", graded("label", "wrong", "right")),
        (graded("label", "wrong", "right"), None, "wrong", graded("label", "wrong", "right")),
        (
            graded("agreement", "wrong", "right", "wrong"),
            1,
            "wrong",
            graded("label", "unknown", "wrong", "unknown"),
        ),
        (graded("agreement", "wrong", "right"), 1, "right", graded("agreement", "wrong", "right")),
    ],
)
def test_candidates_follow_the_one_that_was_given(
    fact: CandidatesGraded, given: int | None, now: Outcome, told: CandidatesGraded
) -> None:
    assert retold([fact], {"p/d/a/r": now}, left(given)) == [told]


@given(
    st.lists(st.tuples(st.sampled_from((*EPISODES, "0.1")), OUTCOMES)),
    st.dictionaries(st.sampled_from(EPISODES), OUTCOMES),
)
def test_paths_of_members_alone_have_the_outcome_of_now(
    said: list[tuple[str, Outcome]], now: dict[str, Outcome]
) -> None:
    pair = PairCompared(
        pair="p/d/a/r/M1", problem="0f", active=(), principle="M1", p=1.0,
        with_reward=1.0, without_reward=0.0, memory_version=0,
    )  # fmt: skip
    facts: list[Event] = [*(path(*each) for each in said), pair]
    *paths, last = retold(facts, now, left(None))
    assert last == pair
    assert paths == [path(source, now.get(source, outcome)) for source, outcome in said]
    assert retold(retold(facts, now, left(None)), now, left(None)) == [*paths, last]
