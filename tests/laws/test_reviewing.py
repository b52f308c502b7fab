"""Which answers a person should look at: laws of the rule."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from handlers.reviewing import Ended, Thresholds, is_disputed, reasons
from schemas.outcome import Status

SHARES = st.floats(0, 1)
THRESHOLDS = st.builds(Thresholds, confidence=SHARES, votes=SHARES)
COUNTS = st.integers(0, 20)
ENDED = st.builds(
    Ended,
    status=st.sampled_from(get_args(Status)),
    answer=st.none() | st.text(max_size=5),
    confidence=st.none() | SHARES,
    calibrated=st.none() | SHARES,
    votes=st.none() | COUNTS,
    of=st.none() | COUNTS,
)


@given(ENDED, THRESHOLDS)
def test_a_missing_answer_is_always_a_reason_but_a_defect_never_is(
    ended: Ended, thresholds: Thresholds
) -> None:
    found = reasons(ended, thresholds)
    assert ("abstained" in found) == (ended.answer is None and ended.status != "failed")
    assert ended.status != "failed" or found == ()
    assert len(set(found)) == len(found)


@given(ENDED, THRESHOLDS, THRESHOLDS)
def test_stricter_thresholds_ask_for_no_less(
    ended: Ended, one: Thresholds, two: Thresholds
) -> None:
    strict = Thresholds(
        confidence=max(one.confidence, two.confidence), votes=max(one.votes, two.votes)
    )
    assert {*reasons(ended, one)} | {*reasons(ended, two)} <= {*reasons(ended, strict)}


@given(ENDED, THRESHOLDS)
def test_what_is_unknown_is_no_reason(ended: Ended, thresholds: Thresholds) -> None:
    known = reasons(ended, thresholds)
    assert "unsure" not in known or ended.chance is not None
    assert "disputed" not in known or None not in (ended.votes, ended.of)
    if ended.calibrated is not None:
        assert ended.chance == ended.calibrated


@given(st.integers(2, 50), st.data())
def test_whoever_has_more_than_half_of_the_votes_settles_it(of: int, data: st.DataObject) -> None:
    votes = data.draw(st.integers(0, of))
    assert is_disputed(votes, of, 0.5) == (2 * votes <= of)
    assert not is_disputed(1, 1, 1.0), "a single voice is no vote"
