"""Reading an embeddings endpoint's answer: bytes go in, vectors or a fault come out. Pure; it never raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from schemas.vectors import HALF_LIMIT
from streams.answering.backbones.openai.faults import Fault, as_it_is
from streams.answering.backbones.openai.reading import no_object, objects, of_error, parse, part
from streams.core.normalise import count


@dataclass(frozen=True, slots=True)
class Vectors:
    """One vector for each text, all of one length."""

    vectors: list[tuple[float, ...]]
    size: int
    """Tokens, by the bytes."""
    tokens: int | None = None
    """Tokens of the texts, if the server counts them."""

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return len(self.vectors[0])


def read_vectors(
    raw: bytes, texts: int, dimensions: int = 0, masked: Callable[[str], str] = as_it_is
) -> Vectors | Fault:
    """The vectors of so many texts, by their index; each of so many dimensions, where that is known."""
    value = parse(raw)
    if not isinstance(value, dict):
        return no_object(raw, masked)
    told = cast("dict[str, Any]", value)
    if told.get("error") and not told.get("data"):
        return of_error(told["error"], masked)
    data = objects(told.get("data"))
    # By the index and not by the order: servers may send a batch as its parts get ready.
    placed = {str(each.get("index", at)): each.get("embedding") for at, each in enumerate(data)}
    found: list[tuple[float, ...]] = []
    for at in range(texts):
        numbers = placed.get(str(at))
        items = cast("list[object]", numbers) if isinstance(numbers, list) else []
        # Only finite numbers that a log can hold: whatever is recorded has to come back the same.
        kept = [
            float(each)
            for each in items
            if isinstance(each, int | float)
            and not isinstance(each, bool)
            and abs(each) <= HALF_LIMIT
        ]
        found.append(tuple(kept) if len(kept) == len(items) else ())
    if () in found:
        return Fault(
            "junk", f"no vector of finite numbers for text {found.index(()) + 1} of {texts}"
        )
    # Vectors of two lengths come of two models: one memory must never hold both.
    lengths = {len(vector) for vector in found} | {dimensions or len(found[0])}
    if len(lengths) > 1:
        return Fault("model", f"vectors of {' and '.join(map(str, sorted(lengths)))} numbers")
    usage = part(told, "usage")
    tokens = count(usage.get("prompt_tokens", usage.get("total_tokens")))
    return Vectors(found, len(raw) // 4, tokens)
