"""Exact equality of two answers: right, wrong, or unknown where exact rules cannot decide.

Symmetric: ``equal(a, b) == equal(b, a)``. ``wrong`` is said only where both answers are understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from handlers.answers.normalise import ANSWER_CHARS, plain_signs
from handlers.answers.units import COUNT, NUMBER_WORDS, others
from handlers.answers.value import Value, number, read, split
from schemas.outcome import Outcome

# Names of constants and functions are no words: "e" and "log" may be a number's spelling, so that
# nothing may be called wrong because of them.
_CONSTANTS = frozenset(
    {"pi", "e", "i", "infty", "infinity", "sqrt", "sin", "cos", "tan", "log", "ln", "exp"}
)
Decide: TypeAlias = Callable[[Value, Value], Outcome]
"""What decides between two formulas; sympy in a worker process, nobody here."""

ROUNDED = Fraction(1, 100)
"""What was converted is rounded: two measures this near to each other may be one."""
_NOTHING = frozenset(["none", "nothing", "nobody", "never", "unchanged", "same"]) | {
    "no change",
    "same as before",
}
"""Words for zero."""
# Exact rules call two words different only here, where one excludes the other. All other words may
# be synonyms, and an answer must never be wrong because nobody thought of its spelling.
_APART = tuple(
    frozenset(names.split())
    for names in (
        "true false",
        "north south east west northeast northwest southeast southwest",
        "monday tuesday wednesday thursday friday saturday sunday",
        "january february march april may june july august september october november december",
        "odd even",
        "left right",
        "circle ellipse parabola hyperbola line point",
        "increases decreases",
        "positive negative",
        "knight knave",
        "red orange yellow green blue violet black white",
    )
)
"""Words of which only one is right."""

_ASSIGNED = re.compile(r"\s{0,40}([A-Za-z]{1,2}(?:_\{?\w\}?)?)\s{0,4}=(?=[^=])(.*)", re.DOTALL)
_COMMA = re.compile(r"[-+]?\d{1,400},\d{1,400}")
"""A number with a decimal comma, if it is not two numbers."""

MATCHED = 12
"""Up to so many members of two sets are compared pair by pair."""


def equal(answer: str, reference: str) -> Outcome:
    """Do two answers say the same?"""
    return compare(read(answer), read(reference))


def same(answer: str, reference: str, decide: Decide | None = None) -> Outcome:
    """As ``equal``, and where both name their parts (``x = 1, y = 2``) each part is what it is in the other."""
    found = compare(read(answer), read(reference), decide)
    given, wanted = assigned(answer), assigned(reference)
    if found != "right" or not given or given.keys() != wanted.keys():
        return found
    parts = {compare(read(given[name]), read(wanted[name]), decide) for name in given}
    # Whoever counts the roots of one unknown may begin with any of them.
    counted = len({name.partition("_")[0] for name in given}) == 1
    if "wrong" in parts:
        return "unknown" if counted else "wrong"
    return "unknown" if "unknown" in parts else "right"


def assigned(text: str) -> Mapping[str, str]:
    """The parts of a text that is nothing but several names, each with its own value."""
    parts = split(plain_signs(text)) if len(text) <= ANSWER_CHARS and "=" in text else []
    found = [each for each in map(_ASSIGNED.fullmatch, parts) if each is not None]
    named = {re.sub(r"[{}]", "", each[1]): each[2] for each in found}
    return named if len(named) == len(parts) > 1 else {}


def compare(a: Value, b: Value, decide: Decide | None = None) -> Outcome:
    """Do two values say the same? Formulas are left to ``decide``, alone or inside collections."""
    if a.text == b.text and a.brackets == b.brackets and a.unit == b.unit:
        # Two answers without a text are equal in nothing that could be right.
        return "right" if a.text else "unknown"
    if a.number is not None and b.number is not None:
        return _numbers(a, b)
    if a.items and b.items:
        return _collections(a, b, decide)
    if a.kind == b.kind == "words":
        letters = len(a.text) == len(b.text) == 1 and not {a.text, b.text} & _CONSTANTS
        apart = letters or any(a.text in names and b.text in names for names in _APART)
        return "wrong" if apart else "unknown"
    # Sorted, so that the comparison stays symmetric whatever rules of unlike kinds are added.
    found = _different_kinds(*sorted((a, b), key=lambda value: (value.kind, value.text)))
    return decide(a, b) if found == "unknown" and decide is not None else found


def _numbers(a: Value, b: Value) -> Outcome:
    """A percentage equals its number ("what percent?") and its hundredth.

    A measure equals its number, and itself in another unit; in no unit or about, nobody knows.
    """
    assert a.number is not None
    assert b.number is not None
    if a.unit is None and b.unit is None:
        if a.kind == b.kind:
            return "right" if a.number == b.number else "wrong"
        percent, number = (a.number, b.number) if a.kind == "percent" else (b.number, a.number)
        return "right" if percent in (number, number * 100) else "wrong"
    # A mere count has no unit: 1.5 million are 1500000, and 1.5 million dollars.
    if a.unit != b.unit and COUNT in (a.unit and a.unit.dimension, b.unit and b.unit.dimension):
        return _counted(a, b)
    if a.unit is not None and b.unit is not None:
        # Months and days, or gallons and litres, have no fixed ratio: such an answer may be right.
        if a.unit.dimension != b.unit.dimension:
            return "unknown"
        one, other = a.number * a.unit.factor, b.number * b.unit.factor
        if one == other:
            return "right"
        return "unknown" if a.unit != b.unit and _about(one, other) else "wrong"
    measure, bare = (b, a) if a.unit is None else (a, b)
    assert measure.number is not None
    assert measure.unit is not None
    assert bare.number is not None
    if bare.kind != "number":
        return "unknown"
    if bare.number in _meant(measure):
        return "right"
    if bare.number == measure.number:
        return "unknown"
    # A number without its unit may mean another one: 90 is not wrong where 1.5 hours are wanted,
    # for minutes may be meant. A model's omission is the grader's doubt, and never its verdict.
    told = measure.number * measure.unit.factor
    meant = (bare.number * factor for factor in others(measure.unit.dimension))
    return "unknown" if any(_about(told, each) for each in meant) else "wrong"


def _counted(a: Value, b: Value) -> Outcome:
    if a.unit is not None and b.unit is not None and a.unit.dimension == b.unit.dimension:
        return "right" if a.count == b.count else "wrong"
    plain, other = (a, b) if a.unit is not None and a.unit.dimension == COUNT else (b, a)
    if other.kind == "number" and other.unit is None:
        if other.number in _meant(plain):
            return "right"
        return "unknown" if other.number == plain.number else "wrong"
    return _numbers(replace(plain, number=plain.count, unit=None), other)


def _meant(measure: Value) -> tuple[Fraction | None, ...]:
    """The bare numbers that a measure may be: of 1.5 million that one, and 1.5 where it is asked how many millions."""
    assert measure.unit is not None
    by_figure = measure.unit.scale == 1 or (
        measure.unit.scale >= 1_000 and measure.text[-1:].isdigit()
    )
    return (measure.count, measure.number) if by_figure else (measure.count,)


def _about(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) <= ROUNDED * max(abs(one), abs(other))


def _different_kinds(a: Value, b: Value) -> Outcome:
    """A number and plain words differ, as do a number and several numbers; else nobody knows."""
    kinds = {a.kind, b.kind}
    if kinds == {"time"}:
        return "wrong"
    if kinds <= {"number", "percent", "words"}:
        words, counted = (a.text, b) if a.kind == "words" else (b.text, a)
        if words in _NOTHING and counted.number == 0:
            return "unknown"
        parts = words.split()
        # "At least 42" and "the answer is 42" name the number; what they say of it nobody can tell here.
        if counted.number in _named(parts):
            return "unknown"
        if NUMBER_WORDS.search(words) or any(part in _CONSTANTS for part in parts):
            return "unknown"
        # Short words may be a variable or a unit that is not known; a long one says something else
        # than a number.
        says_else = any(len(part) > 3 for part in parts) or words in ("true", "false")
        return "wrong" if says_else else "unknown"
    one, several = (a, b) if b.items else (b, a)
    if one.number is not None and several.kind in ("group", "list") and several.items:
        if len(several.items) == 1:
            return compare(one, several.items[0])
        # Whoever writes 0,75 where 0.75 is wanted means no two numbers.
        comma = _COMMA.fullmatch(several.text)
        if comma is not None and Fraction(comma[0].replace(",", ".")) == one.number:
            return "unknown"
        return "wrong" if all(item.kind == "number" for item in several.items) else "unknown"
    return "unknown"


def _named(parts: Sequence[str]) -> set[Fraction]:
    """The numbers that stand among words, whatever sign or percent stands beside them."""
    found = [each for each in map(number, parts) if each is not None]
    return {way for each in found for way in (each, -each, each / 100)}


def _collections(a: Value, b: Value, decide: Decide | None) -> Outcome:
    if a.kind == b.kind == "matrix" or (a.is_ordered and b.is_ordered):
        found = _in_order(a, b, decide)
        if found != "right" or a.brackets == b.brackets:
            return found
        # Half-open and infinite intervals are told apart by their brackets; [1,2] may be a tuple.
        interval = any(v.brackets in ("(]", "[)") or r"\infty" in v.text for v in (a, b))
        return "wrong" if interval else "unknown"
    if a.kind != b.kind and {a.kind, b.kind} & {"matrix", "union"}:
        return "unknown"
    found = _in_any_order(a, b, decide)
    # A bare list may stand for a tuple. The same members in another order are then no proof that
    # both mean one thing.
    if found == "right" and a.is_ordered != b.is_ordered:
        return "right" if _in_order(a, b, decide) == "right" else "unknown"
    return found


def _in_order(a: Value, b: Value, decide: Decide | None) -> Outcome:
    if len(a.items) != len(b.items):
        return "wrong"
    found = {compare(x, y, decide) for x, y in zip(a.items, b.items, strict=True)}
    # One wrong member decides, however little is known of the others.
    if "wrong" in found:
        return "wrong"
    return "unknown" if "unknown" in found else "right"


def _in_any_order(a: Value, b: Value, decide: Decide | None) -> Outcome:
    """Sets forget repetition, lists count it; ``right`` when each member has a partner of its own."""
    some, others = ([(key_of(item), item) for item in value.items] for value in (a, b))
    if "{}" in (a.brackets, b.brackets):
        some, others = list(dict(some).items()), list(dict(others).items())
    if sorted(key for key, _ in some) == sorted(key for key, _ in others):
        return "right"
    if all(item.kind == "number" and item.unit is None for item in a.items + b.items):
        return "wrong"
    # Pairs take the square of their number, and each may ask another process; hence the bound.
    if len(some) != len(others) or len(some) > MATCHED:
        return "unknown"
    free = [item for _, item in others]
    for _, item in some:
        partner = next((other for other in free if compare(item, other, decide) == "right"), None)
        if partner is None:
            return "unknown"
        free.remove(partner)
    return "right"


def key_of(value: Value) -> str:
    """A text that only values have in common that say the same."""
    if value.number is not None:
        if value.unit is None:
            return f"{value.kind}:{value.number}"
        if value.unit.dimension == COUNT:
            return f"number:{value.count}"
        return f"{value.unit.dimension}:{value.number * value.unit.factor}"
    if value.items:
        keys = [key_of(item) for item in value.items]
        if not value.is_ordered and value.kind != "matrix":
            keys = sorted({*keys} if value.brackets == "{}" else keys)
        return f"{value.kind}{value.brackets}:{'|'.join(keys)}"
    return value.text
