"""What every embedder keeps, whoever makes the vectors: one suite, run on each of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

import pytest

from schemas.vectors import as_kept
from streams.answering.embedders.cached import Cached
from streams.answering.embedders.hashed import HashedEmbedder, hashed
from streams.answering.embedders.minilm import MiniLm
from streams.answering.embedders.openai import OpenAIEmbedder
from streams.answering.embedders.port import Embedder
from tests.endpoint import Answer, Asked, serving

Made: TypeAlias = Callable[[], AbstractContextManager[Embedder]]
SECRET = "sk-never-to-be-seen"
ODD = ["", "\ud800 lone", "x" * 50_000, "\x00\u2028é😀"]


def by_letters(asked: Asked) -> Answer:
    """Hashed vectors, the last first: their order is in their index."""
    data = [
        {"index": at, "embedding": hashed(text, 32)} for at, text in enumerate(asked.body["input"])
    ]
    return Answer(raw=json.dumps({"data": data[::-1], "model": "check"}).encode())


@contextmanager
def hashed_case() -> Generator[Embedder]:
    yield HashedEmbedder()


@contextmanager
def minilm_case() -> Generator[Embedder]:
    yield MiniLm()


@contextmanager
def cached_case() -> Generator[Embedder]:
    yield Cached(MiniLm())


@contextmanager
def openai_case() -> Generator[Embedder]:
    with serving(by_letters) as endpoint:
        yield OpenAIEmbedder("check", environ=endpoint.env() | {"OPENAI_API_KEY": SECRET})


CASES: dict[str, Made] = {
    "hashed": hashed_case,
    "minilm": minilm_case,
    "cached": cached_case,
    "openai": openai_case,
}


@pytest.fixture(params=CASES)
def made(request: pytest.FixtureRequest) -> Made:
    return CASES[request.param]


def embedded(made: Made, *batches: list[str]) -> list[list[tuple[float, ...]]]:
    async def body(embedder: Embedder) -> list[list[tuple[float, ...]]]:
        try:
            return [await embedder.embed(texts) for texts in batches]
        finally:
            await embedder.close()

    with made() as embedder:
        return asyncio.run(body(embedder))


def test_one_vector_for_each_text_in_order(made: Made) -> None:
    texts = [f"lesson number {at}" for at in range(40)]
    [together], apart = embedded(made, texts), embedded(made, *([text] for text in texts[:5]))
    assert len(together) == 40
    assert len({len(vector) for vector in together}) == 1
    for at, [alone] in enumerate(apart):
        assert alone == together[at]


def test_equal_texts_get_equal_vectors(made: Made) -> None:
    [vectors] = embedded(made, ["the same", "another", "the same"])
    assert vectors[0] == vectors[2] != vectors[1]


def test_nothing_asked_is_nothing_made(made: Made) -> None:
    assert embedded(made, []) == [[]]


def test_any_text_has_a_vector_that_can_be_kept(made: Made) -> None:
    [vectors] = embedded(made, ODD)
    assert all(as_kept(vector) for vector in vectors)


def test_it_says_what_it_is_and_no_secret(made: Made) -> None:
    async def body(embedder: Embedder) -> None:
        [vector] = await embedder.embed(["a text"])
        assert embedder.name == embedder.name.strip() != ""
        assert embedder.dimensions == len(vector)
        assert SECRET not in f"{embedder!r} {embedder.name}"
        await embedder.close()
        await embedder.close()

    with made() as embedder:
        asyncio.run(body(embedder))
