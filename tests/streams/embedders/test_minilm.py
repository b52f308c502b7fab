"""MiniLM in NumPy: near in meaning, far otherwise, the same each time, better than shared letters."""

from __future__ import annotations

import asyncio
import re
from itertools import product
from math import erf
from pathlib import Path
from statistics import mean

import numpy as np
import pytest

from handlers.learning.cosine import cosine
from handlers.learning.recall import nearest
from schemas.identity import text_digest
from schemas.memory import MemoryItem
from schemas.questions import Recall
from schemas.vectors import as_kept, pack
from streams.answering.embedders.bert import gelu
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.embedders.minilm import MiniLm
from streams.answering.embedders.port import Embedder
from streams.answering.models import MINILM
from streams.core.backbone import SetupBroken
from tests.streams.embedders.paraphrases import PAIRS

LESSONS, QUERIES = [list(side) for side in zip(*PAIRS, strict=True)]


def vectors(embedder: Embedder, texts: list[str]) -> list[tuple[float, ...]]:
    return asyncio.run(embedder.embed(texts))


def first_hits(embedder: Embedder) -> int:
    """How many queries find their own lesson first, by the rule that recall decides with."""
    made = zip(LESSONS, vectors(embedder, LESSONS), strict=True)
    items = [
        MemoryItem(
            id=f"{at:02}", kind="lesson", role="reasoner", text=text, text_digest=text_digest(text),
            batch=1, vector=pack(vector),
        )
        for at, (text, vector) in enumerate(made)
    ]  # fmt: skip
    found = [
        nearest(items, Recall(query, ("reasoner",), 1), as_kept(vector))[0][0].text
        for query, vector in zip(QUERIES, vectors(embedder, QUERIES), strict=True)
    ]
    return sum(text == lesson for text, lesson in zip(found, LESSONS, strict=True))


def test_its_numbers_are_those_published_with_the_model() -> None:
    [vector] = vectors(MiniLm(), ["This is an example sentence"])
    assert np.round(vector[:5], 4).tolist() == [0.0677, 0.0635, 0.0487, 0.0793, 0.0374]
    assert abs(sum(x * x for x in vector) - 1) < 1e-5


def test_paraphrases_are_near_and_others_are_far() -> None:
    embedder = MiniLm()
    left, right = vectors(embedder, LESSONS), vectors(embedder, QUERIES)
    about = [cosine(a, b) for a, b in zip(left, right, strict=True)]
    others = [
        cosine(a, b) for (i, a), (j, b) in product(enumerate(left), enumerate(right)) if i != j
    ]
    assert mean(about) > 0.35 > 0.2 > mean(others)
    print(f"paraphrases {mean(about):.2f}, others {mean(others):.2f}")


def test_lessons_in_other_words_are_found_by_meaning_only() -> None:
    by_meaning, by_letters = first_hits(MiniLm()), first_hits(HashedEmbedder())
    print(f"own lesson first: MiniLM {by_meaning} of {len(PAIRS)}, hashed {by_letters}")
    assert by_meaning >= 2 * by_letters
    assert by_meaning >= len(PAIRS) * 2 // 3


def test_the_pairs_share_no_word_that_means_anything() -> None:
    for lesson, query in PAIRS:
        both = [set(re.findall(r"[a-z]+", side.casefold())) for side in (lesson, query)]
        assert not {word for word in both[0] & both[1] if len(word) > 3} - {"than"}, (lesson, query)


def test_the_same_text_gets_the_same_vector_alone_and_from_another_model() -> None:
    together = vectors(MiniLm(), LESSONS)
    assert vectors(MiniLm(), LESSONS) == together
    assert [vectors(MiniLm(), [text])[0] for text in LESSONS[:2]] == together[:2]


@pytest.mark.parametrize("text", ["", "\ud800 lone", "x" * 200_000, "\x00\u2028é😀"])
def test_any_text_has_a_vector(text: str) -> None:
    [vector] = vectors(MiniLm(), [text])
    assert as_kept(vector)


def test_gelu_is_x_times_the_normal_distribution() -> None:
    x = np.linspace(-6, 6, 1001, dtype=np.float32)
    exact = [value * (1 + erf(value / 2**0.5)) / 2 for value in x.tolist()]
    assert np.max(np.abs(gelu(x) - np.array(exact))) < 2e-6


def test_other_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(SetupBroken, match="not the published weights"):
        vectors(MiniLm(tmp_path), ["a"])
    with pytest.raises(SetupBroken, match="models pull minilm"):
        MiniLm(tmp_path / "nowhere")
    assert MINILM.file() is not None
