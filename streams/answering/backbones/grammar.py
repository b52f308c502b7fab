"""What the grammars of a form have in common, whichever library decodes by them: its ways, and its short values.

llama.cpp's GBNF and XGrammar's EBNF write literals, classes and repetitions alike. What differs is how a text ends:
there by tokens, here by letters (``llamacpp.grammar``, ``openvino.grammar``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from typing import TypeAlias

from schemas.reply import Field, Reply

STEP = "\n- Step "
"""What a line of ratings begins with, before the step's number."""

_NUMBER = '" " "-"? [0-9]{1,7} ("." [0-9]{1,4})?'
_UNIT = '("0" ("." [0-9]{1,2})? | "1" ("." "0"{1,2})?)'

Chosen: TypeAlias = Mapping[str, str]
"""The choices that other fields hang on, by label."""


def ways(reply: Reply) -> Iterator[Chosen]:
    """Every way to make those choices that other fields hang on."""
    # Only these: every further choice would multiply the ways, and with them the grammar.
    deciding = {field.when[0] for field in reply.fields if field.when is not None}
    fields = [field for field in reply.fields if field.label in deciding]
    for way in product(*(field.choices for field in fields)):
        yield dict(zip((field.label for field in fields), way, strict=True))


def needed(field: Field, chosen: Chosen) -> bool:
    """Whether a field is part of the reply that follows from some choices."""
    return field.when is None or chosen.get(field.when[0]) in field.when[1]


def number(field: Field) -> str:
    """A number behind its label."""
    return f'" " {_UNIT}' if field.unit else _NUMBER


def choice(field: Field) -> str:
    """One of a field's choices behind its label."""
    return f"({' | '.join(literal(f' {each}') for each in field.choices)})"


def ratings_of(field: Field) -> str:
    """A step's ratings, in a line."""
    return f" {literal(', ')} ".join(f"{literal(f'{name}=')} {_UNIT}" for name in field.ratings)


def literal(text: str) -> str:
    """These letters and no others."""
    return json.dumps(text)
