"""Kinds of problems as the simulator sees them: their words, their approaches, and where these lead."""

from __future__ import annotations

from collections.abc import Callable
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


@dataclass(frozen=True, eq=False)
class Ground:
    """A kind of problem.

    ``approaches``, ``situations`` and ``checks`` are phrases without digits, fit for lessons and
    rules; an approach has at most four words, so that naming it is no echo. ``reads`` gives the
    canonical form of a text, or ``None`` if it is none of this kind. ``work`` carries out an
    attempt, rightly or not, ``pick`` in [0, 1) telling alternatives apart. ``example`` stands in
    where a prompt shows no problem.
    """

    name: str
    approaches: tuple[str, ...]
    situations: tuple[str, ...]
    checks: tuple[str, ...]
    reads: Callable[[str], str | None]
    situation: Callable[[str], int]
    solvable: Callable[[str], bool]
    work: Callable[[str, bool, float], Work]
    right: Callable[[str, str], bool]
    example: str


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
    usual = usually(seed, ground.name, situation, len(ground.approaches))
    works = [
        approach
        for approach in range(len(ground.approaches))
        if (hash01(seed, "exception", problem, approach) < EXCEPTION) != (approach in usual)
    ]
    favourite = int(hash01(seed, "favourite", problem) * len(ground.approaches))
    difficulty = hash01(seed, "difficulty", problem)
    solving = frozenset(works if ground.solvable(problem) else ())
    return Latent(ground, problem, situation, solving, favourite, difficulty)


@lru_cache(maxsize=256)
def usually(seed: int, name: str, situation: int, approaches: int) -> frozenset[int]:
    """The approaches that work on most problems of a situation."""
    order = sorted(range(approaches), key=lambda a: hash01(seed, name, situation, a))
    return frozenset(order[:WORKING])
