"""Names that messages are known by."""

from __future__ import annotations

from schemas.identity import digest
from schemas.problem import Feedback


def feedback_name(feedback: Feedback) -> str:
    """Feedback is known by its content: saying it twice is saying it once."""
    return digest(feedback.model_dump(mode="json", exclude_none=True))
