"""Exact equality of two answers: right, wrong, or unknown where exact rules cannot decide.

Symmetric: ``equal(a, b) == equal(b, a)``. ``wrong`` is said only where both answers are understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

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

MATCHED = 12
"""Up to so many members of two sets are compared pair by pair."""


def _nobody(a: Value, b: Value) -> Outcome:
    return "unknown"


def equal(answer: str, reference: str) -> Outcome:
    """Do two answers say the same?"""
    return compare(read(answer), read(reference))


def compare(a: Value, b: Value, decide: Decide = _nobody) -> Outcome:
    """Do two values say the same? Formulas are left to ``decide``, alone or inside collections."""
    if a.text == b.text and a.brackets == b.brackets:
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
    ratios = [1] if a.kind == b.kind else [1, 100]
    percent, plain = (a.number, b.number) if a.kind == "percent" else (b.number, a.number)
    return "right" if any(percent == plain * ratio for ratio in ratios) else "wrong"


def _words(a: str, b: str) -> Outcome:
    """Other words are another answer, unless one text contains the other's words."""
    some, others = set(a.split()), set(b.split())
    if some <= others or others <= some or sorted(a) == sorted(b):
        return "unknown"
    if len(some | others) == 2 and (_is_formula(a) or _is_formula(b)):
        return "unknown"
    return "wrong"


def _is_formula(word: str) -> bool:
    return word in _CONSTANTS


def _different_kinds(a: Value, b: Value) -> Outcome:
    """A number and plain words differ, as do a number and several numbers; else nobody knows."""
    kinds = {a.kind, b.kind}
    if kinds <= {"number", "percent", "words"}:
        words = a.text if a.kind == "words" else b.text
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
    return any(len(part) > 3 for part in parts) or words in ("yes", "no", "true")


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
    some, others = ([(_key(item), item) for item in value.items] for value in (a, b))
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


def _key(value: Value) -> str:
    if value.number is not None:
        return f"{value.kind}:{value.number}"
    if value.items:
        return f"{value.brackets}:{'|'.join(map(_key, value.items))}"
    return value.text


def _all_numbers(items: Iterable[Value]) -> bool:
    return all(item.kind == "number" for item in items)
