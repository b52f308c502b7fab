"""Self-consistency and any-of-n over the recorded GPT-4 samples of Game of 24, for n = 1…100.

Real model outputs, no network: the expected share of puzzles over draws of n of a puzzle's samples,
with 95 % intervals over puzzles.

Source: design/evaluation.md#metrics; CoT2-Meta table 5 (Best-of-n).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from handlers.answers.extract import extract
from handlers.answers.grade import check_game24
from handlers.answers.normalise import canonical
from handlers.learning import metrics
from schemas.identity import hash01
from streams.research.analysis.intervals import chance_interval
from streams.research.analysis.report import share
from streams.support.datasets.game24 import ranked

POINTS = (1, 2, 5, 10, 20, 50, 100)
DRAWS = 40
"""Orders of a puzzle's samples over which a vote is averaged; any-of-n needs none."""
EVERY = range(1, 101)


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
    """The recorded samples, read as policies read them. ``data`` holds 24.csv and logs/."""
    problems = [str(puzzle["problem"]) for puzzle in ranked(data / "24.csv")]
    [file] = sorted((data / "logs").glob("*naive_cot_sample*.json"))
    entries: list[Mapping[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    found: list[Samples] = []
    for entry in entries:
        problem = problems[int(entry["idx"])]
        answers = tuple(extract(text) for text in entry["ys"])
        right = tuple(is_right(problem, answer) for answer in answers)
        found.append(Samples(problem, answers, right))
    return found


@lru_cache(maxsize=65_536)
def is_right(problem: str, answer: str | None) -> bool:
    """Whether an answer solves its puzzle."""
    # Kept, for ten thousand samples give the same answers again and again.
    return check_game24(problem, answer).outcome == "right"


def votes_by_n(
    samples: Samples, right_of: Callable[[str, str | None], bool] = is_right
) -> list[float]:
    """How often the vote of the first n samples is right, over seeded orders; for every n from 1."""
    size = len(samples.answers)
    keys = [None if answer is None else canonical(answer) for answer in samples.answers]
    right = {
        key: right_of(samples.problem, said)
        for key, said in zip(keys, samples.answers, strict=True)
    }
    hits = [0] * size
    for turn in range(DRAWS):
        winners = running_votes([keys[at] for at in order(samples.problem, turn, size)])
        for n, winner in enumerate(winners):
            hits[n] += winner is not None and right[winner]
    return [count / DRAWS for count in hits]


def running_votes(keys: Sequence[str | None]) -> Iterator[str | None]:
    """The vote's winner after each sample; ties to the one first seen, none while none can be read."""
    support: dict[str, int] = {}
    seen: dict[str, int] = {}
    best: str | None = None
    for key in keys:
        if key is not None:
            seen.setdefault(key, len(seen))
            support[key] = support.get(key, 0) + 1
            # One comparison a sample: only the answer that has just come can overtake. A count of
            # all for each prefix would take the square of a puzzle's samples.
            if best is None or (support[key], -seen[key]) > (support[best], -seen[best]):
                best = key
        yield best


def order(problem: str, turn: int, size: int) -> list[int]:
    """A seeded order of a puzzle's samples."""
    return sorted(range(size), key=lambda at: hash01("curve", problem, turn, at))


def curve(puzzles: Sequence[Samples], points: Sequence[int] = POINTS) -> list[Point]:
    """Both curves at these n."""
    votes = [votes_by_n(each) for each in puzzles]
    found: list[Point] = []
    for n in points:
        voted = [each[n - 1] for each in votes]
        # Any of n has a closed form, and needs no orders: those would only add noise of their own.
        anys = [metrics.any_of_n(each.right, n) for each in puzzles]
        found.append(Point(n, mean(voted), spread(voted), mean(anys), spread(anys)))
    return found


def mean(values: Sequence[float]) -> float:
    """The mean."""
    return sum(values) / len(values)


def spread(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean over puzzles, as recipes print it; all there is where one puzzle says nothing."""
    return chance_interval([(value, 1) for value in values]) or (0.0, 1.0)


def markdown(points: Sequence[Point]) -> str:
    """The curves as a table."""
    lines = ["| n | self-consistency | 95 % | any of n | 95 % |", "|---:|---:|---:|---:|---:|"]
    for p in points:
        shown = [f"{p.n}"]
        for value, (low, high) in ((p.vote, p.vote_interval), (p.any_of_n, p.any_interval)):
            shown += [share(value), f"{100 * low:.1f}–{100 * high:.1f}"]
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines)
