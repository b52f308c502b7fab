"""What was spent, in three columns that are never added up: episodes, learning, probes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from schemas.events.episode import Completed

Column: TypeAlias = Literal["episodes", "learning", "probes"]
COLUMNS: tuple[Column, ...] = ("episodes", "learning", "probes")


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
        self.calls += 1
        self.prompt_tokens += said.prompt_tokens or 0
        self.completion_tokens += said.completion_tokens or 0
        self.cost += said.cost or 0.0
        self.seconds += said.seconds or 0.0
        self.unknown_tokens += said.prompt_tokens is None or said.completion_tokens is None
        self.unknown_cost += said.cost is None

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
    """What each column spent."""

    columns: dict[Column, Spent] = field(
        default_factory=lambda: {name: Spent() for name in COLUMNS}
    )

    def feed(self, episode: str, said: Completed) -> None:
        """Book a completion of an episode, by what kind of episode it is."""
        marker = episode[0]
        column: Column = "learning" if marker == "b" else "probes" if marker == "q" else "episodes"
        self.columns[column].add(said)
