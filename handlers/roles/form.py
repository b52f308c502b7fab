"""A reply's fields, read from whatever a model wrote.

Labels stand at the start of a line, in any case, bold or not, behind ``- `` or ``#``, with spaces
or underscores; a value runs to the next known label. A JSON object is read too. Of a label that
occurs several times the last readable value counts, for models draft before they settle. Nothing
that a model writes makes this raise, and each character is looked at a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, cast

import orjson

from handlers.answers.extract import extract
from handlers.roles.values import READERS, Value
from schemas.reply import Field, Reply

TRIES = 8
"""How many of the last occurrences of a label are looked at."""
FENCES = 4
"""How many of the last fenced blocks of a text are tried as JSON."""

Values: TypeAlias = Mapping[str, Value]
Found: TypeAlias = Mapping[str, Sequence[object]]

_GAP = re.compile(r"[\s_\\\-]+")
_LEAD = r"^[ \t]{0,8}(?:[-+*•>]{1,3}[ \t]{1,4}|\d{1,2}[.)][ \t]{1,4}){0,2}"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a reply could not be read: the field and what is wrong with it."""

    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}"


def parse(text: str, reply: Reply) -> Values | Unreadable:
    """The reply's values by label, in the order declared, or the first field that is unreadable."""
    found = _in_json(text, reply)
    if found is not None:
        values = _read(found, reply, text)
        if not isinstance(values, Unreadable):
            return values
    return _read(_labelled(text, reply), reply, text)


def preamble(text: str, reply: Reply) -> str:
    """What a reply says before its first labelled field."""
    first = _labels(reply).search(text)
    return (text if first is None else text[: first.start()]).strip()


def render_reply(reply: Reply, values: Values) -> str:
    """The canonical text of these values: what ``parse`` reads back as the same values."""
    return "\n".join(
        _line(field, values[field.label]) for field in reply.fields if field.label in values
    )


def _line(field: Field, value: Value) -> str:
    if isinstance(value, tuple):
        return "\n".join((f"{field.label}:", *(f"- {item}" for item in value)))
    if field.kind == "answer":
        return (
            f"{field.label}: \\boxed{{{value}}}"
            if field.boxed
            else f"{field.label}: ### {value} ###"
        )
    return f"{field.label}: {value!r}" if isinstance(value, float) else f"{field.label}: {value}"


# ── Reading what was found ───────────────────────────────────────────────────────────────────


def _read(found: Found, reply: Reply, text: str) -> Values | Unreadable:
    values: dict[str, Value] = {}
    for field in reply.fields:
        if field.when is not None and values.get(field.when[0]) not in field.when[1]:
            continue
        value = _value(field, found.get(field.label, ()), text)
        if not isinstance(value, Unreadable):
            values[field.label] = value
        elif field.required:
            return value
    return values


def _value(field: Field, raws: Sequence[object], text: str) -> Value | Unreadable:
    """The last readable occurrence; an answer that has no label may stand anywhere as an answer."""
    problem = "missing"
    for raw in raws[::-1][:TRIES]:
        try:
            return READERS[field.kind](field, raw)
        except ValueError as error:
            problem = str(error)
    if field.kind == "answer" and not raws:
        anywhere = extract(text, fields_only=True)
        if anywhere is not None:
            return anywhere
    return Unreadable(field.label, problem)


# ── Finding the fields ───────────────────────────────────────────────────────────────────────


def _labelled(text: str, reply: Reply) -> Found:
    marks = list(_labels(reply).finditer(text))
    names = {_key(field.label): field.label for field in reply.fields}
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    found: dict[str, list[object]] = {}
    for mark, end in zip(marks, ends, strict=True):
        found.setdefault(names[_key(mark["label"])], []).append(text[mark.end() : end])
    return found


def _key(label: str) -> str:
    return _GAP.sub("", label).casefold()


@lru_cache(maxsize=256)
def _labels(reply: Reply) -> re.Pattern[str]:
    """A label with its colon; headings and bold lines may do without the colon."""
    names = "|".join(_spelling(field.label) for field in reply.fields)
    closed = r"(?:[:：][ \t]{0,4}(?P=bold)?|(?P=bold)[ \t]{0,4}(?:[:：]|$))"
    plain = r"(?(head)(?:[:：]|[ \t]{0,4}$)|[:：])"
    return re.compile(
        rf"{_LEAD}(?P<head>#{{1,6}}[ \t]{{0,4}})?(?P<bold>\*{{1,3}}|_{{1,2}}|`)?"
        rf"(?P<label>{names})[ \t]{{0,4}}(?(bold){closed}|{plain})",
        re.IGNORECASE | re.MULTILINE | re.ASCII,
    )


def _spelling(label: str) -> str:
    return r"[ _\\\-]{0,3}".join(re.escape(word) for word in _GAP.split(label) if word)


def _in_json(text: str, reply: Reply) -> Found | None:
    """The fields of a JSON object that is the whole reply or stands in a fence, if there is one."""
    for candidate in _json_candidates(text):
        try:
            value: Any = orjson.loads(candidate)
        except ValueError:
            continue
        if isinstance(value, dict):
            found = _known(cast("dict[str, object]", value), reply)
            if found:
                return found
    return None


def _json_candidates(text: str) -> list[str]:
    whole = text.strip()
    if whole.startswith("{"):
        return [whole]
    fenced = [part.removeprefix("json").strip() for part in text.split("```")[1::2]]
    return [part for part in fenced[: -FENCES - 1 : -1] if part.startswith("{")]


def _known(value: Mapping[str, object], reply: Reply) -> Found:
    names = {_key(field.label): field.label for field in reply.fields}
    keyed = ((names.get(_key(key)), item) for key, item in value.items())
    return {name: [item] for name, item in keyed if name is not None and item is not None}
