"""Milliseconds a sentence at several batch sizes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import median

from streams.answering.embedders.port import Embedder

BATCHES = (1, 8, 32)
REPEATS = 5
SENTENCES = 64
WORDS = ("check", "every", "number", "twice", "before", "you", "multiply", "the", "last", "two")


def run(embedder: Embedder, say: Callable[[str], None]) -> dict[str, object]:
    """Wall-clock time of sentences of some twelve tokens; the median of five rounds each."""
    return asyncio.run(_measured(embedder, say))


async def _measured(embedder: Embedder, say: Callable[[str], None]) -> dict[str, object]:
    try:
        await embedder.embed(["the first one loads the model"])
        found: dict[str, object] = {"embedder": embedder.name, "dimensions": embedder.dimensions}
        for size in BATCHES:
            say(f"batch {size}")
            taken: list[float] = []
            for turn in range(REPEATS):
                texts = sentences(turn)
                begun = time.perf_counter()
                for start in range(0, len(texts), size):
                    await embedder.embed(texts[start : start + size])
                taken.append(1e3 * (time.perf_counter() - begun) / len(texts))
            found[f"ms_per_sentence_{size}"] = round(median(taken), 3)
        # A replay compares vectors with those on the log:
        # they must not change from one call to the next.
        texts = sentences(-1)
        again = await embedder.embed(texts)
        found["same_batch_same_vectors"] = again == await embedder.embed(texts)
        return found
    finally:
        await embedder.close()


def sentences(turn: int) -> list[str]:
    """Sentences of ten words, no two alike, others in each round."""
    # An embedder may keep what it has seen, and sentences that are alike would cost it nothing.
    return [
        " ".join((*WORDS[at % 5 :], *WORDS[: at % 5], str(turn), str(at)))
        for at in range(SENTENCES)
    ]
