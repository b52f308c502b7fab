"""A key that is looked for in what a server says, however it spells the key there."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from functools import lru_cache

MASK = "[key]"
SHORTEST_KEY = 8
"""Characters of a key that is looked for in replies, and in other spellings than its own."""
LONGEST_KEY = 4096
"""Characters of a key that is looked for in other spellings than its own: to find them takes time with its length."""


def masked(text: str, key: str) -> str:
    """The text without the key: as it is, escaped for an address, JSON or HTML, or as base64."""
    text = text.replace(key, MASK)
    # A shorter key is a word that base64 and escapes may well hold by chance.
    is_sought = SHORTEST_KEY <= len(key) <= LONGEST_KEY
    return spellings(key).sub(MASK, text) if is_sought else text


@lru_cache(maxsize=64)
def spellings(key: str) -> re.Pattern[str]:
    """What finds a key in other spellings than its own, in time in proportion to the text."""
    # Each character may be spelled in another way than the next: which of them a server escapes, and how often, is
    # its own affair. What repeats is bounded, or a text of backslashes would take its length squared.
    escaped = ""
    for each in key:
        code = f"{ord(each):x}"
        entity = html.escape(each)
        ways = [
            *([re.escape(entity)] if entity != each else []),
            rf"%(?:25){{0,4}}(?i:0{{0,1}}{code})",
            rf"\\{{1,8}}u00(?i:0{{0,1}}{code})",
            rf"&(?:amp;)?\#(?:0{{0,6}}{ord(each)}|[xX]0{{0,6}}(?i:{code}));",
            rf"\\{{0,8}}{re.escape(each)}",
        ]
        # The longest first: a sign that begins its own escape is else taken for all of it.
        escaped += f"(?:{'|'.join(ways)})"
    packed: list[str] = []
    for before in range(3):
        # What stands before the key, such as a user's name, shifts its bits. Letters that hold bits of a neighbour too
        # are left out; those between them tell the whole key but for its edges.
        letters = b64encode(bytes(before) + key.encode()).decode()
        inside = letters[(before * 8 + 5) // 6 : (before + len(key)) * 8 // 6]
        plus, slash = r"(?:[+\-]|%2[Bb])", r"(?:\\?/|_|%2[Ff])"
        packed.append(inside.replace("+", plus).replace("/", slash))
    return re.compile("|".join([escaped, *packed]))
