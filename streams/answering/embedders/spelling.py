"""How an embedder is written on the command line: ``auto``, ``hashed``, ``minilm`` or ``openai:MODEL``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams.answering.embedders.port import Embedder

if TYPE_CHECKING:
    from streams.answering.backbones.spelling import BackboneConfig

KINDS = ("auto", "hashed", "minilm", "openai:MODEL")


def build(text: str, config: BackboneConfig, *, simulated: bool = False) -> Embedder:
    """The embedder. Raises ``ValueError`` for a wrong spelling, ``SetupBroken`` as backbones do.

    ``simulated`` says that no model answers: ``auto`` is hashed n-grams then.
    """
    # Each kind is imported where it is asked for: MiniLM brings NumPy along, an endpoint its
    # client, and a worker that needs neither should start without them.
    kind, _, what = text.strip().partition(":")
    if kind == "auto" and not what:
        from streams.answering.embedders.choosing import usual

        return usual(simulated=simulated)
    if kind == "hashed" and not what:
        from streams.answering.embedders.hashed import HashedEmbedder

        return HashedEmbedder()
    # What is computed or paid for is asked once for each text, and many texts at a time; hashed
    # n-grams cost less than looking them up.
    from streams.answering.embedders.cached import Cached

    if kind == "minilm" and not what:
        from streams.answering.embedders.minilm import MiniLm

        return Cached(MiniLm())
    if kind == "openai":
        from streams.answering.embedders.openai import OpenAIEmbedder

        return Cached(
            OpenAIEmbedder(
                what,
                base_url=config.base_url,
                key_source=config.key_source,
                url_source=config.url_source,
                environ=config.environ,
                pool=config.pool,
            )
        )
    raise ValueError(f"no embedder {text!r}; there are {', '.join(KINDS)}")
