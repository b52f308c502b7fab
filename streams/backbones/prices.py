"""Prices of models as data: ``MODEL=IN,OUT[,CACHED]``, for a million tokens each.

None is built in: a price list ages unseen, and a wrong price is worse than an unknown one. MODEL is a
model's name, a backbone's (``openai:MODEL``) or a kind of backbone (``llamacpp``, ``rehearsal``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import ValidationError

from schemas.price import Price

SPELLING = "MODEL=IN,OUT[,CACHED], what a million tokens cost"


def read(text: str) -> Price:
    """``IN,OUT[,CACHED]`` as a price. Raises ``ValueError``."""
    parts = text.split(",")
    names = ("prompt", "completion", "cached")[: len(parts)]
    try:
        if not 2 <= len(parts) <= 3:
            raise ValueError
        return Price(**dict(zip(names, map(float, parts), strict=True)))
    except (ValueError, ValidationError):
        raise ValueError(f"{text!r} is no price; write {SPELLING}") from None


def book_of(configured: Mapping[str, str], given: Iterable[str] = ()) -> dict[str, Price]:
    """Prices by model: the configured ones, and over them those of the command line."""
    book = {model: read(text) for model, text in configured.items()}
    for each in given:
        model, equals, text = each.rpartition("=")
        if not equals or not model:
            raise ValueError(f"{each!r} is no price; write {SPELLING}")
        book[model] = read(text)
    return book


def price_for(book: Mapping[str, Price], backbone: str) -> Price | None:
    """The price of a backbone: by its whole name, its model, or its kind."""
    kind, _, model = backbone.partition(":")
    return next((book[name] for name in (backbone, model, kind) if name in book), None)
