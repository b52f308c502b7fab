r"""JSON as models write it: with LaTeX in its strings, comments, trailing commas, and prose around it.

A backslash in a string is JSON's only where what follows can be nothing else: ``\boxed`` and ``\frac``
are LaTeX, though JSON would read a backspace and a form feed in them. Each character is looked at a
bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import orjson

from schemas.reply import REASONING

TRIES = 4
"""How many of the last objects of a text are tried."""
FAR = 20_000
"""No object is longer."""

NESTED = 4
"""How deep what an object holds is shown."""

_OPENS = re.compile(r"\{\s{0,200}(?:(?://[^\n]{0,200}\n|/\*[^*]{0,200}\*/)\s{0,200})?\"")
# A dictionary as Python writes it, which models do who are at home there.
_OPENS_PYTHON = re.compile(r"\{\s{0,200}'")
_PYTHON = re.compile(
    r'"(?:[^"\\]|\\.)*+(?:"|\Z)'
    r"|'(?P<said>(?:[^'\\]|\\.)*+)(?:'|\Z)|\b(?P<word>True|False|None)\b",
    re.DOTALL,
)
_REQUOTED = {'"': '\\"', "\\'": "'"}
_WORDS = {"True": "true", "False": "false", "None": "null"}
_FENCE = re.compile(r"```[a-z]{0,10}[ \t]*\n?", re.IGNORECASE)
# A comment that nobody closes runs to the end, as such a string does: to look for its end again from
# each of many beginnings would take the square of the text. A comma looks over the comments behind it
# and no further than to the next comma, so that each of them is looked over once.
_NOTE = r"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)"
_PIECE = re.compile(
    rf'(?P<string>"(?:[^"\\]|\\.)*+(?:"|\Z))|(?P<note>{_NOTE})|(?P<comma>,(?=(?:\s|{_NOTE})*+[}}\]]))',
    re.DOTALL,
)
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}]', re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[a-zA-Z]+|.)", re.DOTALL)
_LATEX = frozenset(
    """
    nabla natural ne nearrow neg neq newline ni nleq nless nmid not notin nsim nu nparallel rangle rbrace
    rceil rfloor rho right rightarrow rightharpoonup rm root tan tanh tau tbinom text textbf textit textrm
    tfrac therefore theta tilde times to top triangle triangleq
    """.split()  # noqa: SIM905 - a table of words
)
"""Commands of LaTeX that begin with the letter of a line break, a return or a tab."""


def objects_in(text: str) -> list[dict[str, Any]]:
    """The last complete JSON objects of a text that are not inside another one, the last one first."""
    return [value for _, value in _found(text)]


def _found(text: str) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
    found = [opens.start() for opens in _OPENS.finditer(text)]
    found = found or [opens.start() for opens in _OPENS_PYTHON.finditer(text)]
    if not found:
        return
    # A stray quote before an object would turn its strings inside out, so the last one is also
    # looked at alone.
    spans = list(dict.fromkeys((*_objects(text, found[0])[::-1], *_objects(text, found[-1]))))
    # The last object counts in most replies, so it is tried first; few are tried, since each is
    # mended and parsed.
    for start, end in spans[:TRIES]:
        value = loads(text[start:end])
        if value is not None:
            yield (start, end), value


def told(text: str) -> str:
    """A reply with the objects in it as people write them, so that nothing is read out of JSON's own signs."""
    parts: list[str] = []
    at = 0
    # Of an object in another one only the outer is told: in its lines the inner is told as well.
    for (start, end), value in sorted(_found(text), key=lambda found: found[0]):
        if start >= at:
            parts += [text[at:start], _as_lines(value)]
            at = end
    return "".join((*parts, text[at:]))


def _objects(text: str, start: int) -> list[tuple[int, int]]:
    """Where the balanced braces from ``start`` on begin and end, those that stand in others left out."""
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for piece in _STRUCTURE.finditer(text, start):
        if piece[0] == "{":
            opened.append(piece.start())
        elif piece[0] == "}" and opened:
            begins = opened.pop()
            # An object that closes here holds those that opened after it: only the outer one is
            # the reply's.
            while found and found[-1][0] > begins:
                found.pop()
            if piece.end() - begins <= FAR:
                found.append((begins, piece.end()))
    return found


def as_text(text: str) -> str:
    """A reply that is one JSON object as people write it: its reasoning, then a line for each of its fields."""
    bare = text.strip()
    if not bare.startswith(("{", "```")):
        return text
    value = loads(_FENCE.sub("", bare).rstrip("`\n ") if bare.startswith("```") else bare)
    if not value:
        return text
    return _as_lines(value)


def _as_lines(value: Mapping[str, Any]) -> str:
    thought = value.get(REASONING)
    said = ((name, one) for name, one in value.items() if name != REASONING and one is not None)
    lines = (f"{name}: {_shown(one)}" for name, one in said)
    return "\n".join((*((str(thought).strip(), "") if thought else ()), *lines))


def _shown(said: object, deeper: int = NESTED) -> str:
    if not deeper:
        return "..."
    if isinstance(said, list):
        return "".join(f"\n- {_shown(item, deeper - 1)}" for item in cast("list[object]", said))
    if isinstance(said, dict):
        pairs = cast("dict[str, object]", said).items()
        return ", ".join(f"{name}={_shown(value, deeper - 1)}" for name, value in pairs)
    return str(said)


def mended(text: str) -> str:
    """JSON without what a model added to it, and with what it forgot to escape."""
    return _PIECE.sub(_mended, text)


def loads(text: str) -> dict[str, Any] | None:
    """An object, if this text is one, whatever a model added to it or forgot to escape."""
    # Mending comes first. JSON would take ``\b`` of ``\boxed`` for a backspace without complaint,
    # and the answer would be lost.
    for way in (mended, str, _from_python):
        try:
            value: Any = orjson.loads(way(text))
        except ValueError:
            continue
        return cast("dict[str, Any]", value) if isinstance(value, dict) else None
    return None


def _from_python(text: str) -> str:
    """A dictionary of Python as JSON."""
    return mended(_PYTHON.sub(_quoted, text)) if "'" in text else text


def _quoted(piece: re.Match[str]) -> str:
    if piece["word"] is not None:
        return _WORDS[piece["word"]]
    if piece["said"] is None:
        return piece[0]
    said = re.sub(
        r"\\.|\"", lambda sign: _REQUOTED.get(sign[0], sign[0]), piece["said"], flags=re.DOTALL
    )
    return f'"{said}"'


def _mended(piece: re.Match[str]) -> str:
    if piece["string"] is None:
        return ""
    return (
        _ESCAPE.sub(_escape, piece[0]).replace("\n", "\\n").replace("\r", "").replace("\t", "\\t")
    )


def _escape(found: re.Match[str]) -> str:
    said = found[1]
    if said[0] == "u" and len(said) == 5 and said[1:].isalnum():
        return found[0]
    if said in ('"', "\\", "/"):
        return found[0]
    # JSON's own line break and tab are kept, unless a command of LaTeX begins with the same
    # letter.
    if said[0] in "nrt" and said not in _LATEX:
        return found[0]
    return f"\\{found[0]}"
