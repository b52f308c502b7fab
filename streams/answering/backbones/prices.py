"""Prices of models as data: ``MODEL=IN,OUT[,CACHED]``, for a million tokens each.

None is built in: a price list ages unseen, and a wrong price is worse than an unknown one. Whoever keeps a list
in a file names and dates it, and each episode says by which it was priced. MODEL is a model's name, a backbone's
(``openai:MODEL``) or a kind of backbone (``llamacpp``, ``rehearsal``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Annotated

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)

from schemas.faults import first_fault
from schemas.price import Price

SPELLING = "MODEL=IN,OUT[,CACHED], what a million tokens cost"


class PriceList(BaseModel):
    """A list of prices as its user writes it: a name, the day since which it holds, and prices by model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[^\s;].*$")]
    date: date
    prices: Annotated[dict[str, str], Field(min_length=1)]

    @field_validator("prices")
    @classmethod
    def are_prices(cls, said: dict[str, str]) -> dict[str, str]:
        """Raises ``ValueError`` that names the first one which is none."""
        # At once, with the list as a whole: a price that is misspelled must not be found in the
        # middle of a run.
        book_of(said)
        return said

    @property
    def told(self) -> str:
        """Which it is, as a record says it."""
        # On one line, for a record says it in a field of text.
        return f"{' '.join(self.name.split())} of {self.date.isoformat()}"


def list_of(text: str) -> PriceList:
    """The list that a YAML document holds. Raises ``ValueError`` that names the field which is wrong."""
    from streams.support.yamls import Flaw, document

    try:
        said = document(text)
    except Flaw as error:
        raise ValueError(f"{error}, in line {error.line}") from error
    try:
        return PriceList.model_validate(said)
    except ValidationError as error:
        place, what = first_fault(error)
        raise ValueError(f"{place}: {what}" if place else what) from error


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
    # The narrowest name first: a price for one model must not be hidden by one for all of its kind.
    return next((book[name] for name in (backbone, model, kind) if name in book), None)
