"""Reading an embeddings endpoint's answer: bytes go in, vectors or a fault come out. Pure; it never raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from typing_extensions import TypeIs

from schemas.vectors import HALF_LIMIT
from streams.answering.backbones.openai.faults import Fault, as_it_is, of_status
from streams.answering.backbones.openai.reading import count, no_object, objects, parse, part


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
    raw: bytes, count: int, dimensions: int = 0, masked: Callable[[str], str] = as_it_is
) -> Vectors | Fault:
    """The vectors of so many texts, by their index; each of so many dimensions, where that is known."""
    value = parse(raw)
    if not isinstance(value, dict):
        return no_object(raw, masked)
    told = cast("dict[str, Any]", value)
    if told.get("error") and not told.get("data"):
        return of_status(502, told, masked=masked)
    data = objects(told.get("data"))
    placed = {str(each.get("index", at)): each.get("embedding") for at, each in enumerate(data)}
    found = [_vector(placed.get(str(at))) for at in range(count)]
    if () in found:
        return Fault(
            "junk", f"no vector of finite numbers for text {found.index(()) + 1} of {count}"
        )
    lengths = {len(vector) for vector in found} | {dimensions or len(found[0])}
    if len(lengths) > 1:
        return Fault("model", f"vectors of {' and '.join(map(str, sorted(lengths)))} numbers")
    return Vectors(found, len(raw) // 4, _tokens(told))


def _tokens(told: dict[str, Any]) -> int | None:
    """Tokens of the texts, as the server counts them."""
    usage = part(told, "usage")
    return count(usage.get("prompt_tokens", usage.get("total_tokens")))


def _vector(numbers: object) -> tuple[float, ...]:
    """The numbers, or none where anything else came."""
    items = cast("list[object]", numbers) if isinstance(numbers, list) else []
    found = [float(each) for each in items if _is_kept(each)]
    return tuple(found) if len(found) == len(items) else ()


def _is_kept(number: object) -> TypeIs[int | float]:
    """Whether it is a finite number that a log can hold."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return abs(number) <= HALF_LIMIT
