"""Which embedder a memory gets where nobody names one, and the one that its log names.

Whoever makes a memory's first vectors is on the record with them, so that a log goes on with its own embedder
whatever is installed by then; where that is not to be had, the worker stops and says whose vectors they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.embedders.port import Embedder
from streams.core.backbone import BackboneError

AUTO = "auto"
"""How it is written that the embedder is to be chosen."""


def installed() -> Embedder | None:
    """MiniLM, where it is installed."""
    from streams.answering.embedders.cached import Cached
    from streams.answering.embedders.minilm import MiniLm

    # Not being installed is no fault here, for nobody asked for it by name.
    try:
        return Cached(MiniLm())
    except BackboneError:
        return None


def usual(*, simulated: bool) -> Embedder:
    """Return the embedder of a new memory: MiniLM where it is installed, else hashed n-grams.

    What a simulator says means nothing, and its runs are to be the same on every machine: there it is hashed
    n-grams too.
    """
    return (None if simulated else installed()) or HashedEmbedder()


@dataclass(slots=True)
class Embedders:
    """The embedders of one worker that was given none by name: each is made when a memory first needs it."""

    usual: Embedder
    known: dict[str, Embedder] = field(default_factory=dict[str, Embedder])

    def of(self, name: str | None) -> Embedder:
        """The embedder of this name; the usual one for a memory that has none yet, or where it is not here."""
        if name is None or name == self.usual.name:
            return self.usual
        if name not in self.known:
            made = (HashedEmbedder(), installed())
            self.known |= {each.name: each for each in made if each is not None}
        # Where it is not here the usual one comes back, under its own name: who asks next is then
        # refused by name, and no vectors are ever mixed.
        return self.known.get(name, self.usual)

    async def close(self) -> None:
        """Release all but the usual one."""
        for each in self.known.values():
            await each.close()
