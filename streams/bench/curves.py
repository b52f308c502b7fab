"""Self-consistency and any-of-n over the recorded GPT-4 samples of Game of 24, for n = 1…100.

Real model outputs, no network: the expected share of puzzles over draws of n of a puzzle's samples,
with bootstrap intervals over puzzles.

Source: evaluation page (``any_of_n``); CoT2-Meta table 5 (Best-of-n).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from handlers.answers.extract import extract
from handlers.answers.grade import check_game24
from handlers.learning import metrics
from handlers.policies.baselines.consistency import vote
from schemas.identity import hash01
from streams.datasets.game24 import ranked

POINTS = (1, 2, 5, 10, 20, 50, 100)
DRAWS = 40
"""Orders of a puzzle's samples over which a vote is averaged; any-of-n needs none."""


@dataclass(frozen=True, slots=True)
class Samples:
    """One puzzle: what each sample answered, and whether that was right."""

    problem: str
    answers: tuple[str | None, ...]
    right: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A curve at n: share and 95 % interval, for votes and for any of n."""

    n: int
    vote: float
    vote_interval: tuple[float, float]
    any_of_n: float
    any_interval: tuple[float, float]


def read(data: Path) -> list[Samples]:
    """The recorded samples. ``data`` holds 24.csv and logs/."""
    problems = [str(puzzle["problem"]) for puzzle in ranked(data / "24.csv")]
    [file] = sorted((data / "logs").glob("*naive_cot_sample*.json"))
    entries: list[Mapping[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return [_samples(entry, problems[int(entry["idx"])]) for entry in entries]


def _samples(entry: Mapping[str, Any], problem: str) -> Samples:
    answers = tuple(map(extract, entry["ys"]))
    return Samples(problem, answers, tuple(_right(problem, answer) for answer in answers))


@lru_cache(maxsize=65_536)
def _right(problem: str, answer: str | None) -> bool:
    return check_game24(problem, answer).outcome == "right"


def voted(samples: Samples, n: int) -> float:
    """How often the vote of n samples is right, over seeded orders; of all samples exactly once."""
    size = len(samples.answers)
    turns = 1 if n == size else DRAWS
    return (
        sum(_vote(samples, order(samples.problem, turn, size)[:n]) for turn in range(turns)) / turns
    )


def _vote(samples: Samples, places: Sequence[int]) -> bool:
    winner, _ = vote([samples.answers[at] for at in sorted(places)])
    return _right(samples.problem, winner)


@lru_cache(maxsize=65_536)
def order(problem: str, turn: int, size: int) -> tuple[int, ...]:
    """A seeded order of a puzzle's samples."""
    return tuple(sorted(range(size), key=lambda at: hash01("curve", problem, turn, at)))


def curve(puzzles: Sequence[Samples], points: Sequence[int] = POINTS) -> list[Point]:
    """Both curves at these n."""
    return [_point(puzzles, n) for n in points]


def _point(puzzles: Sequence[Samples], n: int) -> Point:
    votes = [voted(each, n) for each in puzzles]
    anys = [metrics.any_of_n(each.right, n) for each in puzzles]
    return Point(n, mean(votes), spread(votes), mean(anys), spread(anys))


def mean(values: Sequence[float]) -> float:
    """The mean."""
    return sum(values) / len(values)


def spread(values: Sequence[float]) -> tuple[float, float]:
    """The bootstrap interval of the mean over puzzles."""
    return metrics.interval(len(values), lambda drawn: mean([values[at] for at in drawn]))


def markdown(points: Sequence[Point]) -> str:
    """The curves as a table."""
    rows = [
        f"| {p.n} | {_share(p.vote)} | {_shares(p.vote_interval)} "
        f"| {_share(p.any_of_n)} | {_shares(p.any_interval)} |"
        for p in points
    ]
    head = "| n | self-consistency | 95 % | any of n | 95 % |\n|---:|---:|---:|---:|---:|"
    return "\n".join((head, *rows))


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _shares(values: tuple[float, float]) -> str:
    return f"{100 * values[0]:.1f}–{100 * values[1]:.1f}"
