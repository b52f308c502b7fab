r"""Formulas as models write them, read into sympy by a grammar of our own, without ``eval``.

Numbers, one-letter symbols, + − · / ^ !, ``\frac``, ``\sqrt``, functions by name, brackets,
products of neighbours, mixed numbers. ``e``, ``i`` and ``\pi`` are the constants. What else occurs is refused,
and so is what stands side by side and is no product: ``lnx``, ``1h30``, ``1.2 x 10^5``, ``1 2``.

sympy is imported when the first formula is read: only the worker of ``streams.answering.grading.grader`` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from handlers.answers.normalise import canonical

FORMULA_CHARS = 600
DEPTH = 100
"""Brackets, fractions, roots and signs within each other."""
POWER_BITS = 100_000
"""No power of two numbers is computed that has more bits; a tower of tens is nothing that anybody can compare."""
FACTORIAL = 5_000
"""No factorial of a larger number is computed."""
_TOKEN = re.compile(r"(\d+(?:\.\d+)?|\.\d+)|\\([A-Za-z]+)|([A-Za-z])|(\*\*|[-+*/^!(){}\[\]|])")
_FUNCTIONS = (
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "log", "ln", "exp",
)  # fmt: skip
NAMES = ("sqrt", "pi", *_FUNCTIONS)
"""What is no product of its letters, though no backslash stands before it."""
_SCIENTIFIC = re.compile(r"\de[-+]?\d")
"""A number whose exponent the exact rules refused; ``e`` is none of Euler's here."""
_NAMES = re.compile(rf"(?<![A-Za-z\\])({'|'.join(NAMES)})(?![A-Za-z])")
_MIXED = re.compile(r"(?<![\w.^/})\]])(\d+)(?: (\d+)/(\d+)|\\frac\{(\d+)\}\{(\d+)\})(?![\d.^!])")
"""A whole number with a fraction beside it, which is their sum in a formula as it is alone."""
_NO_PRODUCT = re.compile(
    rf"(?<![A-Za-z\\])(?:(?=[A-Za-z]*(?:{'|'.join(NAMES)}))[A-Za-z]{{3}}|[A-Za-z]+\d+(?!\d|\^\{{?[^{{}}]*[A-Za-z]))"
    r"|\d [\d.]|\.\d+\.|\d[xX]10\^"
)
"""Letters with a name among them or a number behind them, and numbers side by side."""
_SAME = {"cdot": "*", "times": "*", "div": "/", "lbrace": "(", "rbrace": ")"}
_SYMPY_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "ln": "log"}
_CLOSES = {"(": ")", "{": "}", "[": "]", "|": "|"}


class NotAlgebra(ValueError):
    """The text is no formula of this grammar."""


@cache
def _sympy() -> Any:
    return import_module("sympy")


def algebra(text: str) -> Any:
    """The sympy expression of a formula; ``NotAlgebra`` when it is none."""
    # The answer is a model's, and sympy may take for ever over a long one.
    if len(text) > FORMULA_CHARS:
        raise NotAlgebra("too long")
    if _SCIENTIFIC.search(text.casefold()):
        raise NotAlgebra("a number out of range")
    spelt = canonical(text).replace(r"\{", "(").replace(r"\}", ")")
    spelt = _NAMES.sub(r"\\\1 ", _MIXED.sub(_mixed, spelt))
    # Read as a product it would differ from what is meant, or equal what is not.
    if odd := _NO_PRODUCT.search(spelt):
        raise NotAlgebra(f"{odd[0]!r} is no product")
    tokens: list[str] = []
    at = 0
    for token in _TOKEN.finditer(spelt):
        if spelt[at : token.start()].strip():
            break
        name = f"\\{token[2]}" if token[2] else token[0]
        tokens.append("^" if name == "**" else _SAME.get(token[2] or "", name))
        at = token.end()
    if spelt[at:].strip():
        raise NotAlgebra(f"cannot read {spelt[at : at + 12]!r}")
    reader = _Reader(tokens)
    found = reader.total()
    if reader.here():
        raise NotAlgebra(f"unexpected {reader.here()!r}")
    return found


def _mixed(found: re.Match[str]) -> str:
    """Their sum; an improper fraction beside a number is a factor."""
    whole, above, below = filter(None, found.groups())
    return f"({whole}+{above}/{below})" if int(above) < int(below) else found[0]


@dataclass(slots=True)
class _Reader:
    """Recursive descent from sums down to atoms."""

    tokens: list[str]
    at: int = 0
    depth: int = 0

    def here(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.here()
        if not token or (wanted and token != wanted):
            raise NotAlgebra(f"{wanted or 'more'} expected, not {token or 'the end'!r}")
        self.at += 1
        return token

    def total(self) -> Any:
        value = self.product()
        while self.here() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            # By sympy's own operators, never by ``eval``: the text is a stranger's.
            value = value + sign * self.product()
        return value

    def product(self) -> Any:
        value = self.signed()
        while self.here() and self.here() not in ("+", "-", ")", "}", "]", "|"):
            sign = self.take() if self.here() in ("*", "/") else "*"
            value = value / self.signed() if sign == "/" else value * self.signed()
        return value

    def signed(self) -> Any:
        # Every nesting comes by here, so that one count bounds them all: Python's own stack would
        # end with an error that looks like a defect of ours.
        self.depth += 1
        if self.depth > DEPTH:
            raise NotAlgebra(f"nested deeper than {DEPTH}")
        sign = self.take() if self.here() in ("+", "-") else ""
        value = self.signed() if sign else self.power()
        self.depth -= 1
        return -value if sign == "-" else value

    def power(self) -> Any:
        value = self.atom()
        while self.here() == "!":
            self.take()
            if value.is_number and not (value.is_real and abs(value) <= FACTORIAL):
                raise NotAlgebra("a factorial out of range")
            value = _sympy().factorial(value)
        if self.here() == "^":
            self.take()
            exponent = self.signed()
            # Before it is computed, for sympy computes a power of numbers at once, however large. A power
            # of a symbol stays as it is written.
            if value.is_Rational and exponent.is_Rational and value not in (-1, 0, 1):
                bits = max(abs(value.p), value.q).bit_length()
                if abs(exponent) * bits > POWER_BITS:
                    raise NotAlgebra("a power out of range")
            value = value**exponent
        return value

    def atom(self) -> Any:
        token = self.take()
        if token in _CLOSES:
            return self.enclosed(token)
        if token[0] == "\\":
            return self.named(token[1:])
        if token[0] in "0123456789.":
            return _sympy().Rational(token)
        if token in ("e", "i"):
            return _sympy().E if token == "e" else _sympy().I
        if token.isalpha():
            return _sympy().Symbol(token)
        raise NotAlgebra(f"unexpected {token!r}")

    def enclosed(self, opens: str) -> Any:
        value = self.total()
        self.take(_CLOSES[opens])
        return _sympy().Abs(value) if opens == "|" else value

    def named(self, name: str) -> Any:
        if name == "pi":
            return _sympy().pi
        if name == "frac":
            above = self.braced()
            return above / self.braced()
        if name == "sqrt":
            return self.root()
        if name in _FUNCTIONS:
            return self.applied(getattr(_sympy(), _SYMPY_NAMES.get(name, name)))
        raise NotAlgebra(f"\\{name} is not known")

    def applied(self, function: Any) -> Any:
        """``sin^2 x`` and ``sin(x)^2`` are squares of the sine."""
        exponent: Any = 1
        if self.here() == "^":
            self.take()
            exponent = self.atom()
        argument = self.atom() if self.here() in ("(", "{") else self.power()
        return function(argument) ** exponent

    def braced(self) -> Any:
        self.take("{")
        return self.enclosed("{")

    def root(self) -> Any:
        degree: Any = 2
        if self.here() == "[":
            self.take()
            degree = self.enclosed("[")
        return self.power() ** (_sympy().Integer(1) / degree)
