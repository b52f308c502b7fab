"""One reader for each kind of field: from what stands behind a label to its value.

A reader raises ``ValueError`` with a short reason that never repeats the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias, cast

import orjson

from handlers.answers.extract import absent, labelled, whole
from handlers.answers.plain import plain_text
from schemas.prompt import COPIED_WORDS
from schemas.reply import Field, FieldKind

Value: TypeAlias = str | float | tuple[str, ...]

# How a field is filled that has nothing to say, however a model spells it.
NONE = "NONE"
NO_ANSWER = "holds no answer"
ECHO = "repeats the form instead of filling it"
# As much of a line as is searched for a choice or a number.
LINE_CHARS = 1_000
# A field that is kept whole is no longer; what is, is unreadable and never cut in silence.
FIELD_CHARS = 65_536
# Lists in lists that are read as lines; deeper ones are no value.
NESTED = 4

_BULLET = re.compile(
    r"(?:[-*+–—]\s+|[•●○◦▪▫■□‣▸►➤✓✔✅☑①-⑳]\ufe0f?\s*|\d\ufe0f?\u20e3\s*|\(?\d{1,2}[.)]\s+)"
)
_NUMBERED = re.compile(r"\(?(\d{1,2})[.)]\s+")
_NUMBER = re.compile(r"[-+−]?(?:\d[\d,]{0,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][-+]?\d{1,3})?")
_PART = r"[-+−]?(?:\d{1,6}(?:\.\d{1,20})?|\.\d{1,20})(?:e-?\d{1,2})?"
_SHARE = re.compile(
    rf"(?:\b(?P<between>between)[ \t]{{1,4}})?(?<![^\W_])(?P<part>{_PART})[ \t*_`]{{0,4}}"
    r"(?:(?P<percent>\\?%|percent\b)"
    r"|(?:(?:(?:stars?|points?|marks?)\b|[★⭐]\ufe0f?)[ \t]{0,4})?\(?(?:/|out of\b)[ \t]{0,4}"
    r"(?P<of>\d{1,6}(?:\.\d{1,6})?)"
    r"|(?:of|in)[ \t]{1,4}(?P<cases>\d{1,4})(?![.\d]))?"
    # "0.xx" is our own form, and no nought.
    r"(?![^\W_]|\.[x?])"
    r"(?P<to>[ \t]{0,4}(?:[-=]?>|[-–—→]|to\b)[ \t]{0,4}(?:[01]?\.\d|\d{1,3}[ \t]{0,2}%))?",
    re.IGNORECASE,
)
# What stands in a line beside its share: the scale it is measured on, steps by their numbers, what was struck out.
_BESIDE = re.compile(
    r"[\[(][ \t]{0,2}0(?:\.0)?[ \t]{0,2}(?:,|-|–|—|to)[ \t]{0,2}1(?:\.0)?[ \t]{0,2}[\])]"
    r"|\bon an? (?:scale (?:of|from) )?0(?:\.0)?[ \t]{0,2}(?:to|-|–|—)[ \t]{0,2}1(?:\.0)?(?![.\d]\d)(?: scale)?\b"
    r"|\bsteps?[ \t]{0,2}\d{1,3}(?![.\d])|\b\d{1,3} (?:of (?:the )?(?:\d{1,3} )?)?steps?\b|~~[^~\n]{1,200}~~",
    re.IGNORECASE,
)
_SCALE = re.compile(
    r"(?:\b(?:on|in|using)[ \t]{1,4}an?[ \t]{1,4})?"
    r"(?P<lead>\b(?:scale|range)(?:[ \t]{1,4}(?:of|from)|:)?[ \t]{1,4}|\bfrom[ \t]{1,4}|[\[(][ \t]{0,2})?"
    r"\b[01](?:\.0)?[ \t]{0,2}(?:,|-|–|—|to)[ \t]{0,2}(?P<top>1|5|10|100)(?:\.0)?(?![.\d])"
    r"(?(lead)[ \t]{0,2}[\])]?|[ \t-]{1,3}scale\b)",
    re.IGNORECASE,
)
"""The scale that a reply names beside its share."""
_SOME_SCALE = re.compile(
    r"\d[ \t(]{0,4}(?:(?:stars?|points?|marks?)\b|[★⭐])|\bon an?\b[^.;\n]{0,30}\bscale\b"
    r"|\bout of (?:five|ten|a hundred)\b|\b(?:5|10|100)[ \t]{1,3}(?:is|being|=|means)[ \t]",
    re.IGNORECASE,
)
"""Words of a scale: where it is none of those above, nobody can say what a whole number on it is worth."""
_DENIED = re.compile(
    rf"(?:\bnot|n['’]t)[ \t]{{1,3}}{_PART}[ \t]{{0,2}}(?:\\?%|percent\b)?", re.IGNORECASE
)
"""A number that is said not to be the one."""
_WIDE = str.maketrans("０１２３４５６７８９．％／", "0123456789.%/")
"""Figures and signs in the width of Chinese letters."""
# Nobody writes thousands with a nought before them: 0,95 is 0.95, as half of Europe writes it.
_COMMA = re.compile(r"(?<![\d.,])0,(?=\d{1,20}(?![\d.,]\d))")
_EVEN = re.compile(r"(?<![\d.])50[ \t]{0,2}/[ \t]{0,2}50(?![\d.])")
"""How people say a half."""
_ABSENT = re.compile(
    r"[\s*_`\"'(\[]*(?:none|n/?a|nil|not applicable|nothing|[-–—])[\s*_`\"')\].]*", re.IGNORECASE
)
_NOT_YET = re.compile(
    r"[\s*_`\"'(\[]{0,8}(?:(?:none|nothing|not)[ \t]{1,4}(?:yet|so far|settled|solved|known)\b"
    r"|(?:none|n/a)[ \t*_]{0,4}[(;–—-]|to be determined\b|tbd\b|still open\b)",
    re.IGNORECASE,
)
# Lines of a reply that open or close something, and are no item of a list.
_SIGNS = frozenset(("```", r"\[", r"\]", "$$", "---", "***", "{", "}", "[", "]"))


class Exact(str):
    """A value that JSON delimits: all of it is the value, and no prose stands around it."""

    __slots__ = ()


def read_text(field: Field, raw: object) -> str:
    """One or more lines, without the blanks around them; ``NONE`` where it says that there is nothing."""
    text = _bounded(_string(raw).strip())
    # Bold signs go first, because an echo or a NONE may stand between them.
    text = _unmarked(text)
    if not text:
        raise ValueError("empty")
    _refuse_echo(field, text)
    text = _without_echo(field, text)
    return NONE if len(text) < LINE_CHARS and _ABSENT.fullmatch(text) else text


def _refuse_echo(field: Field, text: str) -> None:
    if (
        text in ("...", "…")
        or text.strip("<>()[] .").casefold() == field.about.strip(".").casefold()
    ):
        raise ValueError(ECHO)


def _without_echo(field: Field, text: str) -> str:
    """Without the field's own description, which small models write down before they go on."""
    about = field.about.strip(".")
    # Few words in common with the description may be the value; many are a copy of the form.
    if about.count(" ") < COPIED_WORDS - 1 or text[: len(about)].casefold() != about.casefold():
        return text
    rest = text[len(about) :]
    if rest[:1].isalnum():
        return text
    said = rest.lstrip(" \t.,;:)>*_`\"'\n")
    if not said or rest.startswith("; "):
        raise ValueError(ECHO)
    return said


def _unmarked(text: str) -> str:
    """Without the bold signs around all of a line."""
    inner = text[2:-2]
    # "**a** and **b**" begins and ends with the signs and is not bold as a whole.
    bold = len(text) > 4 and text.startswith("**") and text.endswith("**")
    return inner.strip() if bold and "**" not in inner and "\n" not in inner else text


def read_number(field: Field, raw: object) -> float:
    """The first decimal number; of a unit the first share, be it ``0.85``, ``85%`` or ``17/20``."""
    # True and false are numbers to Python and none to a model.
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return _unit(raw) if field.unit else _finite(raw)
    line = _string(raw).strip()[:LINE_CHARS]
    line = _without_echo(field, line)
    if field.unit:
        line = _COMMA.sub("0.", _DENIED.sub("", _BESIDE.sub("", line.translate(_WIDE))))
        scale = _SCALE.search(line)
        share = _SHARE.search(_EVEN.sub("0.5", _SCALE.sub("", line)))
        if share is None:
            raise ValueError("holds no number")
        if share["to"] or share["between"]:
            raise ValueError("must be one number, not two")
        part, of = float(share["part"].replace("−", "-")), share["of"]
        # 8/10 and 80 % are shares; "8" alone is none, and is refused instead of being guessed to
        # be out of ten, where no scale is named beside it.
        if of is None and not share["percent"] and share["part"].isdecimal():
            # "3 in 4" is of whole numbers: 0.9 in 2 of the cases is 0.9.
            of = share["cases"] or (scale and scale["top"])
            if of is None and _SOME_SCALE.search(line):
                raise ValueError("must be a number in [0, 1]")
        if of is not None and float(of) > 0:
            return _unit(part / float(of))
        return _unit(part / 100 if share["percent"] else part)
    found = _NUMBER.search(line)
    if found is None:
        raise ValueError("holds no number")
    return _finite(found[0].replace("−", "-").replace(",", ""))


def _unit(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError("must be a number in [0, 1]")
    return float(value)


def read_choice(field: Field, raw: object) -> str:
    """One of the field's choices, also behind its own label or with a remark after it."""
    if isinstance(raw, bool):
        # Endpoints that are asked for JSON may answer a choice of YES and NO by true or false.
        raw = "YES" if raw else "NO"
    line = _BESIDE.sub("", _string(raw).strip().partition("\n")[0][:LINE_CHARS])
    first, listed, word = _choice_patterns(field)
    spelt = {_plainly(choice): choice for choice in field.choices}
    spelt |= {_plainly(alias): choice for alias, choice in field.aliases}
    alone = line.strip(" \t.*`\"'").casefold()
    if alone in ("true", "false") and {"yes", "no"} <= spelt.keys():
        return spelt["yes" if alone == "true" else "no"]
    # A choice that opens the line counts, unless a second one is listed behind it: then the
    # choices were copied, and none was made but what an arrow leads to.
    found = first.match(line)
    if found and listed.match(line, found.end()):
        before, arrow, behind = line.replace("->", "→").rpartition("→")
        copied = {spelt[_plainly(said)] for said in word.findall(before)} == {*field.choices}
        led = first.match(behind) if arrow and copied else None
        if led is not None:
            return spelt[_plainly(led[1])]
    elif found:
        return spelt[_plainly(found[1])]
    named = {spelt[_plainly(said)] for said in word.findall(line) if said.isalpha()}
    if found is None and len(named) == 1:
        return named.pop()
    raise ValueError(f"must be one of {', '.join(field.choices)}")


def _plainly(choice: str) -> str:
    """A choice as it is compared: models put underscores and hyphens between its words, in any case."""
    return re.sub(r"[\s_-]+", " ", choice).casefold()


@lru_cache(maxsize=256)
def _choice_patterns(field: Field) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """A choice that opens a line, a further choice listed behind it, and a choice as a word."""
    # Longer names come first, so that NOT_SURE is not read as NO.
    known = (*field.choices, *(alias for alias, _ in field.aliases))
    spelt = (re.escape(choice) for choice in sorted(known, key=len, reverse=True))
    names = "|".join(re.sub(r"(?:\\? |_|\\-)+", r"[\\s_-]{1,3}", each) for each in spelt)
    label = re.escape(field.label)
    first = rf"[\W_]{{0,16}}(?:(?:{label}|option|choice)[\W_]{{0,8}})?({names})(?!\w|\.\d)"
    listed = (
        rf"[\s`*\"'<>]{{0,8}}(?:or\b|and\b|\||/|,|[-=]>|→)[\s`*\"'<>]{{0,8}}(?:{names})(?!\w|\.\d)"
    )
    flags = re.IGNORECASE
    return (
        re.compile(first, flags),
        re.compile(listed, flags),
        re.compile(rf"(?<!not )(?<!not the )(?<!not a )\b({names})\b", flags),
    )


def is_none(said: str) -> bool:
    """Whether this says that there is no answer, or none yet; "none of these" is one."""
    return absent(said) or _NOT_YET.match(said) is not None


def read_answer(field: Field, raw: object) -> str:
    """The answer in a box, between ``###`` marks, in a fence or a formula, or on the line."""
    text = _string(raw)
    if (
        isinstance(raw, list)
        and (several := cast("list[object]", raw))
        and (len(several) > 1 or isinstance(several[0], list))
    ):
        # The first of several values is no answer. Lists in lists are rows, and stay as they are.
        rows = any(isinstance(each, list) for each in several)
        flat = ", ".join(filter(None, (whole(_string(each)) for each in several)))
        text = orjson.dumps(several).decode() if rows or not flat else flat
        raw = Exact(text)
    # What JSON delimits is the whole answer; behind a label prose may stand around it.
    found = whole(text) if isinstance(raw, Exact) else labelled(text)
    if found is None and field.none and is_none(text.strip()):
        return NONE
    if found is None:
        raise ValueError(NO_ANSWER)
    if field.none and is_none(plain_text(found).strip()):
        return NONE
    _refuse_echo(field, found)
    return found


def read_list(field: Field, raw: object) -> tuple[str, ...]:
    """The items, a line each, without their bullets; what is more than the field asks for is left out.

    How many were asked for is a wish: one will do, and none only where none was a choice.
    """
    if isinstance(raw, list):
        said = [_item(item) for item in cast("list[object]", raw)]
        _bounded("\n".join(said))
        found = [" ".join(line.strip() for line in item.splitlines()).strip() for item in said]
    else:
        text = read_text(field, raw)
        found = [] if text == NONE else _in_brackets(text) or items(text)
    found = [_unmarked(item) for item in found if item]
    # An only item that says "none" is an empty list.
    if len(found) == 1 and _ABSENT.fullmatch(found[0][:LINE_CHARS]):
        found = []
    if not found and field.least:
        raise ValueError("0 items, at least 1 is needed")
    return tuple(found[: field.most])


def _in_brackets(text: str) -> list[str]:
    """The items of a list that stands behind its label as JSON writes it; none of any other text."""
    if not (text.startswith("[") and text.endswith("]")):
        return []
    try:
        found = cast("list[object]", orjson.loads(text))
    except ValueError:
        return []
    said = [each for each in found if isinstance(each, str)]
    return said if len(said) == len(found) else []


def _item(item: object) -> str:
    """An item of a JSON list; of an object its names and values."""
    if isinstance(item, dict):
        pairs = cast("dict[str, object]", item).items()
        return ", ".join(f"{name}={_string(value)}" for name, value in pairs)
    return _string(item)


def items(text: str) -> list[str]:
    """Items of a list. In a bulleted list a line without bullet goes on with the item before it."""
    lines = [line.strip() for line in text.split("\n")]
    # Lines that merely open or close a fence or a formula are no items.
    lines = [line for line in lines if line not in _SIGNS]
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


def bulleted(text: str) -> tuple[str, ...]:
    """Items of a text that is a list, whatever introduces it; none if no line has a bullet."""
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if _BULLET.match(line.strip())), None)
    return () if first is None else tuple(filter(None, items("\n".join(lines[first:]))))


def _numbered(line: str) -> list[str]:
    """``1) one 2) two`` as its items; nothing for a line that no number opens."""
    found: list[str] = []
    mark = _NUMBERED.match(line)
    while mark is not None:
        # The next number is looked for, and no other one: "in 3) of 1990" opens no item.
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
        return raw if isinstance(raw, str) else str(raw)
    raise ValueError("is not a plain value")


def _finite(raw: str | float) -> float:
    try:
        number = float(raw)
    except OverflowError:
        # A whole number of JSON may be too large for a float, and would raise instead of being
        # refused.
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
