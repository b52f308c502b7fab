"""What a model says to others, without what it thinks to itself and the marks that end its turn.

Reasoning models put their thoughts between tags, with drafts of answers in them that must never be
read as answers. Chat templates often open the tag in the prompt, so that a reply only closes it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TAG = re.compile(r"<(/?)(?:think|thinking|thought)>", re.IGNORECASE)
_ENDS = re.compile(r"(?:\s{0,9}<(?:\|[\w ]{1,30}\||end_of_turn|eos)>){1,4}\s{0,9}$")
"""Marks by which a model ends its turn, and which some servers hand on."""


class Spoken(NamedTuple):
    """A reply without its thoughts; ``cut`` if it ends within one."""

    text: str
    cut: bool = False


def spoken(text: str) -> Spoken:
    """Take thoughts off a reply: what stands between tags, and what stands before a tag that only closes."""
    # To look for one sign is far faster than to look for a tag, and most replies hold none.
    if "<" not in text:
        return Spoken(text)
    ends = _ENDS.search(text, max(0, len(text) - 200))
    text = text if ends is None else text[: ends.start()]
    if _TAG.search(text) is None:
        return Spoken(text)
    kept: list[str] = []
    at, thinking = 0, False
    for tag in _TAG.finditer(text):
        if not tag[1]:
            if not thinking:
                kept.append(text[at : tag.start()])
            thinking = True
        elif thinking:
            thinking = False
        else:
            # A tag that only closes ends a thought which the chat template opened in the prompt:
            # all before it was thought.
            kept.clear()
        at = tag.end()
    if not thinking:
        kept.append(text[at:])
    # A reply that ends within a thought was cut, and its last draft must not be read as an answer.
    return Spoken("".join(kept).strip(), cut=thinking)
