"""A fold over spending, in three columns that are never added up: episodes, learning, probes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from schemas.events.episode import Completed

Column: TypeAlias = Literal["episodes", "learning", "probes"]
COLUMNS: tuple[Column, ...] = ("episodes", "learning", "probes")
# Three columns that are never added up: what an answer costs is not what learning or a probe
# costs, and a sum would hide each of them.
COLUMN_OF: dict[str, Column] = {"b": "learning", "q": "probes"}
"""By the first letter of an episode's name."""


@dataclass(slots=True)
class Spent:
    """Sums of what is known, and how many completions left each of them unknown."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    unknown_tokens: int = 0
    unknown_cost: int = 0

    def add(self, said: Completed) -> None:
        """Book one completion."""
        prompt, completion = said.prompt_tokens, said.completion_tokens
        cost, seconds = said.cost, said.seconds
        self.calls += 1
        # Prompt and completion tokens are summed as far as they are known, and the sum of both is
        # unknown as soon as one part is.
        if prompt is not None:
            self.prompt_tokens += prompt
        if completion is not None:
            self.completion_tokens += completion
        if prompt is None or completion is None:
            self.unknown_tokens += 1
        if cost is None:
            self.unknown_cost += 1
        else:
            self.cost += cost
        if seconds is not None:
            self.seconds += seconds

    @property
    def tokens(self) -> int | None:
        """Prompt and completion tokens, unknown if any completion's are."""
        return None if self.unknown_tokens else self.prompt_tokens + self.completion_tokens

    @property
    def known_cost(self) -> float | None:
        """The cost, unknown if any completion's is."""
        return None if self.unknown_cost else self.cost


@dataclass(slots=True)
class CostsFold:
    """The spending of each column."""

    columns: dict[Column, Spent] = field(
        default_factory=lambda: {name: Spent() for name in COLUMNS}
    )

    def feed(self, episode: str, said: Completed) -> None:
        """Book a completion by what kind of episode it is of; what a probe took over was paid before."""
        if said.reused:
            return
        self.columns[COLUMN_OF.get(episode[0], "episodes")].add(said)
