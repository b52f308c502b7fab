"""Exact equality of two answers: right, wrong, or unknown where exact rules cannot decide.

Symmetric: ``equal(a, b) == equal(b, a)``. ``wrong`` is said only where both answers are understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TypeAlias

from handlers.answers.units import others
from handlers.answers.value import Value, read
from schemas.outcome import Outcome

_CONSTANTS = frozenset(
    {"pi", "e", "i", "infty", "infinity", "sqrt", "sin", "cos", "tan", "log", "ln", "exp"}
)
_NUMBER_WORDS = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|"
    r"forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|half|third|quarter|dozen|"
    r"once|twice)|\w{3}teen\b"
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

MATCHED = 12
"""Up to so many members of two sets are compared pair by pair."""


def _nobody(a: Value, b: Value) -> Outcome:
    return "unknown"


def equal(answer: str, reference: str) -> Outcome:
    """Do two answers say the same?"""
    return compare(read(answer), read(reference))


def compare(a: Value, b: Value, decide: Decide = _nobody) -> Outcome:
    """Do two values say the same? Formulas are left to ``decide``, alone or inside collections."""
    if a.text == b.text and a.brackets == b.brackets and a.unit == b.unit:
        return "right" if a.text else "unknown"
    if a.number is not None and b.number is not None:
        return _numbers(a, b)
    if a.items and b.items:
        return _collections(a, b, decide)
    if a.kind == b.kind == "words":
        return _words(a.text, b.text)
    found = _different_kinds(*sorted((a, b), key=lambda value: (value.kind, value.text)))
    return decide(a, b) if found == "unknown" else found


def _numbers(a: Value, b: Value) -> Outcome:
    """A percentage equals its number ("what percent?") and its hundredth."""
    assert a.number is not None
    assert b.number is not None
    if a.unit is not None or b.unit is not None:
        return _measures(a, b)
    ratios = [1] if a.kind == b.kind else [1, 100]
    percent, plain = (a.number, b.number) if a.kind == "percent" else (b.number, a.number)
    return "right" if any(percent == plain * ratio for ratio in ratios) else "wrong"


def _measures(a: Value, b: Value) -> Outcome:
    """A measure equals its number, and itself in another unit; in no unit or about, nobody knows."""
    if a.unit is None or b.unit is None:
        return _bare(*((b, a) if a.unit is None else (a, b)))
    assert a.number is not None
    assert b.number is not None
    if a.unit.dimension != b.unit.dimension:
        return "unknown"
    one, other = a.number * a.unit.factor, b.number * b.unit.factor
    if one == other:
        return "right"
    return "unknown" if a.unit != b.unit and _about(one, other) else "wrong"


def _bare(measured: Value, plain: Value) -> Outcome:
    """A number without its unit may mean another one."""
    assert measured.unit is not None
    assert measured.number is not None
    assert plain.number is not None
    if plain.kind != "number":
        return "unknown"
    if measured.number == plain.number:
        return "right"
    told = measured.number * measured.unit.factor
    meant = (plain.number * factor for factor in others(measured.unit.dimension))
    return "unknown" if any(_about(told, each) for each in meant) else "wrong"


def _about(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) <= ROUNDED * max(abs(one), abs(other))


def _words(a: str, b: str) -> Outcome:
    """Words that exclude each other are different answers; of other words nobody knows what they mean."""
    if len(a) == len(b) == 1 and not {a, b} & _CONSTANTS:
        return "wrong"
    apart = any(a in names and b in names for names in _APART)
    return "wrong" if apart else "unknown"


def _different_kinds(a: Value, b: Value) -> Outcome:
    """A number and plain words differ, as do a number and several numbers; else nobody knows."""
    kinds = {a.kind, b.kind}
    if kinds == {"time"}:
        return "wrong"
    if kinds <= {"number", "percent", "words"}:
        words = a.text if a.kind == "words" else b.text
        counted = a if b.kind == "words" else b
        if words in _NOTHING and counted.number == 0:
            return "unknown"
        return "wrong" if _says_no_number(words) else "unknown"
    one, several = (a, b) if b.items else (b, a)
    if one.number is not None and several.kind in ("group", "list") and several.items:
        if len(several.items) == 1:
            return compare(one, several.items[0])
        return "wrong" if _all_numbers(several.items) else "unknown"
    return "unknown"


def _says_no_number(words: str) -> bool:
    parts = words.split()
    if _NUMBER_WORDS.search(words) or any(part in _CONSTANTS for part in parts):
        return False
    return any(len(part) > 3 for part in parts) or words in ("true", "false")


# ── Several values ───────────────────────────────────────────────────────────────────────────


def _collections(a: Value, b: Value, decide: Decide) -> Outcome:
    if a.kind == b.kind == "matrix" or (_is_ordered(a) and _is_ordered(b)):
        return _bracketed(a, b, _in_order(a.items, b.items, decide))
    if a.kind != b.kind and {a.kind, b.kind} & {"matrix", "union"}:
        return "unknown"
    found = _in_any_order(a, b, decide)
    if found == "right" and _is_ordered(a) != _is_ordered(b):
        return "right" if _in_order(a.items, b.items, decide) == "right" else "unknown"
    return found


def _is_ordered(value: Value) -> bool:
    return value.kind == "group" and value.brackets != "{}"


def _bracketed(a: Value, b: Value, found: Outcome) -> Outcome:
    """Half-open and infinite intervals are told apart by their brackets; [1,2] may be a tuple."""
    if found != "right" or a.brackets == b.brackets:
        return found
    interval = any(v.brackets in ("(]", "[)") or r"\infty" in v.text for v in (a, b))
    return "wrong" if interval else "unknown"


def _in_order(a: tuple[Value, ...], b: tuple[Value, ...], decide: Decide) -> Outcome:
    if len(a) != len(b):
        return "wrong"
    return _all(compare(x, y, decide) for x, y in zip(a, b, strict=True))


def _all(found: Iterable[Outcome]) -> Outcome:
    outcomes = set(found)
    if "wrong" in outcomes:
        return "wrong"
    return "unknown" if "unknown" in outcomes else "right"


def _in_any_order(a: Value, b: Value, decide: Decide) -> Outcome:
    """Sets forget repetition, lists count it."""
    some, others = ([(key_of(item), item) for item in value.items] for value in (a, b))
    if "{}" in (a.brackets, b.brackets):
        some, others = list(dict(some).items()), list(dict(others).items())
    if sorted(key for key, _ in some) == sorted(key for key, _ in others):
        return "right"
    if _all_numbers(a.items + b.items):
        return "wrong"
    return _matched([item for _, item in some], [item for _, item in others], decide)


def _matched(some: list[Value], others: list[Value], decide: Decide) -> Outcome:
    """``right`` when each member has a partner of its own; else nobody knows."""
    if len(some) != len(others) or len(some) > MATCHED:
        return "unknown"
    free = list(others)
    for item in some:
        partner = next((o for o in free if compare(item, o, decide) == "right"), None)
        if partner is None:
            return "unknown"
        free.remove(partner)
    return "right"


def key_of(value: Value) -> str:
    """A text that only values have in common that say the same."""
    if value.number is not None:
        if value.unit is None:
            return f"{value.kind}:{value.number}"
        return f"{value.unit.dimension}:{value.number * value.unit.factor}"
    if value.items:
        keys = [key_of(item) for item in value.items]
        if not _is_ordered(value) and value.kind != "matrix":
            keys = sorted({*keys} if value.brackets == "{}" else keys)
        return f"{value.kind}{value.brackets}:{'|'.join(keys)}"
    return value.text


def _all_numbers(items: Iterable[Value]) -> bool:
    return all(item.kind == "number" for item in items)
