"""The hashed embedder: pure, the same in every process, unit length, near for shared words."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.cosine import cosine
from schemas.identity import text_digest
from schemas.vectors import as_kept, pack
from streams.answering.embedders.hashed import HashedEmbedder, hashed

SHOW = """
from schemas.vectors import pack
from streams.answering.embedders.hashed import hashed
print(pack(hashed("Build a factor first: 4 × 6, naïvely.")))
"""


@given(st.text())
def test_any_text_has_a_vector_of_length_one_or_zero(text: str) -> None:
    vector = hashed(text)
    assert len(vector) == 256
    length = fsum(x * x for x in vector)
    assert length == 0.0 or abs(length - 1) < 1e-9
    assert as_kept(vector)


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_every_process_makes_the_same_vector(seed: str) -> None:
    said = subprocess.run(
        [sys.executable, "-c", SHOW],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.getcwd()},
    ).stdout.strip()
    assert said == pack(hashed("Build a factor first: 4 × 6, naïvely."))
    assert text_digest(said) == "697071287052"


def test_shared_words_and_pieces_of_words_make_texts_alike() -> None:
    problem = hashed("How many apples are left in the basket?")
    alike = cosine(problem, hashed("How many apples were left in both baskets?"))
    other = cosine(problem, hashed("Who wrote the symphony for the king?"))
    assert alike > 0.5 > 0.3 > other


def test_no_words_no_direction() -> None:
    assert cosine(hashed("?!"), hashed("word")) == 0.0


def test_the_port() -> None:
    embedder = HashedEmbedder(32)
    vectors = asyncio.run(embedder.embed(["one", "two", "one"]))
    assert (embedder.name, embedder.dimensions) == ("hashed-32", 32)
    assert [len(vector) for vector in vectors] == [32, 32, 32]
    assert vectors[0] == vectors[2] != vectors[1]
    assert asyncio.run(embedder.embed([])) == []
    with pytest.raises(ValueError, match="at least one dimension"):
        HashedEmbedder(0)
    asyncio.run(embedder.close())
