"""By what a backbone's replies hang on it: its name, and the options that change what it would say.

Two backbones whose descriptions are equal stand for each other, as where a fork takes its parent's replies over.
How patient or how fast one is, is no part of it.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, Protocol, runtime_checkable

from schemas.identity import text_digest
from streams.core.backbone import Backbone

_WORD = re.compile(r"[\w.+-]{1,40}", re.ASCII)


@runtime_checkable
class Shaped(Protocol):
    """A backbone that has such options."""

    @property
    def shape(self) -> str:
        """Those that are not as they come: ``specificity=0,heed=1``; empty where all are."""
        ...


def differing(options: Any, *names: str) -> str:
    """The options of these names that are not their defaults; what is no word stands there by its digest."""
    defaults = {each.name: each.default for each in fields(options)}
    said: list[str] = []
    for name in names:
        value = getattr(options, name)
        if value != defaults[name]:
            text = f"{value:g}" if isinstance(value, float) else str(value)
            # A description is one word of a record: blanks, commas or JSON would make it unreadable.
            said.append(f"{name}={text if _WORD.fullmatch(text) else text_digest(text)}")
    return ",".join(said)


def description(backbone: Backbone) -> str:
    """``openai:m``, ``openai:m(reasoning_effort=high)``, ``rehearsal(seed=7,specificity=0)``."""
    shape = backbone.shape if isinstance(backbone, Shaped) else ""
    # A backbone that is as it comes is called by its name alone, as earlier logs have it.
    if not shape:
        return backbone.name
    if backbone.name.endswith(")"):
        return f"{backbone.name[:-1]},{shape})"
    return f"{backbone.name}({shape})"
