"""Which answers a person should look at, at and around the thresholds."""

from __future__ import annotations

import re

import pytest

from handlers.reviewing import USUAL, Ended, Reason, Thresholds, reasons

STRICT = Thresholds(confidence=0.75, votes=0.6)


@pytest.mark.parametrize(
    ("ended", "thresholds", "found"),
    [
        (Ended(status="answered", answer="4"), USUAL, ()),
        (Ended(status="answered", answer="4", confidence=0.5), USUAL, ()),
        (Ended(status="answered", answer="4", confidence=0.49), USUAL, ("unsure",)),
        (Ended(status="answered", answer="4", confidence=0.0), USUAL, ("unsure",)),
        (Ended(status="answered", answer="4", confidence=0.74), STRICT, ("unsure",)),
        (Ended(status="answered", answer="4", confidence=0.9, calibrated=0.4), USUAL, ("unsure",)),
        (Ended(status="answered", answer="4", confidence=0.4, calibrated=0.9), USUAL, ()),
        (Ended(status="answered", answer="4", confidence=0.9, calibrated=0.0), USUAL, ("unsure",)),
        (Ended(status="answered", answer="4", votes=2, of=4), USUAL, ("disputed",)),
        (Ended(status="answered", answer="4", votes=3, of=5), USUAL, ()),
        (Ended(status="answered", answer="4", votes=3, of=5), STRICT, ("disputed",)),
        (Ended(status="answered", answer="4", votes=1, of=2), USUAL, ("disputed",)),
        (Ended(status="answered", answer="4", votes=0, of=1), USUAL, ()),
        (Ended(status="answered", answer="4", votes=1, of=None), USUAL, ()),
        (Ended(status="answered", answer="4", votes=None, of=5), USUAL, ()),
        (
            Ended(status="answered", answer="4", confidence=0.1, votes=1, of=3),
            USUAL,
            ("disputed", "unsure"),
        ),
        (Ended(status="abstained", confidence=0.1), USUAL, ("abstained",)),
        (Ended(status="abstained", votes=0, of=3), USUAL, ("abstained", "disputed")),
        (Ended(status="failed", votes=0, of=3, confidence=0.1), USUAL, ()),
    ],
)
def test_why_an_answer_is_worth_a_look(
    ended: Ended, thresholds: Thresholds, found: tuple[Reason, ...]
) -> None:
    assert reasons(ended, thresholds) == found


def test_half_is_enough_where_nobody_says_otherwise() -> None:
    assert Thresholds() == USUAL == Thresholds(confidence=0.5, votes=0.5)


@pytest.mark.parametrize("name", ["confidence", "votes"])
def test_a_threshold_is_a_share(name: str) -> None:
    for share in (0, 1):
        assert getattr(Thresholds(**{name: share}), name) == share
    for no_share in (-0.01, 1.01):
        with pytest.raises(ValueError, match=re.escape(f"{name}: {no_share} is no share")):
            Thresholds(**{name: no_share})
