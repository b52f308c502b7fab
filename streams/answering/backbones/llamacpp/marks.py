r"""Single tokens of a vocabulary that close a label or a line, asked of the loaded model once.

Vocabularies merge such marks with their neighbours: Qwen writes ``:\n`` and ``.\n`` as one token each. A
grammar that knew ``:`` and the line's end by their letters alone would lose its place in such a token.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

PATIENCE_S = 30.0
_COLONS = (":", ":\n", ":\n\n", ": ")
_BEFORE = (
    *".!?)]}:;,*`$%\"'",
    " ",
    "**",
    "```",
    "$$",
    ".)",
    ").",
    "`.",
    "**.",
    "$.",
    ".**",
    '."',
    "\\)",
)
_ENDS = ("\n\n", *(f"{before}{end}" for end in ("\n", "\n\n") for before in _BEFORE))


@dataclass(frozen=True, slots=True)
class Marks:
    """Ids of the tokens that end a label by a colon, and of those that end a line of text."""

    colons: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()


def marks_of(listening: Path) -> Marks:
    """The marks of the model whose server listens there; none where it does not tell."""
    with closing(_Local(listening)) as server:
        try:
            return Marks(tuple(_single(server, _COLONS)), tuple(_single(server, _ENDS)))
        # Without marks the grammar knows labels and lines by their letters: some replies lose their
        # place, and nothing else is lost.
        except (OSError, HTTPException, ValueError, KeyError, TypeError):
            return Marks()


class _Local(HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, listening: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE_S)
        self._listening = listening

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(str(self._listening))


def _single(server: _Local, texts: Sequence[str]) -> Iterable[int]:
    """The tokens of those texts that are one token each."""
    for text in texts:
        asked = json.dumps({"content": text, "add_special": False, "with_pieces": True})
        server.request("POST", "/tokenize", asked, {"Content-Type": "application/json"})
        tokens: list[dict[str, Any]] = json.loads(server.getresponse().read())["tokens"]
        # Some vocabularies put a blank before what they read: then the token is another one.
        if len(tokens) == 1 and tokens[0]["piece"] == text:
            yield int(tokens[0]["id"])
