"""``bench game24-recorded``: real GPT-4 texts, read by our extractor and judged by our checker.

10 000 chain-of-thought samples (100 a puzzle, ranks 901–1000) and 500 tree-of-thought answers (five
a puzzle). Their authors' labels say 4.03 % of samples, 49 puzzles with one right sample of 100, 62
with the first tree-of-thought answer right and 69 with one right of five.

Source: Tree of Thoughts (Yao et al. 2023), Table 2; the logs beside its code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handlers.answers.extract import extract
from streams.research.bench.curves import is_right
from streams.support.datasets.game24 import ranked

_SAMPLES = "*naive_cot_sample*.json"
_TREES = "*propose*_value*_greedy*.json"


@dataclass(frozen=True, slots=True)
class Puzzle:
    """One puzzle's texts: which are right by us, and which by the stored labels."""

    right: tuple[bool, ...]
    labels: tuple[bool, ...]

    @property
    def disagreements(self) -> int:
        """Of how many texts the stored label says something else than we do."""
        return sum(ours != theirs for ours, theirs in zip(self.right, self.labels, strict=True))


def run(data: Path) -> dict[str, Any]:
    """Fractions and counts over the texts in ``data`` (``24.csv`` and ``logs/``)."""
    if not (data / "24.csv").is_file():
        raise ValueError(f"no 24.csv in {data}")
    problems = [puzzle["problem"] for puzzle in ranked(data / "24.csv")]
    samples = list(_read(data, _SAMPLES, problems))
    trees = list(_read(data, _TREES, problems))
    every = [right for puzzle in samples for right in puzzle.right]
    return {
        "single": sum(every) / len(every),
        "any_of_100": sum(any(puzzle.right) for puzzle in samples),
        "samples": len(every),
        "problems": len(samples),
        "disagreements": sum(puzzle.disagreements for puzzle in samples),
        "tot": {
            "first": sum(puzzle.right[0] for puzzle in trees),
            "any_of_5": sum(any(puzzle.right) for puzzle in trees),
            "texts": sum(len(puzzle.right) for puzzle in trees),
            "disagreements": sum(puzzle.disagreements for puzzle in trees),
        },
    }


def _read(data: Path, pattern: str, problems: Sequence[str]) -> Iterator[Puzzle]:
    files = sorted((data / "logs").glob(pattern))
    # Two files of one kind are two models or two settings: their texts must not be mixed.
    if len(files) != 1:
        raise ValueError(f"{len(files)} files like {pattern} in {data / 'logs'}; one is expected")
    for entry in json.loads(files[0].read_text(encoding="utf-8")):
        problem = problems[int(entry["idx"])]  # counts the rows of 24.csv from 0
        right = tuple(is_right(problem, extract(text)) for text in entry["ys"])
        # The authors' own labels: where ours differ, one of the two has read a text wrongly.
        yield Puzzle(right, tuple(bool(info["r"]) for info in entry["infos"]))
