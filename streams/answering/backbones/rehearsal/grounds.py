"""Kinds of problems as the simulator sees them: their words, their approaches, and where these lead.

Everything hidden in a problem is hashed from the seed and the problem itself. Nothing is stored
between calls, so that a worker which starts again, or another worker, meets the same difficulty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

from schemas.identity import hash01

WORKING = 2
"""How many approaches work on the problems of one situation."""
EXCEPTION = 0.05
"""Share of problems on which an approach does what it does not in their situation."""


@dataclass(frozen=True, slots=True)
class Work:
    """An attempt: its steps as lines, and the answer."""

    steps: tuple[str, ...]
    answer: str


class Ground(ABC):
    """A kind of problem.

    ``approaches``, ``situations`` and ``checks`` are phrases without digits, fit for lessons and
    rules; an approach has at most four words, so that naming it is no echo. ``example`` stands in
    where a prompt shows no problem.
    """

    name: str
    approaches: tuple[str, ...]
    situations: tuple[str, ...]
    checks: tuple[str, ...]
    example: str

    @abstractmethod
    def reads(self, text: str) -> str | None:
        """The canonical form of a text, or ``None`` if it is none of this kind."""

    @abstractmethod
    def situation(self, problem: str) -> int:
        """Which of ``situations`` a problem is in."""

    @abstractmethod
    def work(self, problem: str, rightly: bool, pick: float) -> Work:
        """An attempt carried out, rightly or not; ``pick`` in [0, 1) tells alternatives apart."""

    @abstractmethod
    def right(self, problem: str, answer: str) -> bool:
        """Whether an answer solves a problem."""

    def solvable(self, problem: str) -> bool:
        """Whether any attempt can come out right."""
        return True


@dataclass(frozen=True, slots=True)
class Latent:
    """The hidden side of a problem, hashed from it and never shown."""

    ground: Ground
    problem: str
    situation: int
    works: frozenset[int]
    favourite: int
    difficulty: float


@lru_cache(maxsize=16_384)
def latent(seed: int, ground: Ground, problem: str) -> Latent:
    """The latents of a problem in its canonical form, under a seed."""
    situation = ground.situation(problem)
    # Approaches lead to the same end on most problems of a situation, or no lesson could be worth
    # anything; they differ on a few, or a single lesson would settle the situation for good.
    usual = usually(seed, ground.name, situation, len(ground.approaches))
    works = [
        approach
        for approach in range(len(ground.approaches))
        if (hash01(seed, "exception", problem, approach) < EXCEPTION) != (approach in usual)
    ]
    favourite = int(hash01(seed, "favourite", problem) * len(ground.approaches))
    difficulty = hash01(seed, "difficulty", problem)
    # Otherwise lessons would be drawn from attempts that nothing could have saved.
    solving = frozenset(works if ground.solvable(problem) else ())
    return Latent(ground, problem, situation, solving, favourite, difficulty)


@lru_cache(maxsize=256)
def usually(seed: int, name: str, situation: int, approaches: int) -> frozenset[int]:
    """The approaches that work on most problems of a situation."""
    order = sorted(range(approaches), key=lambda a: hash01(seed, name, situation, a))
    return frozenset(order[:WORKING])
