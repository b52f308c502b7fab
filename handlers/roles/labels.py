"""Where the labels of a form stand in a reply, however a model spells and decorates them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from schemas.reply import Field, Reply

# Labels are compared by these keys: models put spaces, hyphens or escaped underscores into them.
_GAP = re.compile(r"[\s_\\\-]+")
_LEAD = r"^[ \t]{0,8}(?:[-+*•>]{1,3}[ \t]{1,4}|\d{1,2}[.)][ \t]{1,4}){0,2}"
_COLON = r"[:：=]"
# What is put before the label of a verdict that was reconsidered. Before the label of a text these
# words are the text's own: "Final result" may be a line of the result.
_LAST = (
    r"(?:(?:(?:the|my|our)[ \t]{1,2})?(?:final|overall|corrected|revised|updated|actual)[ \t]{1,2}"
    r"|my[ \t]{1,2}|correction[ \t]{0,2}[:：—–-][ \t*_]{0,4})"
)
_EMOJI = "\u2022-\u2023\u25a0-\u25ff\u2600-\u27bf\u2b50\ufe0f\u200d\U0001f100-\U0001f1ff\U0001f300-\U0001faff"
_SHARE = re.compile(r"[01]?\.\d|\d{1,3}[ \t]{0,2}%")
# Letters that look bold or slanted without any mark-up, each of which stands for a plain one.
_STYLED = re.compile("[\U0001d400-\U0001d7ff]")
_PLAIN = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0x1D400, 0x1D800)}


class Mark(NamedTuple):
    """A label in a reply: where it stands with its signs, where its value ends if a tag ends it, and its bold sign."""

    start: int
    end: int
    label: str
    until: int | None = None
    opened: str | None = None
    """The bold sign that opens before the label and closes behind the value, as in ``**Error_step: NONE**``."""


def key(label: str) -> str:
    """A label as labels are compared."""
    return _GAP.sub("", label).casefold()


def marks_of(text: str, reply: Reply) -> list[Mark]:
    """Where labels stand, in order; a label in a looser spelling counts where there is no other."""
    marks = [_mark(found) for found in _labels(reply).finditer(text)]
    for more in (_loosely, _barely):
        there = {mark.label for mark in marks}
        missing = [field for field in reply.fields if key(field.label) not in there]
        if missing:
            marks = sorted((*marks, *more(text, reply, missing)), key=lambda mark: mark.start)
    return marks


def first_of(text: str, reply: Reply) -> int | None:
    """Where the first label stands that has its colon or its tag."""
    strict = _labels(reply).search(text)
    loose = () if strict else _loosely(text, reply, reply.fields)
    return strict.start() if strict else min((mark.start for mark in loose), default=None)


def _mark(found: re.Match[str]) -> Mark:
    bold = found["bold"]
    opened = bold if bold is not None and found[0].count(bold) == 1 else None
    return Mark(found.start(), found.end(), key(found["label"]), None, opened)


def _loosely(text: str, reply: Reply, missing: Iterable[Field]) -> list[Mark]:
    """Labels behind an emoji or a number, before a bracket or an arrow, in styled letters or as tags."""
    # A choice that may be left out is no label of a free thought: "State (at first): open" is a line of it.
    wanted = {key(field.label) for field in missing if field.required or field.kind != "choice"}
    # Each styled letter stands for one plain one, so that places stay what they are.
    plain = text.translate(_PLAIN) if _STYLED.search(text) else text
    found = [_mark(each) for each in _loose_labels(reply).finditer(plain)]
    opened: dict[str, re.Match[str]] = {}
    for tag in _tags(reply).finditer(text) if "</" in text else ():
        label = key(tag["label"])
        if not tag["closes"]:
            opened[label] = tag
        elif label in opened:
            opens = opened.pop(label)
            found.append(Mark(opens.start(), opens.end(), label, tag.start()))
    return [mark for mark in found if mark.label in wanted]


def _barely(text: str, reply: Reply, missing: Iterable[Field]) -> list[Mark]:
    """Labels without a colon."""
    wanted = {key(field.label): field.kind for field in missing}
    # Without a colon a label may be the word that a sentence begins with, unless a sign marks it,
    # or a share stands behind it.
    return [
        Mark(found.start(), found.end(), label)
        for found in _bare_labels(reply).finditer(text)
        if (label := key(found["label"])) in wanted
        and (
            found["bold"]
            or found["dash"]
            or "_" in found["label"]
            or (wanted[label] == "number" and _SHARE.match(text, found.end()))
        )
    ]


@lru_cache(maxsize=256)
def _labels(reply: Reply) -> re.Pattern[str]:
    """A label with its colon or ``=``; headings, and bold labels alone on a line, may do without."""
    names = "|".join(_spelling(field.label) for field in reply.fields)
    closed = rf"(?:{_COLON}[ \t]{{0,4}}(?P=bold)?|(?P=bold)[ \t]{{0,4}}(?:{_COLON}|[–—]|$))"
    plain = rf"(?(head)(?:{_COLON}|[ \t]{{0,4}}$)|{_COLON}(?!=))"
    return re.compile(
        rf"{_LEAD}(?P<head>#{{1,6}}[ \t]{{0,4}})?(?P<bold>\*{{1,3}}|_{{1,2}}|`)?{_reconsidered(reply)}"
        rf"(?P<label>{names})[ \t]{{0,4}}(?(bold){closed}|{plain})",
        re.IGNORECASE | re.MULTILINE | re.ASCII,
    )


def _reconsidered(reply: Reply) -> str:
    """Words before a label that mark it as the last word on a matter that has one."""
    last = "|".join(
        _spelling(field.label)
        for field in reply.fields
        if field.kind == "answer" or (field.kind in ("choice", "number") and field.required)
    )
    return rf"(?:{_LAST}(?=(?:{last})))?" if last else ""


@lru_cache(maxsize=256)
def _loose_labels(reply: Reply) -> re.Pattern[str]:
    """A label with a colon or an arrow, decorated as no plain one is; behind its number a dot will do: ``R1.``."""
    names = "|".join(_spelling(field.label) for field in reply.fields)
    number = r"(?:\d{1,2}[.):][ \t]{0,4})?"
    lead = rf"^[ \t]{{0,8}}(?:[-+*>]{{1,3}}[ \t]{{1,4}}|[{_EMOJI}]{{1,4}}[ \t]{{0,4}}|\d{{1,2}}[.)][ \t]{{1,4}}){{0,3}}"
    closed = (
        rf"(?:{_COLON}[ \t]{{0,4}}(?P=bold)?|(?P=bold)[ \t]{{0,4}}(?:{_COLON}|[–—→⇒≈]|->|=>|$)"
        r"|(?<=\d)[.)][ \t]{0,2}(?P=bold)[ \t])"
    )
    plain = rf"(?(head)(?:{_COLON}|[ \t]{{0,4}}$)|(?:{_COLON}(?!=)|[→⇒≈]|[-=]>|(?<=\d)[.)][ \t]))"
    beside = r"(?:(?P=bold))?[ \t]{0,4}[\[(][^()\[\]\n]{1,60}[\])][ \t]{0,4}(?=\**[:：])"
    return re.compile(
        rf"{lead}(?P<head>#{{1,6}}[ \t]{{0,4}}{number})?(?P<bold>\*{{1,3}}|_{{1,2}}|`)?{number}"
        rf"[【]?(?P<label>{names})[】]?[ \t]{{0,4}}(?:{beside})?(?(bold){closed}|{plain})",
        re.IGNORECASE | re.MULTILINE | re.ASCII,
    )


@lru_cache(maxsize=256)
def _tags(reply: Reply) -> re.Pattern[str]:
    """A label as a tag that opens or closes."""
    names = "|".join(_spelling(field.label) for field in reply.fields)
    return re.compile(rf"<(?P<closes>/?)(?P<label>{names})>", re.IGNORECASE | re.ASCII)


@lru_cache(maxsize=256)
def _bare_labels(reply: Reply) -> re.Pattern[str]:
    """A label without a colon, and something behind it on its line."""
    names = "|".join(_spelling(field.label) for field in reply.fields)
    return re.compile(
        rf"{_LEAD}(?:#{{1,6}}[ \t]{{0,4}})?(?P<bold>\*{{1,3}}|_{{1,2}}|`)?(?P<label>{names})"
        rf"(?(bold)(?P=bold))[ \t]{{1,4}}(?:(?P<dash>[–—-]{{1,2}})(?!\S)[ \t]{{0,4}}|(?=\S))",
        re.IGNORECASE | re.MULTILINE | re.ASCII,
    )


def _spelling(label: str) -> str:
    return r"[ _\\\-]{0,3}".join(re.escape(word) for word in _GAP.split(label) if word)
