"""A text has one vector wherever it stands in whatever batch, on any processor."""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256

import pytest

from streams.answering.embedders.cached import Cached
from streams.answering.embedders.minilm import MiniLm
from streams.answering.embedders.port import Embedder
from tests.processors import KERNELS, SMALL_CACHE, said_there

pytestmark = pytest.mark.slow

WORDS = [
    "signs",
    "units",
    "fractions",
    "remainders",
    "the",
    "check",
    "before",
    "of",
    "an",
    "answer",
    "equation",
    "sum",
]
LENGTHS = (*range(12), 17, 33, 300)
"""In words: from the empty text to one of more tokens than are read."""
*SHORT, LONG = TEXTS = [
    " ".join(WORDS[(at * at + n) % len(WORDS)] for n in range(at)) for at in LENGTHS
]

SHOW = "from tests.streams.embedders.test_places import differing; print(differing())"


def shuffled(texts: list[str], turn: int) -> list[str]:
    return sorted(texts, key=lambda text: sha256(f"{turn}{text}".encode()).digest())


def batches() -> list[list[str]]:
    """All texts the other way round, the short ones in two orders, and some beside the long one."""
    return [TEXTS[::-1], shuffled(SHORT, 1) + shuffled(SHORT, 2), [LONG, *SHORT[:5]]]


async def vectors_in(
    embedder: Embedder, asked: list[list[str]]
) -> list[tuple[str, tuple[float, ...]]]:
    """Every text with the vector that each batch gave it; the batches run at one time."""
    found = await asyncio.gather(*map(embedder.embed, asked))
    return [
        pair
        for texts, vectors in zip(asked, found, strict=True)
        for pair in zip(texts, vectors, strict=True)
    ]


async def places() -> dict[str, set[tuple[float, ...]]]:
    """The vectors of each text: by itself, in batches, and gathered by a cache."""
    embedder, seen = MiniLm(), dict[str, set[tuple[float, ...]]]()
    alone = [(text, vector) for text in TEXTS for [vector] in [await embedder.embed([text])]]
    together = await vectors_in(embedder, batches())
    gathered = await vectors_in(Cached(embedder, together=7), [[text] for text in SHORT])
    for text, vector in (*alone, *together, *gathered):
        seen.setdefault(text, set()).add(vector)
    return seen


def differing() -> str:
    """How many texts there were, and how many vectors those have that have several."""
    seen = asyncio.run(places())
    return json.dumps([len(seen), {text: len(has) for text, has in seen.items() if len(has) > 1}])


@pytest.mark.parametrize("cache", [{}, SMALL_CACHE], ids=["cache", "small-cache"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_text_has_one_vector_wherever_it_stands(kernel: str, cache: dict[str, str]) -> None:
    found = json.loads(said_there(SHOW, {"OPENBLAS_CORETYPE": kernel, **cache}))
    assert found == [len(set(TEXTS)), {}]


def test_with_the_kernels_of_this_processor_and_all_its_threads() -> None:
    assert json.loads(said_there(SHOW, {})) == [len(set(TEXTS)), {}]
