"""``bench recall``: the three nearest lessons, from the mirror and from LanceDB while it is written.

Lessons are spread over five roles and four domains, as the mirror is; one recall is of one role of one
domain, query vector in, exact similarities out. The mirror's figures are CPU time, which neighbours
on the machine do not change; by the wall beside them. LanceDB is asked with the same filter, by the
wall, while another process writes to the table.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from handlers.learning.recall import select
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Recall
from schemas.vectors import as_kept, pack
from state.mirror import Mirrors
from streams.support.child import python, variables

SIZES = (1_000, 10_000, 100_000)
ROLES = ("reasoner", "monitor", "controller", "composer", "judge")
DOMAINS = ("game24", "theoremqa", "hotpotqa", "math")
DIMENSIONS = 256
QUERIES = 1_000
TABLE_QUERIES = 100
CHECKED = 20


def vectors(count: int, seed: int) -> Iterator[tuple[float, ...]]:
    """Directions drawn at random, at the precision in which vectors are kept."""
    drawn = np.random.default_rng(seed).standard_normal((count, DIMENSIONS))
    # At the precision in which vectors are kept: with more of it fewer would be equally near.
    drawn /= np.sqrt((drawn * drawn).sum(axis=1))[:, None]
    yield from (tuple(row) for row in drawn.astype(np.float16).astype(float).tolist())


def memories(size: int) -> list[Memory]:
    """One memory a domain, together so many lessons."""
    made: dict[str, list[MemoryItem]] = {domain: [] for domain in DOMAINS}
    for number, vector in enumerate(vectors(size, 7)):
        domain = DOMAINS[number % len(DOMAINS)]
        text = f"lesson {number}"
        made[domain].append(
            MemoryItem(
                id=f"L{number}",
                kind="lesson",
                role=ROLES[number // len(DOMAINS) % len(ROLES)],
                text=text,
                text_digest=text_digest(text),
                batch=1,
                subject=f"{domain}/{number}",
                vector=pack(vector),
            )
        )
    return [Memory(domain, 1, tuple(items)) for domain, items in made.items()]


def asked(count: int) -> Iterator[tuple[int, Recall, tuple[float, ...]]]:
    """Which memory, which question, which query vector."""
    draw = random.Random(11)
    for vector in vectors(count, 13):
        question = Recall("q", (draw.choice(ROLES),), 3, kinds=("lesson",))
        yield draw.randrange(len(DOMAINS)), question, as_kept(vector)


def mirrored(known: list[Memory]) -> tuple[list[float], list[float], float]:
    """Milliseconds of each recall, by this thread's CPU and by the wall; seconds to make the blocks."""
    mirrors = Mirrors()
    began = time.perf_counter()
    for memory in known:
        for role in ROLES:
            mirrors.block(memory, role)
    made = time.perf_counter() - began
    busy: list[float] = []
    wall: list[float] = []
    for number, (at, question, query) in enumerate(asked(QUERIES)):
        began, cpu = time.perf_counter_ns(), time.thread_time_ns()
        found = mirrors.select(known[at], question, query)
        busy.append((time.thread_time_ns() - cpu) / 1e6)
        wall.append((time.perf_counter_ns() - began) / 1e6)
        # A fast answer that is another one would be worth
        # nothing; the first few are checked against the rule.
        if number < CHECKED and found != select(known[at], question, query):
            raise AssertionError("the mirror recalls something else than the plain rule")
    return busy, wall, made


def quantile(values: list[float], part: float) -> float:
    """The value below which this part of them lies."""
    ordered = sorted(values)
    return round(ordered[min(int(len(ordered) * part), len(ordered) - 1)], 4)


def tabled(known: list[Memory], folder: Path) -> list[float]:
    """Milliseconds of each query to LanceDB while another process writes to the table."""
    from state.tables.bench import fill, query

    table = fill(folder, known, DIMENSIONS)
    command = python("-m", "streams.research.bench.recall", str(folder))
    # A worker writes to its tables while somebody searches
    # them; an idle table would be asked at its best.
    writer = subprocess.Popen(command, env=variables())
    try:
        spent: list[float] = []
        for at, question, vector in asked(TABLE_QUERIES):
            began = time.perf_counter()
            query(table, known[at].scope, question.roles[0], vector)
            spent.append((time.perf_counter() - began) * 1e3)
        return spent
    finally:
        writer.kill()
        writer.wait()


def run(
    say: Callable[[str], None] = lambda _: None, sizes: tuple[int, ...] = SIZES
) -> dict[str, Any]:
    """Every figure of ``metalogue bench recall``."""
    figures: dict[str, dict[str, float]] = {
        name: {}
        for name in (
            *("mirror_p50_ms", "mirror_p99_ms"),
            *("mirror_wall_p50_ms", "mirror_wall_p99_ms", "mirror_build_s"),
            *("lancedb_p50_ms", "lancedb_p99_ms"),
        )
    }
    for size in sizes:
        say(f"{size:,} lessons …")
        known, name = memories(size), str(size)
        busy, wall, made = mirrored(known)
        for clock, spent in (("mirror", busy), ("mirror_wall", wall)):
            figures[f"{clock}_p50_ms"][name] = quantile(spent, 0.5)
            figures[f"{clock}_p99_ms"][name] = quantile(spent, 0.99)
        figures["mirror_build_s"][name] = round(made, 3)
        with tempfile.TemporaryDirectory() as folder:
            asked_ms = tabled(known, Path(folder))
        figures["lancedb_p50_ms"][name] = quantile(asked_ms, 0.5)
        figures["lancedb_p99_ms"][name] = quantile(asked_ms, 0.99)
    return {
        **figures,
        "top": 3,
        "dimensions": DIMENSIONS,
        "roles": len(ROLES),
        "domains": len(DOMAINS),
    }


if __name__ == "__main__":
    from state.tables.bench import keep_writing

    keep_writing(Path(sys.argv[1]), DIMENSIONS)
