"""Vectors from any endpoint that speaks the OpenAI embeddings API."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from streams.answering.backbones.openai.endpoint import EndpointPool
from streams.answering.backbones.openai.faults import SETUP, Fault
from streams.answering.backbones.openai.line import ChatTransport, need_client
from streams.answering.backbones.openai.options import Options, find_site
from streams.answering.backbones.openai.persistence import Attempts, Persistence
from streams.answering.embedders.port import Bill
from streams.answering.embedders.reading import Vectors, read_vectors
from streams.core.backbone import SetupBroken, Unreachable
from streams.core.normalise import encodable

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
        url_source: str | None = None,
        options: Options | None = None,
        environ: Mapping[str, str] | None = None,
        pool: EndpointPool | None = None,
    ) -> None:
        need_client()
        if not model:
            detail = "an embedder needs its model by name: embedder=openai:MODEL"
            raise SetupBroken("model", "openai", detail)
        found = os.environ if environ is None else environ
        self._site = find_site(
            found, model=model, base_url=base_url, key_source=key_source, url_source=url_source
        )
        self._model, options = model, options or Options()
        self._state = (pool or EndpointPool()).state_of(
            self._site.where, model, options.max_connections
        )
        self._line = ChatTransport(self._site, options, self._state)
        self._persistence = Persistence(options, self._state)
        self._dimensions = 0
        # One request serves questions of several episodes. It is booked as a whole where its first
        # text is asked for, so that the record's sums are the endpoint's.
        self._bills: dict[str, Bill] = {}
        """What requests took that nobody was billed for yet, by their first text."""

    @property
    def name(self) -> str:
        """``openai:`` and the model."""
        return f"openai:{self._model}"

    @property
    def dimensions(self) -> int:
        """Length of every vector; 0 until the first one came."""
        return self._dimensions

    def why(self) -> str | None:
        """Why batches wait, for people; nothing where none does."""
        return self._state.why()

    def drain(self) -> None:
        """Let go of every batch that is not under way: it raises ``NotSent``."""
        self._state.gate.stop()

    def watch(self, look: Callable[[], object]) -> None:
        """Call ``look`` before each batch goes out, also one that waited for long; it may ``drain``."""
        self._state.gate.look = look

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """One vector for each text. Raises ``SetupBroken``, ``Unreachable`` and, once drained, ``NotSent``."""
        if not texts:
            return []
        # An empty text is refused by some endpoints, and every text has to have a vector.
        sent, tally = [encodable(text[:LONGEST]) or " " for text in texts], Attempts()
        tokens: int | None = 0
        try:
            found = await self._persistence.ask(partial(self._send, sent), tally, 0)
            if not isinstance(found, Fault):
                tokens = found.tokens
        finally:
            # Attempts that brought nothing were perhaps paid for as well: they are billed to whoever
            # asks for these texts the next time.
            if tally.attempts:
                took = Bill(tally.attempts, tokens, tally.seconds, tally.free)
                self._bills[texts[0]] = self._bills.get(texts[0], Bill()) + took
        if not isinstance(found, Fault):
            self._dimensions = found.dimensions
            return found.vectors
        where = self._site.where
        if found.kind not in (*SETUP, "error", "refusal"):
            raise Unreachable(where, found.detail, self._persistence.tried(tally))

        code = found.kind if found.kind in SETUP else "model"
        raise SetupBroken(code, where, f"{self._model} makes no vectors: {found.detail}")

    def bill(self, texts: Sequence[str]) -> Bill:
        """Return the cost of requests that began with one of these texts, once."""
        return sum((self._bills.pop(text, Bill()) for text in texts), Bill())

    async def close(self) -> None:
        """Close the connections."""
        await self._line.close()

    async def _send(self, texts: list[str]) -> Vectors | Fault:
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        arrived = await self._line.embeddings(body)
        if isinstance(arrived, Fault):
            return arrived
        if arrived.hold_s:
            self._persistence.hold(arrived.hold_s)
        found = read_vectors(arrived.raw, len(texts), self._dimensions, self._site.masked)
        return self._site.hidden(found) if isinstance(found, Fault) else found
