"""Exact arithmetic over rationals, + − × / and brackets: written by models, read without ``eval``.

The grammar is the Game of 24's: whole numbers, four operations, any brackets, a product where two
factors stand side by side. It reads plain text, the signs × ÷ − · and what LaTeX writes for them.

Source: Tree of Thoughts (Yao et al. 2023), section 4.1, and its ``game24.py``, which asks sympy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

EXPRESSION_CHARS = 400
"""Longer texts are no expression over four numbers; the bound also keeps the recursion shallow."""

# Models write what they have seen typeset. What is read as an operator here is a change of what
# ``game24@2`` grades, so the table only grows with a new version of that grader.
_SPELLINGS = str.maketrans("×✕✖·∙⋅∗÷∕⁄−–—[]{}（）", "*******///---()()()")
_LATEX = (
    (re.compile(r"\\(?:times|cdot|ast)(?![A-Za-z])"), "*"),
    (re.compile(r"\\div(?![A-Za-z])"), "/"),
    (re.compile(r"\\(?:left|right|big|Big|,|;|!|\s|displaystyle)"), " "),
    (re.compile(r"(?<=[\d)\s])[xX](?=[\d(\s])"), "*"),
)
_FRACTION = re.compile(r"\\[dt]?frac\s{0,4}\{([^{}]{1,200})\}\s{0,4}\{([^{}]{1,200})\}")
# A fraction may hold others. Each pass resolves one level, and a bound on passes keeps it linear.
_NESTED = 4
DEPTH = 50
"""Brackets and signs within each other."""
_TOKEN = re.compile(r"\s*(?:(\d{1,9})(?![\d.,]\d)|([-+*/()]))")


class NotArithmetic(ValueError):
    """The text is not an expression of this grammar, or divides by zero."""


class TooDeep(NotArithmetic):
    """The text may be an expression, but nobody would nest one so."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The exact value of an expression and the numbers that it uses, in the order written."""

    value: Fraction
    numbers: tuple[int, ...]


def plain(text: str) -> str:
    """The expression in plain signs: LaTeX and typographic operators become ``+ - * / ( )``."""
    for pattern, sign in _LATEX:
        text = pattern.sub(sign, text)
    for _ in range(_NESTED):
        text = _FRACTION.sub(r"((\1)/(\2))", text)
    return text.translate(_SPELLINGS)


def evaluate(text: str) -> Evaluated:
    """Value and numbers of an expression; ``NotArithmetic`` when it is none."""
    if len(text) > EXPRESSION_CHARS:
        raise NotArithmetic(f"longer than {EXPRESSION_CHARS} characters")
    # Each token begins where the last one ended, so a text that is no expression is refused at its
    # first bad sign and never searched.
    spelt = plain(text)
    tokens: list[str] = []
    at, end = 0, len(spelt.rstrip())
    while at < end:
        found = _TOKEN.match(spelt, at, end)
        if found is None:
            raise NotArithmetic(f"cannot read {spelt[at : at + 12]!r}")
        tokens.append(found[1] or found[2])
        at = found.end()
    reader = _Reader(tokens)
    value = reader.total()
    # What is left over is an error: "24 (" must not be graded by its readable beginning.
    if reader.here() is not None:
        raise NotArithmetic(f"unexpected {reader.here()!r}")
    return Evaluated(value, tuple(reader.numbers))


@dataclass(slots=True)
class _Reader:
    """Recursive descent: total = product {± product}; product = factor {×÷ factor}."""

    tokens: list[str]
    at: int = 0
    numbers: list[int] = field(default_factory=list[int])
    depth: int = 0

    def here(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self) -> str:
        token = self.here()
        if token is None:
            raise NotArithmetic("ends too early")
        self.at += 1
        return token

    def total(self) -> Fraction:
        value = self.product()
        while self.here() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            value += sign * self.product()
        return value

    def product(self) -> Fraction:
        value = self.factor()
        while (sign := self.here()) in ("*", "/", "("):
            if sign != "(":
                self.take()
            factor = self.factor()
            if sign == "/" and not factor:
                raise NotArithmetic("divides by zero")
            value = value / factor if sign == "/" else value * factor
        return value

    def factor(self) -> Fraction:
        # The depth is counted by hand, because Python's own limit raises ``RecursionError``, which
        # the driver would take for a defect of the policy.
        self.depth += 1
        if self.depth > DEPTH:
            raise TooDeep(f"nested deeper than {DEPTH}")
        value = self.atom()
        self.depth -= 1
        return value

    def atom(self) -> Fraction:
        token = self.take()
        if token in ("-", "+"):
            return -self.factor() if token == "-" else self.factor()
        if token == "(":
            value = self.total()
            if self.take() != ")":
                raise NotArithmetic("a bracket is not closed")
            return value
        if not token.isdecimal():
            raise NotArithmetic(f"unexpected {token!r}")
        # The numbers are kept in the order written: a puzzle asks which were used and how often.
        self.numbers.append(int(token))
        return Fraction(int(token))
