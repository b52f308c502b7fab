"""The driver's short way to make a completion gives what validation gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.events.codec import decode
from schemas.events.episode import Completed

COUNTS = st.none() | st.integers(0, 1 << 40)
VALUES = st.fixed_dictionaries(
    {"asked": st.text(), "text": st.text(), "finish": st.text(), "model": st.text()},
    optional={
        "attempts": st.integers(0, 9),
        "prompt_tokens": COUNTS,
        "completion_tokens": COUNTS,
        "seconds": st.none() | st.floats(0, 1e9),
        "truncated": st.none() | st.booleans(),
        "logprob": st.none() | st.floats(-1e9, 0),
    },
)


@given(VALUES)
def test_a_trusted_event_is_the_validated_one(values: dict[str, object]) -> None:
    trusted, validated = Completed.trusted(values), Completed.model_validate(values)
    assert trusted == validated
    assert trusted.to_json() == validated.to_json()
    assert decode("completed", trusted.to_json()) == validated
    assert hash(trusted) == hash(validated)
