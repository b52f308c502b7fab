"""Game of 24: the 1 362 solvable puzzles, by our own enumeration or by the ranks of ``24.csv``.

Without a file the order is lexicographic and ids are ``n1`` … ``n1362``; with one it is the file's,
by how hard people found them, and ids are ``r1`` … Papers test on ranks 901–1000. There is no
label: the checker needs the problem only.

Source: Tree of Thoughts (Yao et al. 2023), section 4.1.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from handlers.answers.game24 import puzzles
from streams.support.datasets.record import Record, record


def enumerated() -> Iterator[Record]:
    """Every solvable puzzle in lexicographic order, numbered."""
    for number, puzzle in enumerate(puzzles(), 1):
        yield record("game24", f"n{number}", " ".join(map(str, puzzle)))


def ranked(path: Path) -> Iterator[Record]:
    """Every puzzle of ``24.csv``, such as ``4 5 6 10``, by its rank."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines), 1):
            if row.get("Rank") != str(number) or not row.get("Puzzles"):
                raise ValueError(f"{path.name}:{number + 1}: no Rank {number} with its Puzzles")
            yield record("game24", f"r{number}", row["Puzzles"])
