"""Numbers: what a model writes for one, with its unit or a word for its scale, and the one way to write it."""

from __future__ import annotations

import re
from fractions import Fraction

from handlers.answers.normalise import plain_fractions
from handlers.answers.plain import plain_text
from handlers.answers.units import COUNT, SCALES, Unit, scaled, unit
from handlers.answers.value import Value, read
from schemas.answer_type import AnswerType, WrongForm

LINE = 1_000
"""Nothing is looked for in a longer line than this; it is read as it stands."""

_HEAD = re.compile(
    r"([-+−]?\s?\d{1,40}\s{1,3}\d{1,40}\s?/\s?\d{1,40}|"
    r"[-+−]?\s?(?:\d{1,3}(?:[,  ]\d{3})+(?!\d)|\d{1,400})?(?:\.\d{1,400})?"
    r"(?:\s{0,2}/\s{0,2}\d{1,400})?(?:\s{0,2}(?:e|(?:×|x|\*|·)\s{0,2}10\s{0,2}\^?)\s{0,2}\(?[-+−]?\d{1,4}\)?)?)"
    r"(.*)",
    re.DOTALL | re.IGNORECASE,
)
_NAMED = re.compile(r"[^\W\d]\w{0,20}\s{0,4}=\s{0,4}(?=\S)")
_ABOUT = re.compile(
    r"(?:approximately|approx\.?|about|around|roughly|nearly|≈|~)\s{0,4}", re.IGNORECASE
)
_MINUS = re.compile(r"^minus\s{1,4}(?=[\d.])", re.IGNORECASE)
_COMMA = re.compile(r"^([-+−]?\s?(?:US\$|[$€£])?\s?0),(?=\d{1,400}(?![\d.,]))")
"""A decimal comma behind a nought: no group of thousands begins with one."""
_SCALE_SIGNS = frozenset({"k", "M", "B", "‰"})
"""What may be a scale behind a number, and may be something else."""
_SCALE_WORDS = frozenset({"bn", "mn", "mln", "tn", "mio", "mrd", "mil", "mill"})
"""Those that are spelt in any case."""
_MONEY = re.compile(r"[-+−]?[\d.,]{1,400}\s?(?:[kKmMbB]|MM|bn|mn|tn)\s(?:USD|EUR|GBP)")
"""Thousands or millions of money: nobody means kelvins or metres of dollars."""
_CODE = re.compile(r"^([A-Z]{3})\s{0,4}(\d[\d,. ]{0,40})$")
"""A currency before its number, as in USD 9.50."""
_SIGNS = {"US$": "USD", "$": "USD", "€": "EUR", "£": "GBP"}


def number_form(said: AnswerType, answer: str) -> str:
    """A number in the unit that is asked for. Raises ``WrongForm`` for what is none, or cannot be converted."""
    value = _quantity(answer)
    if value.number is None:
        raise WrongForm("is no number")
    exact, mark = value.number, "%" if value.kind == "percent" else ""
    if said.unit is not None:
        if value.kind == "percent":
            raise WrongForm(f"is a percentage, and a number in {said.unit} is asked for")
        if value.kind == "words" and value.text.casefold() != said.unit.casefold():
            raise WrongForm(f"is in a unit that nobody knows here; give it in {said.unit}")
        # A number without a unit was given in the one that was asked for: the prompt names it.
        asked, mark = unit(said.unit), f" {said.unit}"
        if value.unit is not None and asked is not None:
            if value.unit.dimension != asked.dimension:
                raise WrongForm(f"is in another kind of unit than {said.unit}")
            exact = value.number * value.unit.factor / asked.factor
    try:
        return f"{_spelled(exact)}{mark}"
    except ValueError:  # Python writes no number of more than 4,300 digits
        raise WrongForm("is a number that is too long") from None


def _quantity(answer: str) -> Value:
    """What a number is, of what: a measure, a percentage, or of kind ``words`` beside a word that is no known unit."""
    bare = plain_text(answer.strip().strip("*_`\"'").strip())
    bare = bare.strip().strip("*_`\"'").rstrip(".").strip()
    if len(bare) >= LINE:
        return read(bare)
    # What people write around a number goes first ("x = about 5"); then a sign or code of a
    # currency goes behind it, where units are looked for.
    bare = _ABOUT.sub("", _NAMED.sub("", plain_fractions(bare, "%d/%d"), count=1), count=1).strip()
    bare = _MINUS.sub("-", _CODE.sub(r"\2 \1", bare))
    # Before brackets go: (0,5) is no number.
    bare = _COMMA.sub(r"\1.", bare)
    if bare.startswith("(") and bare.endswith(")") and bare.count("(") == 1:
        bare = bare[1:-1].strip()
    for sign, name in _SIGNS.items():
        if sign in bare[:4] or bare.endswith(sign):
            bare = f"{bare.replace(sign, '', 1).strip()} {name}"
            break
    if _MONEY.fullmatch(bare):
        raise WrongForm("ends in what may be a scale; write the number in full")
    # Whatever the exact rules read is taken from them, so that a form and a grade agree on it.
    whole = read(bare)
    if whole.number is not None and whole.unit is not None and whole.unit.scale == 1:
        return whole
    found = _HEAD.fullmatch(bare)
    # Digits have to stand first: in "the first 3 are 5" nobody could say which number is meant.
    if found is None or not any(map(str.isdigit, found[1])):
        # "Two thousand yen" are a count to the exact rules, and here nobody knows of what.
        counted = (
            whole.unit is None or whole.unit.dimension != COUNT or scaled(bare.split()[-1])[0] != 1
        )
        is_number = whole.kind in ("number", "percent") and counted
        return _in_ones(whole) if is_number else Value("formula", bare)
    head, behind = read(found[1].strip()), found[2].strip()
    if head.number is None:
        return whole
    return _with_words(head.number, behind)


def _in_ones(value: Value) -> Value:
    """The same, counted in ones: two million dollars are 2000000 dollars."""
    if value.number is None or value.unit is None:
        return value
    of = value.unit
    rest = None if of.dimension == COUNT else Unit(of.dimension, of.factor / of.scale)
    return Value("number", value.text, value.count, unit=rest)


def _with_words(number: Fraction, behind: str) -> Value:
    first, _, rest = behind.partition(" ")
    if first in _SCALE_SIGNS or first.casefold() in _SCALE_WORDS:
        raise WrongForm(f"ends in {first}, which may be a scale; write the number in full")
    scale = SCALES.get(first.casefold().rstrip("s"))
    if scale is not None:
        return _with_words(number * scale, rest.strip())
    if behind in ("%", r"\%") or behind.casefold() in ("percent", "per cent"):
        return Value("percent", behind, number)
    if not behind:
        return Value("number", "", number)
    if any(map(str.isdigit, behind)):
        return Value("formula", behind)
    return Value("number" if (told := unit(behind)) else "words", behind, number, unit=told)


def _spelled(exact: Fraction) -> str:
    """A number as people write it: whole, with its decimals where they end soon, else as a ratio."""
    if exact.denominator == 1:
        return str(exact.numerator)
    scaled, places = exact, 0
    while places < 12 and scaled.denominator != 1:
        places += 1
        scaled = exact * 10**places
    if scaled.denominator != 1:
        return f"{exact.numerator}/{exact.denominator}"
    digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
    return f"{'-' if exact < 0 else ''}{digits[:-places]}.{digits[-places:]}"
