from __future__ import annotations

import pytest

from streams.answering.backbones.openai.rates import hold_back, span


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("20ms", 0.02),
        ("1m12.5s", 72.5),
        ("3", 3.0),
        ("", None),
        ("soon", None),
        ("-1s", None),
        ("nan", None),
    ],
)
def test_spans(said: str, seconds: float | None) -> None:
    assert span(said) == seconds


OFFICIAL = {"x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "1m0s"}
DRAFT = {"ratelimit-limit": "60", "ratelimit-reset": "7"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        (OFFICIAL | {"x-ratelimit-remaining-requests": "3"}, None),
        (OFFICIAL | {"x-ratelimit-remaining-requests": "0"}, 1.0),
        ({"x-ratelimit-remaining-requests": "0"}, None),
        (DRAFT | {"ratelimit-remaining": "1"}, None),
        (DRAFT | {"ratelimit-remaining": "0"}, 7.0),
        ({"ratelimit-remaining": "junk", "ratelimit-reset": "7"}, None),
    ],
)
def test_nothing_is_sent_while_nothing_is_left(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert hold_back(headers) == seconds
