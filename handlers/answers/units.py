"""Units of measurement: how much of what, so that 90 minutes are an hour and a half.

A small table and no more: what problems are about. Months and years have no length in days, tons and gallons
none that is everywhere the same, and degrees of two scales have no ratio: each is of a kind of its own, and
kinds that differ are not compared.

Source: the SI brochure (9th edition); the international yard and pound (1959).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from math import prod
from types import MappingProxyType
from typing import Final, TypeAlias

UNIT_CHARS = 60
"""No unit is spelt longer."""

Dimension: TypeAlias = tuple[tuple[str, int], ...]
"""Powers of kinds, sorted: ``(("length", 1), ("time", -1))`` is a speed."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is measured, and how many of the kind's base units one of these is.

    ``scale`` is the part of the factor that is a mere count: a million, of a million dollars.
    """

    dimension: Dimension
    factor: Fraction
    scale: Fraction = Fraction(1)


_FORCE: Dimension = (("length", 1), ("mass", 1), ("time", -2))
_ENERGY: Dimension = (("length", 2), ("mass", 1), ("time", -2))
_POWER: Dimension = (("length", 2), ("mass", 1), ("time", -3))
_PRESSURE: Dimension = (("length", -1), ("mass", 1), ("time", -2))
_SPEED: Dimension = (("length", 1), ("time", -1))


def _kind(name: str) -> Dimension:
    return ((name, 1),)


COUNT: Final = _kind("count")
"""Of numbers that are told in thousands or dozens, whatever of."""
SCALES: Final[Mapping[str, int]] = {
    "dozen": 12, "hundred": 100, "thousand": 1_000, "lakh": 10**5, "crore": 10**7, "million": 10**6, "billion": 10**9,
    "trillion": 10**12,
}  # fmt: skip

# dimension, factor to metres, grams, seconds …; symbols (case counts); words
_TABLE: tuple[tuple[Dimension, str, str, str], ...] = (
    (_kind("time"), "1", "s", "sec second"),
    (_kind("time"), "60", "min", "min minute"),
    (_kind("time"), "3600", "h hr", "hr hour"),
    (_kind("time"), "86400", "d", "day"),
    (_kind("time"), "604800", "wk", "week"),
    (_kind("month"), "1", "", "month"),
    (_kind("month"), "12", "yr", "yr year"),
    (_kind("month"), "120", "", "decade"),
    (_kind("month"), "1200", "", "century centurie"),
    (_kind("length"), "1", "m", "metre meter"),
    (_kind("length"), "0.0254", "in", "inch inche"),
    (_kind("length"), "0.3048", "ft", "ft foot feet"),
    (_kind("length"), "0.9144", "yd", "yd yard"),
    (_kind("length"), "1609.344", "mi", "mile"),
    ((("length", 2),), "10000", "ha", "hectare"),
    ((("length", 2),), "4046.8564224", "", "acre"),
    ((("length", 3),), "0.001", "l L", "litre liter"),
    (_kind("gallon"), "1", "gal", "gallon"),
    (_kind("gallon"), "1/4", "qt", "quart"),
    (_kind("gallon"), "1/8", "pt", "pint"),
    (_kind("mass"), "1", "g", "gram gramme"),
    (_kind("mass"), "1000000", "t", "tonne"),
    (_kind("mass"), "453.59237", "lb lbs", "lb pound"),
    (_kind("mass"), "28.349523125", "oz", "oz ounce"),
    (_SPEED, "1609.344/3600", "mph", "mph"),
    (_SPEED, "1000/3600", "kmh kph", "kmh kph"),
    (_SPEED, "1852/3600", "kn", "knot"),
    (_FORCE, "1000", "N", "newton"),
    (_ENERGY, "1000", "J", "joule"),
    (_ENERGY, "4184", "cal", "calorie"),
    (_ENERGY, "3600000", "Wh", ""),
    (_POWER, "1000", "W", "watt"),
    (_PRESSURE, "1000", "Pa", "pascal"),
    (_PRESSURE, "100000000", "bar", "bar"),
    (_PRESSURE, "101325000", "atm", "atm atmosphere"),
    (_kind("current"), "1", "A", "amp ampere"),
    (_kind("voltage"), "1", "V", "volt"),
    (_kind("resistance"), "1", "Ω", "ohm"),
    (((("time", -1)),), "1", "Hz", "hertz"),
    (_kind("amount"), "1", "mol", "mole"),
    (_kind("kelvin"), "1", "K", "kelvin"),
    (_kind("celsius"), "1", "C", "celsius"),
    (_kind("fahrenheit"), "1", "F", "fahrenheit"),
    (_kind("degree"), "1", "deg", "degree"),
    (_kind("radian"), "1", "rad", "radian"),
    (_kind("dollar"), "1", "USD", "dollar"),
    (_kind("dollar"), "1/100", "", "cent"),
    (_kind("euro"), "1", "EUR", "euro"),
)
_PREFIXES: Mapping[str, str] = {
    "p": "1/1000000000000", "n": "1/1000000000", "μ": "1/1000000", "µ": "1/1000000", "u": "1/1000000",
    "m": "1/1000", "c": "1/100", "d": "1/10", "k": "1000", "M": "1000000", "G": "1000000000",
}  # fmt: skip
_LONG_PREFIXES: Mapping[str, str] = {
    "nano": "n", "micro": "u", "milli": "m", "centi": "c", "deci": "d", "kilo": "k", "mega": "M",
    "giga": "G",
}  # fmt: skip
# Only these take prefixes. A table of all combinations would read "min" as milli-inches and "pt"
# as pico-tonnes.
_PREFIXED = frozenset(
    ["m", "g", "s", "l", "L", "N", "J", "cal", "Wh", "W", "Pa", "A", "V", "Ω", "Hz", "mol", "bar"]
)
_LONG_PREFIXED = frozenset((
    "second", "metre", "meter", "gram", "gramme", "litre", "liter", "newton", "joule", "calorie",
    "watt", "pascal", "amp", "ampere", "volt", "ohm", "hertz", "mole",
))  # fmt: skip


def _exact(factor: str) -> Fraction:
    above, _, below = factor.partition("/")
    return Fraction(above) / Fraction(below or 1)


def _names() -> tuple[dict[str, Unit], dict[str, Unit]]:
    symbols: dict[str, Unit] = {}
    words: dict[str, Unit] = {}
    for dimension, factor, signs, spelt in _TABLE:
        told = Unit(dimension, _exact(factor))
        for symbol in signs.split():
            symbols.setdefault(symbol, told)
            for prefix, times in _PREFIXES.items() if symbol in _PREFIXED else ():
                symbols.setdefault(prefix + symbol, Unit(dimension, told.factor * _exact(times)))
        for word in spelt.split():
            words[word] = told
            for prefix, sign in _LONG_PREFIXES.items() if word in _LONG_PREFIXED else ():
                more = told.factor * _exact(_PREFIXES[sign])
                words[prefix + word] = Unit(dimension, more)
    # A unit's own symbol comes before one that is made with a prefix: min is no milli-inch.
    symbols.update((s, Unit(d, _exact(f))) for d, f, signs, _ in _TABLE for s in signs.split())
    return symbols, words


_symbols, _words = _names()
SYMBOLS: Final = MappingProxyType(_symbols)
"""Units by symbol; case counts."""
WORDS: Final = MappingProxyType(_words)
"""Units by word, in lower case and the singular."""

_POWER_OF = re.compile(r"([^\W\d_]{1,20})(?:\^?\{?\s?(-?\d)\s?\}?)?")
_PER = re.compile(r"\s{1,4}(?:per|a|an|each)\s{1,4}|\s{0,4}/\s{0,4}", re.IGNORECASE)
NUMBER_WORDS: Final = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|"
    r"forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|[mbtr]{1,2}illion|half|third|quarter|dozen|"
    r"once|twice)|\w{3}teen\b"
)
"""A word of a number, however it goes on."""
_SCALED = re.compile(rf"({'|'.join(SCALES)})s?(?:\s+(?:of\s+)?(?=[^\W\d])|$)", re.IGNORECASE)
_THINGS = re.compile(r"(?:[^\W\d_]{3,40})?")
LIMITING: Final = frozenset((
    *("or", "not", "less", "more", "fewer", "than", "most", "least", "maximum", "minimum", "max", "min", "below"),
    *("above", "under", "over", "short", "off", "too", "wrong", "false", "incorrect", "impossible", "cannot", "unless"),
    *("bc", "bce", "minus", "plus", "squared", "cubed", "factorial", "choose", "mod", "loss", "ago"),
))  # fmt: skip
"""Words behind a number that say another thing than what it is a number of."""
_TIMES = re.compile(r"(?:[\s*.·]|-(?=[A-Za-z])|\\cdot){1,8}")
_RAISED: Mapping[str, int] = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}


def unit(text: str) -> Unit | None:
    """The unit that a text spells, such as ``km/h``, ``metres per second`` or ``cm^2``; else ``None``.

    ``million dollars`` is one; ``dozen eggs`` and ``million`` are a number of whatever it is.
    """
    text = text.strip().removesuffix(".")
    if not text or len(text) > UNIT_CHARS:
        return None
    scale, things = scaled(text)
    told = _of_table(things)
    if told is not None or scale == 1:
        return told and Unit(told.dimension, told.factor * scale, scale)
    # Two hundred and five are no two hundred of something, nor are two hundred x, or two million or more.
    if not _THINGS.fullmatch(things) or things.casefold() in LIMITING | {"percent"}:
        return None
    return None if NUMBER_WORDS.search(things.casefold()) else Unit(COUNT, scale, scale)


def scaled(text: str) -> tuple[Fraction, str]:
    """What the words for counts are worth that a text begins with, and what it says behind them."""
    scale = Fraction(1)
    while found := _SCALED.match(text):
        scale, text = scale * SCALES[found[1].casefold()], text[found.end() :]
    return scale, text


def _of_table(text: str) -> Unit | None:
    if not text:
        return None
    powers: Counter[str] = Counter()
    factor = Fraction(1)
    for at, part in enumerate(_PER.split(text)):
        names = [name for name in _TIMES.split(part) if name]
        if not names:
            return None
        raised = 1
        for index, name in enumerate(names):
            word = name.casefold()
            behind = names[index + 1].casefold() if index + 1 < len(names) else ""
            # "Square metre" raises what follows, "metre squared" what stands before it.
            if word in _RAISED and (behind or name.endswith("ed")):
                raised = _RAISED[word]
                continue
            found = _POWER_OF.fullmatch(name)
            told = named(found[1]) if found else None
            if found is None or told is None:
                return None
            own = _RAISED.get(behind, raised) if behind.endswith("ed") else raised
            power = int(found[2] or 1) * own
            # Whatever stands behind a "per" divides, however many of them there are.
            power = -power if at else power
            raised = 1
            factor *= _raised(told.factor, power)
            for kind, exponent in told.dimension:
                powers[kind] += exponent * power
    dimension = tuple(sorted((kind, power) for kind, power in powers.items() if power))
    return Unit(dimension, factor) if dimension else None


def _raised(factor: Fraction, power: int) -> Fraction:
    """A whole power, exact: Python's own power of a fraction would become a float for a negative one."""
    found = prod(repeat(factor, abs(power)), start=Fraction(1))
    return found if power >= 0 else 1 / found


def named(name: str) -> Unit | None:
    """One unit by its symbol or word, in the singular or plural."""
    word = name.casefold()
    return (
        SYMBOLS.get(name) or WORDS.get(word) or WORDS.get(word.removesuffix("s")) if name else None
    )


def others(dimension: Dimension) -> Iterator[Fraction]:
    """The factors of the units that a measure of this kind is commonly told in."""
    seen = {
        each.factor for each in (*SYMBOLS.values(), *WORDS.values()) if each.dimension == dimension
    }
    # Metres per second has no name in the table, and is what most problems mean by a bare speed.
    if dimension == _SPEED:
        seen.add(Fraction(1))
    if dimension in ((("length", 2),), (("length", 3),)):
        power = dimension[0][1]
        seen |= {_raised(factor, power) for factor in others(_kind("length"))}
    yield from seen
