r"""One extraction for all policies: the answer that a text gives, word for word.

In this order: the final-answer field; the last balanced ``\boxed{}``; a line that begins with
``Answer:`` (or GSM8K's ``####``); if all are absent, the last number or option of the last segment.
Every step looks at a bounded part of the text, so that any text is read in linear time.

Source: MC² section 3 (``Final_answer: ### … ###``, ``\boxed{}``); Tree of Thoughts' Game of 24
prompts (``Answer: … = 24``); GSM8K (``#### N``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

CONTENT_CHARS = 20_000
"""No answer is longer; what is, is not read as one."""
TRIES = 16
"""How many of the last fields or boxes of a text are looked at before the next rule is tried."""

_FINAL = re.compile(
    r"final[ _\-\\]{0,3}answer(?: is)?[ \t*_`\"']{0,6}[:：][ \t*_`\"']{0,6}", re.IGNORECASE
)
_ANSWER = re.compile(
    r"^[ \t*_#>\-]{0,8}(?:answer(?: is)?[ \t*_]{0,4}[:：][ \t*_]{0,4}|(?<!#)####(?!#))",
    re.IGNORECASE | re.MULTILINE,
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s{0,4}\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_SAYS = re.compile(r"\banswer (?:is|was|would be|must be|should be)\b[ :]?", re.IGNORECASE)
_WORD = re.compile(r"\b(?:true|false|yes|no)\b", re.IGNORECASE)
_OPTION = re.compile(
    r"\(([A-Ja-j])\)|\b(?:option|choice) ([A-J])\b|\b(True|False)\b", re.IGNORECASE
)
_NUMBER = re.compile(
    r"(?<![\w.)\]}])-?\$?\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?%?"
    r"|(?:(?<![\w.)\]}])[-−])?(?<![\w.])(?:\d+(?:\.\d+)?|\.\d+)(?:/\d+|e[-+]?\d+)?%?"
)
_LEAD = re.compile(r"^the (?:final )?answer is:?\s{1,4}", re.IGNORECASE)
_HOPE = re.compile(r"\. ?I hope it is correct\.?$", re.IGNORECASE)
_WRAPS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("`", "`"))


def extract(text: str, *, fields_only: bool = False) -> str | None:
    """The answer that ``text`` gives, or ``None``.

    With ``fields_only`` only what was marked as the answer counts: ``cot`` reads nothing else.
    """
    for find in (_final_answer, boxed, _answer_line):
        found = find(text)
        if found is not None:
            return found
    return None if fields_only else _last_mention(_last_segment(text))


def _final_answer(text: str) -> str | None:
    return _last(_FINAL, text, _field)


def _answer_line(text: str) -> str | None:
    return _last(_ANSWER, text, _field)


def boxed(text: str) -> str | None:
    r"""What stands in the last balanced ``\boxed{}``, braces inside it included."""
    return _last(_BOX, text, _balanced)


def _last(mark: re.Pattern[str], text: str, read: Callable[[str, int], str | None]) -> str | None:
    """What stands behind the last mark that has anything readable behind it."""
    ends = [found.end() for found in mark.finditer(text)][-TRIES:]
    return next((found for end in reversed(ends) if (found := read(text, end))), None)


def _field(text: str, start: int) -> str | None:
    """A field's content: between ``###`` signs, else the rest of its line or the next line."""
    rest = text[start : start + CONTENT_CHARS].lstrip()
    if rest.startswith("###"):
        inner, closed, _ = rest[3:].partition("###")
        rest = inner if closed else rest[3:]
        return _clean(boxed(rest) or (rest if closed else _first_line(rest)))
    line = _first_line(rest)
    return _clean(boxed(line) or line.partition("###")[0])


def _first_line(text: str) -> str:
    return text.lstrip().partition("\n")[0]


def _balanced(text: str, start: int) -> str | None:
    """The text from ``start`` to the brace that closes the one before ``start``."""
    depth = 1
    for brace in _BRACE.finditer(text, start, start + CONTENT_CHARS):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return _clean(text[start : brace.start()])
    return None


def _clean(text: str) -> str | None:
    """Without the signs that typeset an answer; ``None`` when nothing is left."""
    text = _LEAD.sub("", _HOPE.sub("", text.strip().strip("#").strip()))
    for opens, closes in _WRAPS:
        inner = text.removesuffix(".") if text.endswith(closes + ".") else text
        core = inner.removeprefix(opens).removesuffix(closes).strip()
        if len(inner) - len(core) >= len(opens + closes) and inner.startswith(opens):
            text = text if opens in core else core
    text = text.removesuffix("**").strip().removesuffix(".").rstrip("\"'` ")
    return text if any(map(str.isalnum, text)) else None


# ── Without a marked answer ──────────────────────────────────────────────────────────────────


def _last_segment(text: str) -> str:
    """The last paragraph that says anything, at most ``CONTENT_CHARS`` of it."""
    lines: list[str] = []
    for line in reversed(text[-CONTENT_CHARS:].splitlines()):
        if lines and not line.strip():
            break
        if line.strip():
            lines.append(line)
    return "\n".join(reversed(lines))


def _last_mention(segment: str) -> str | None:
    """What "the answer is" introduces, else the last number or option that is mentioned."""
    says = [found.end() for found in _SAYS.finditer(segment)]
    if says:
        clause = segment[says[-1] :].partition("\n")[0]
        first = min(_mentions(clause, _OPTION, _NUMBER, _WORD), default=None)
        if first is not None:
            return first[1]
    last = max(_mentions(segment, _OPTION, _NUMBER), default=None)
    return last[1] if last else None


def _mentions(text: str, *patterns: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    for pattern in patterns:
        for found in pattern.finditer(text):
            yield found.start(), next(filter(None, found.groups()), found[0])
