"""What tokens cost. A price that nobody knows is absent, never zero."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, NonNegativeFloat

MILLION = 1_000_000


class Price(BaseModel):
    """What a million tokens cost, in the currency of the cost limit; cached ones as others unless said."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    prompt: NonNegativeFloat
    completion: NonNegativeFloat
    cached: NonNegativeFloat | None = None

    def of(self, prompt: int, completion: int, cached: int = 0) -> float:
        """What so many tokens cost; ``cached`` ones are among those of the prompt."""
        # Some endpoints count cached tokens beside those of the prompt; more than all of them
        # cannot have been cached.
        cached = min(cached, prompt)
        cheap = self.prompt if self.cached is None else self.cached
        asked = (prompt - cached) * self.prompt + cached * cheap
        return (asked + completion * self.completion) / MILLION
