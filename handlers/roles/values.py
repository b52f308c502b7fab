"""One reader for each kind of field: from what stands behind a label to its value.

A reader raises ``ValueError`` with a short reason that never repeats the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias, cast

from handlers.answers.extract import extract
from schemas.reply import Field, FieldKind

Value: TypeAlias = str | float | tuple[str, ...]

PLACEHOLDER = "<answer>"
"""What the format block shows in an answer's place; a model that echoes it has not answered."""
LINE_CHARS = 1_000
"""As much of a line as is searched for a choice or a number."""
FIELD_CHARS = 65_536
"""A field that is kept whole is no longer; what is, is unreadable and never cut in silence."""
NESTED = 4
"""Lists in lists that are read as lines; deeper ones are no value."""

_BULLET = re.compile(r"(?:[-*+–—]\s+|•\s*|\(?\d{1,2}[.)]\s+)")
_NUMBERED = re.compile(r"\(?(\d{1,2})[.)]\s+")
_NUMBER = re.compile(r"[-+−]?(?:\d[\d,]{0,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][-+]?\d{1,3})?")


def read_text(field: Field, raw: object) -> str:
    """One or more lines, without the blanks around them."""
    text = _bounded(_string(raw).strip())
    if not text:
        raise ValueError("empty")
    if text.startswith(f"<{field.kind}:"):
        raise ValueError("repeats the format instead of filling it")
    return text


def read_number(field: Field, raw: object) -> float:
    """The first decimal number; ``85%`` reads as 85."""
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return _finite(raw)
    found = _NUMBER.search(_string(raw)[:LINE_CHARS])
    if found is None:
        raise ValueError("holds no number")
    return _finite(found[0].replace("−", "-").replace(",", ""))


def read_choice(field: Field, raw: object) -> str:
    """One of the field's choices, also behind its own label or with a remark after it."""
    if isinstance(raw, bool):
        raw = "YES" if raw else "NO"
    line = _string(raw).strip().partition("\n")[0][:LINE_CHARS]
    first, listed, word = _choice_patterns(field)
    spelt = {choice.casefold(): choice for choice in field.choices}
    if (found := first.match(line)) and not listed.match(line, found.end()):
        return spelt[found[1].casefold()]
    named = {said.casefold() for said in word.findall(line) if said.isalpha()}
    if found is None and len(named) == 1:
        return spelt[named.pop()]
    raise ValueError(f"must be one of {', '.join(field.choices)}")


@lru_cache(maxsize=256)
def _choice_patterns(field: Field) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """A choice that opens a line, a further choice listed behind it, and a choice as a word."""
    names = "|".join(re.escape(choice) for choice in sorted(field.choices, key=len, reverse=True))
    label = re.escape(field.label)
    first = rf"[\W_]{{0,16}}(?:(?:{label}|option|choice)[\W_]{{0,8}})?({names})(?!\w|\.\d)"
    listed = rf"[\s`*\"'<>]{{0,8}}(?:or\b|and\b|\||/|,)[\s`*\"'<>]{{0,8}}(?:{names})(?!\w|\.\d)"
    flags = re.IGNORECASE
    return re.compile(first, flags), re.compile(listed, flags), re.compile(rf"\b({names})\b", flags)


def read_answer(field: Field, raw: object) -> str:
    """The answer between ``###`` marks, in a box, or on the line."""
    text = _string(raw).strip()
    if isinstance(raw, str) and text.startswith("<"):
        text = text.removeprefix(PLACEHOLDER)
    found = extract(f"Final_answer: {text}", fields_only=True)
    if found is None or found == PLACEHOLDER:
        raise ValueError("holds no answer")
    return found


def read_list(field: Field, raw: object) -> tuple[str, ...]:
    """The items, a line each, without their bullets; as many as the field allows."""
    if isinstance(raw, list):
        said = [_string(item) for item in cast("list[object]", raw)]
        _bounded("\n".join(said))
        found = [" ".join(item.split()) for item in said]
    else:
        found = items(read_text(field, raw))
    found = [item for item in found if item]
    if len(found) < field.least:
        raise ValueError(f"{len(found)} items, at least {field.least} are needed")
    if field.most is not None and len(found) > field.most:
        raise ValueError(f"{len(found)} items, at most {field.most} are allowed")
    return tuple(found)


def items(text: str) -> list[str]:
    """Items of a list. In a bulleted list a line without bullet goes on with the item before it."""
    lines = [line.strip() for line in text.split("\n")]
    if not any(_BULLET.match(line) for line in lines):
        return [line for line in lines if line]
    found: list[str] = []
    open_item = True
    for line in lines:
        mark = _BULLET.match(line)
        if mark is not None:
            found.extend(_numbered(line) or [line[mark.end() :].strip()])
        elif line and open_item:
            found.append(f"{found.pop()} {line}" if found else line)
        open_item = bool(line)
    return found


def _numbered(line: str) -> list[str]:
    """``1) one 2) two`` as its items; nothing for a line that no number opens."""
    found: list[str] = []
    mark = _NUMBERED.match(line)
    while mark is not None:
        following = re.compile(rf"\s\(?{int(mark[1]) + 1}[.)]\s+").search(line, mark.end())
        found.append(line[mark.end() : following.start() if following else len(line)].strip())
        mark = _NUMBERED.match(line, following.start() + 1) if following else None
    return found


def _bounded(text: str) -> str:
    if len(text) > FIELD_CHARS:
        raise ValueError(f"longer than {FIELD_CHARS:,} characters")
    return text


def _string(raw: object, deeper: int = NESTED) -> str:
    if isinstance(raw, list) and deeper:
        return "\n".join(_string(item, deeper - 1) for item in cast("list[object]", raw))
    if isinstance(raw, str | int | float):
        return str(raw)
    raise ValueError("is not a plain value")


def _finite(raw: str | float) -> float:
    try:
        number = float(raw)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("must be a finite number")
    return number


READERS: Mapping[FieldKind, Callable[[Field, object], Value]] = {
    "number": read_number,
    "choice": read_choice,
    "answer": read_answer,
    "text": read_text,
    "list": read_list,
}
