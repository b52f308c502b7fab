"""Vectors from any endpoint that speaks the OpenAI embeddings API."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import cast

from streams.backbones.openai.body import encodable
from streams.backbones.openai.faults import MOMENT, Fault
from streams.backbones.openai.line import Arrived, Line, need_client
from streams.backbones.openai.options import Options, find_site
from streams.backbones.openai.persistence import Persistence, Tally
from streams.backbones.openai.reading import objects, parse
from streams.backbones.openai.road import Roads
from streams.backbones.port import SetupBroken, Unreachable

LONGEST = 8_000
"""Characters of a text that are sent: models read some 8 000 tokens, many of them fewer."""


class OpenAIEmbedder:
    """One endpoint and model. Raises ``SetupBroken`` at once where no call could succeed."""

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        key_source: str | None = None,
        options: Options | None = None,
        environ: Mapping[str, str] | None = None,
        roads: Roads | None = None,
    ) -> None:
        need_client()
        if not model:
            detail = "an embedder needs its model by name: embedder=openai:MODEL"
            raise SetupBroken("model", "openai", detail)
        found = os.environ if environ is None else environ
        self._site = find_site(found, model=model, base_url=base_url, key_source=key_source)
        self._model, options = model, options or Options()
        road = (roads or Roads()).road(self._site.where, model, options.max_connections)
        self._line = Line(self._site, options, road)
        self._persistence = Persistence(options, road)
        self._dimensions = 0

    @property
    def name(self) -> str:
        """``openai:`` and the model."""
        return f"openai:{self._model}"

    @property
    def dimensions(self) -> int:
        """Length of every vector; 0 until the first one came."""
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """One vector for each text. Raises ``SetupBroken`` and ``Unreachable``."""
        if not texts:
            return []
        sent = [encodable(text[:LONGEST]) or " " for text in texts]
        body = {"model": self._model, "input": sent, "encoding_format": "float"}

        async def send() -> Arrived | Fault:
            return await self._line.embeddings(body)

        arrived = await self._persistence.ask(send, Tally(), 0)
        if isinstance(arrived, Fault):
            raise self._error(arrived)
        return self._vectors(arrived.raw, len(sent))

    async def close(self) -> None:
        """Close the connections."""
        await self._line.close()

    def _error(self, fault: Fault) -> Exception:
        where = self._site.where
        if fault.kind in MOMENT or fault.kind in ("timeout", "junk"):
            return Unreachable(where, fault.detail)
        code = fault.kind if fault.kind in ("auth", "quota") else "model"
        return SetupBroken(code, where, f"{self._model} makes no vectors: {fault.detail}")

    def _vectors(self, raw: bytes, count: int) -> list[tuple[float, ...]]:
        """The vectors in the order of the texts, whatever order they came in."""
        told = parse(raw)
        data = (
            objects(cast("dict[str, object]", told).get("data")) if isinstance(told, dict) else []
        )
        placed = {each.get("index", at): each.get("embedding") for at, each in enumerate(data)}
        found = [_vector(placed.get(at)) for at in range(count)]
        lengths = {len(vector) for vector in found}
        if len(lengths) != 1 or 0 in lengths or (self._dimensions or len(found[0])) not in lengths:
            raise SetupBroken("model", self._site.where, f"{self._model} sent no vectors that fit")
        self._dimensions = len(found[0])
        return found


def _vector(numbers: object) -> tuple[float, ...]:
    """The numbers, or none where anything else came."""
    items = cast("list[object]", numbers) if isinstance(numbers, list) else []
    found = [float(each) for each in items if isinstance(each, (int, float))]
    return tuple(found) if len(found) == len(items) else ()
