"""What an answer is: a number, a measure, a percentage, a time, a tuple or interval, a set or list, a matrix, words.

Everything is exact and bounded: no number has more than ``DIGITS`` digits or a larger exponent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias

from handlers.answers.normalise import (
    ANSWER_CHARS,
    canonical,
    folded,
    is_words,
    plain_fractions,
    plain_signs,
    unwrapped,
    without_articles,
)
from handlers.answers.units import UNIT_CHARS, Unit, unit

# Bounds on what is read: a model may write a tower of powers or a thousand brackets, and neither
# may cost a worker its memory or its stack.
DIGITS = 1_000
EXPONENT = 999
DEPTH = 4
ITEMS = 200
SHORT = 200
"""Characters of an answer that is remembered as it was read."""

Kind: TypeAlias = Literal[
    "number", "percent", "time", "group", "list", "union", "matrix", "words", "formula"
]

_PLAIN = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)"
_NUMBER = re.compile(rf"({_PLAIN})(?:(?:[eE]|(?:\\times|\\cdot|\*)10\^)\{{?([-+]?\d{{1,6}})\}}?)?")
_TEN = re.compile(r"([-+]?)10\^\{?([-+]?\d{1,6})\}?")
_ROW = re.compile(rf"{_PLAIN}(?: {_PLAIN}){{1,{ITEMS}}}")
"""Numbers that nothing but spaces parts."""
_RATIO = re.compile(rf"\(?({_PLAIN})\)?/\(?({_PLAIN})\)?")
_FRAC = re.compile(rf"([-+]?)(\d*)\\frac\{{({_PLAIN})\}}\{{({_PLAIN})\}}")
_MIXED = re.compile(r"([-+]?)(\d+)\s+(\d+)/(\d+)")
_BEGIN, _END = (re.compile(rf"\\{word}\{{[pbvBV]?matrix\}}") for word in ("begin", "end"))
_OPENS, _CLOSES = "([{", ")]}"
_MEASURED = re.compile(
    r"([-+]?\d{1,40} \d{1,40}/\d{1,40}|[-+]?(?:\d[\d,]{0,400}(?:\.\d{0,400})?|\.\d{1,400})(?:/\d{1,40})?"
    r"|[-+]?\\frac\s?\{\d{1,40}\}\s?\{\d{1,40}\}|[A-Za-z]{3,9}(?= ))"
    rf"(\s{{0,8}})([^\d\s].{{0,{UNIT_CHARS}}})",
    re.DOTALL,
)
_AND = re.compile(r"(?<=[A-Za-z])(?:,\s{0,4}|\s{1,4})(?:and\s{1,4})?(?=\d)")
_SCALE = re.compile(r"(?:\^\s{0,4}\{?\s{0,4}\\circ\s{0,4}\}?|°)\s{0,4}(?=[CF]\b)")
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s{0,4}([ap])\.?\s?m\.?", re.IGNORECASE)
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+|[-!%$€£]")
_LONG = re.compile(r"[^\W\d_]{4}")
_SYMBOLIC = re.compile(r"[\\^_=+*/<>|{}&]")
_FUNCTIONS = re.compile(
    r"\b(?:a|arc)?(?:sin|cos|tan|cot|sec|csc)h?\b|\b(?:log|ln|exp|sqrt|max|min|gcd|lcm|mod|det)\b"
)
_HEDGES = r"about|approximately|approx\.?|roughly|around|circa|exactly|precisely|only|just"
# What was asked for is a number, and a model that is not quite sure of it says so.
_HEDGED = re.compile(
    rf"\A[\s$*]{{0,8}}(?:[A-Za-z]{{1,2}}\s{{0,4}}(?==|≈|\\approx))?=?\s{{0,4}}"
    rf"(?:(?:{_HEDGES}|a total of|≈|\\(?:approx|sim)(?![A-Za-z])|~)[\s*]{{0,4}}){{1,3}}"
    r"(?=[-+−–$€£\\(]{0,3}(?:[\d.]|[dt]?frac))",
    re.IGNORECASE,
)
_HEDGED_BEHIND = re.compile(
    r"(?<=\w)\s{1,4}(?:or so|\(?(?:approximately|approx\.?|roughly)\)?)\s{0,8}\Z", re.IGNORECASE
)
_TRUTH = {"yes": "true", "no": "false"}
_NAME = re.compile(r"^[A-Za-z]{1,2}=(?=.)")
_WORDS_OF_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", *(
        f"{tens} {ones}".strip()
        for tens in ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
        for ones in ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """One answer, read. ``brackets`` of a group are its two outer signs, such as ``(]``.

    A number with a ``unit`` that is known is a measure; of one that nobody knows the unit is left out.
    """

    kind: Kind
    text: str
    number: Fraction | None = None
    items: tuple[Value, ...] = ()
    brackets: str = ""
    unit: Unit | None = None

    @property
    def bare(self) -> Fraction | None:
        """The number of a value that is nothing else: it has no unit and is no percentage."""
        return self.number if self.kind == "number" and self.unit is None else None

    @property
    def count(self) -> Fraction | None:
        """Its number of whatever it is, where the unit counts them in thousands or dozens."""
        return None if self.number is None else self.number * (self.unit.scale if self.unit else 1)

    @property
    def is_ordered(self) -> bool:
        """Whether the order of its items counts: that of a tuple or interval does, that of a set does not."""
        return self.kind == "group" and self.brackets != "{}"


def read(text: str) -> Value:
    """What ``text`` says; a ``formula`` when it is nothing that exact rules compare."""
    if len(text) > ANSWER_CHARS:
        return Value("formula", text.strip())
    return _known(text) if len(text) <= SHORT else _told(text)


def _told(text: str) -> Value:
    text = _HEDGED_BEHIND.sub("", plain_fractions(text))
    if hedged := _HEDGED.match(text):
        text = text[hedged.end() :].rstrip("* ")
    # A mixed number is read first, since the canonical spelling has no spaces: 1 1/2 would be
    # 11/2.
    mixed = _MIXED.fullmatch(text.strip().strip("$"))
    if mixed is None:
        return _read(text, DEPTH)
    return Value("number", " ".join(mixed[0].split()), _mixed(mixed))


# A vote, its graders and its curves read the same few answers over and over.
_known = lru_cache(maxsize=8_192)(_told)


def _mixed(found: re.Match[str]) -> Fraction | None:
    sign, whole, above, below = found.groups()
    return _divide(sign, whole, above, below) if len(whole + above + below) <= DIGITS else None


def _read(text: str, depth: int) -> Value:
    value = (_matrix(text, depth - 1) if depth else None) or _clock(text) or _measure(text)
    if value is not None:
        return value
    spelt = canonical(text)
    inner = spelt.removesuffix("%")
    exact = number(inner)
    if exact is not None:
        return Value("number" if inner == spelt else "percent", spelt, exact)
    # Words are tried behind collections, because a list of names is a list and not one name.
    value = _several(_NAME.sub("", spelt), depth - 1) if depth else None
    if value is not None:
        return value
    if is_words(spelt):
        return Value("words", _TRUTH.get(spelt, spelt))
    # A text with words in it that is no formula counts as its words and numbers, so that
    # punctuation parts no two answers. What might be a formula is left whole, for graders that
    # know algebra.
    prose = plain_signs(text).rstrip(".!? ")
    is_prose = _SYMBOLIC.search(prose) is None and _LONG.search(prose)
    if not is_prose or _FUNCTIONS.search(prose.casefold()):
        return Value("formula", spelt)
    return Value("words", " ".join(without_articles(_TOKEN.findall(folded(prose)))))


# ── Measures and times ───────────────────────────────────────────────────────────────────────


def _measure(text: str) -> Value | None:
    """A number with a unit that is known, or several that follow each other (``1 h 30 min``), else ``None``."""
    spelt = unwrapped(plain_signs(_SCALE.sub(" ", text))).strip()
    total: Value | None = None
    for part in _AND.split(spelt, maxsplit=4):
        found = _MEASURED.fullmatch(part.strip())
        if found is None or not (found[2] or len(found[3].strip()) > 1):
            return None
        mixed = _MIXED.fullmatch(found[1])
        exact = number(canonical(found[1])) if mixed is None else _mixed(mixed)
        if exact is None:
            return None
        told = unit(found[3])
        if told is None or (total and total.unit and told.dimension != total.unit.dimension):
            return None
        part_text = canonical(found[1])
        if total is None:
            total = Value("number", part_text, exact, unit=told)
            continue
        # Parts of one measure descend, as 1 h 30 min does, and each is less than one of the unit
        # before it. Otherwise these are two measures, as 3 cm and 4 cm are.
        assert total.number is not None
        assert total.unit is not None
        more = exact * told.factor / total.unit.factor
        if not 0 <= more < 1 or told.factor >= total.unit.factor:
            return None
        exact = total.number + more
        total = Value("number", str(exact), exact, unit=total.unit)
    return total


def _clock(text: str) -> Value | None:
    """A time of day with its half of the day, as 24 hours tell it, else ``None``."""
    found = _CLOCK.fullmatch(text.strip()) if len(text) < 40 else None
    if found is None or not 1 <= int(found[1]) <= 12 or int(found[2] or 0) > 59:
        return None
    hours = int(found[1]) % 12 + (12 if found[3] in "pP" else 0)
    return Value("time", f"{hours:02}:{found[2] or '00'}")


def number(text: str) -> Fraction | None:
    """The exact value of a whole number, decimal, power of ten or fraction, else ``None``."""
    text = text.strip()
    if text in _WORDS_OF_NUMBERS:
        return Fraction(_WORDS_OF_NUMBERS.index(text))
    if len(text) > DIGITS or not any(map(str.isdecimal, text)) or not text.isascii():
        return None
    ten = _TEN.fullmatch(text)
    found = _NUMBER.fullmatch(f"{ten[1]}1e{ten[2]}" if ten else text)
    # A larger exponent is no number that anybody compares, and would take memory to write out.
    if found is not None and abs(int(found[2] or 0)) <= EXPONENT:
        return Fraction(found[1]) * Fraction(10) ** int(found[2] or 0)
    if found := _RATIO.fullmatch(text):
        return _divide("", "", found[1], found[2])
    if found := _FRAC.fullmatch(text):
        return _divide(*found.groups())
    return None


def _divide(sign: str, whole: str, above: str, below: str) -> Fraction | None:
    if not Fraction(below):
        return None
    value = int(whole or 0) + Fraction(above) / Fraction(below)
    return -value if sign == "-" else value


# ── Several values ───────────────────────────────────────────────────────────────────────────


def _several(text: str, depth: int) -> Value | None:
    """A group in brackets, a bare list, or a union of intervals, else ``None``."""
    parts = text.split(r"\cup")
    if len(parts) > 1:
        return _made("union", text, parts, depth)
    bare = text.replace(r"\{", "{").replace(r"\}", "}")
    if _enclosed(bare):
        inner = split(bare[1:-1])
        if len(inner) == 1 and bare[0] != "{":
            return _read(inner[0], depth)
        return _made("group", bare, inner, depth, bare[0] + bare[-1])
    inner = bare.split() if _ROW.fullmatch(bare) else split(bare)
    if len(inner) > 1:
        return _made("list", bare, inner, depth)
    # Lists of numbers that stand side by side are printed so by programs. One number alone in
    # brackets is a factor, and then the text is a product.
    if not bare.startswith("[") or not bare.endswith("]") or "][" not in bare:
        return None
    made = _made("group", bare, [f"[{part}]" for part in bare[1:-1].split("][")], depth, "")
    if made is None or not any(item.items for item in made.items):
        return None
    leaves = [leaf for item in made.items for leaf in item.items or (item,)]
    return made if all(leaf.number is not None for leaf in leaves) else None


def _made(kind: Kind, text: str, parts: list[str], depth: int, brackets: str = "") -> Value | None:
    if len(parts) > ITEMS:
        return None
    return Value(kind, text, None, tuple(_read(part, depth) for part in parts), brackets)


def _matrix(text: str, depth: int) -> Value | None:
    """What stands between the first beginning of a matrix and the last end behind it, if one is there."""
    begin = _BEGIN.search(text)
    ends = [] if begin is None else [found.start() for found in _END.finditer(text, begin.end())]
    if begin is None or not ends:
        return None
    body = text[begin.end() : ends[-1]]
    rows = [row for row in body.split(r"\\") if row.strip()][:ITEMS]
    cells = [tuple(_read(cell, depth) for cell in row.split("&")[:ITEMS]) for row in rows]
    texts = ["&".join(cell.text for cell in row) for row in cells]
    items = (Value("group", t, None, row, "[]") for t, row in zip(texts, cells, strict=True))
    return Value("matrix", ";".join(texts), None, tuple(items))


def _enclosed(text: str) -> bool:
    """Whether the first bracket of a text is closed by its last sign."""
    if len(text) < 2 or text[0] not in _OPENS or text[-1] not in _CLOSES:
        return False
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign in _OPENS) - (sign in _CLOSES)
        if depth == 0:
            return at == len(text) - 1
    return False


def split(text: str) -> list[str]:
    """The parts of a text between commas that stand in no bracket."""
    parts, depth, start = list[str](), 0, 0
    for at, sign in enumerate(text):
        depth += (sign in _OPENS) - (sign in _CLOSES)
        if sign in ",;" and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part for part in parts if part] or [""]
