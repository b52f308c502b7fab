r"""Answers in one spelling: LaTeX, units and separators that do not change what an answer says.

``canonical`` leaves a text without spaces (words keep one between them): ``\dfrac 59`` and
``\frac{5}{9}`` become one, ``\$32,\!348`` becomes ``32348``, ``864 \mbox{ inches}^2`` ``864``. Of words, case,
accents, articles and the dots of initials go: ``The P. B. Shelley café`` is ``pb shelley cafe``.

Source: MATH (Hendrycks et al. 2021), the string rules of its ``math_equivalence.py``, told anew.
"""

from __future__ import annotations

import re
import unicodedata

from handlers.answers.units import LIMITING, scaled

ANSWER_CHARS = 4_000
"""Longer texts are compared as they stand."""

# Each of these tables belongs to a version of the exact grader: one more rule makes answers equal
# that were not, and then ``exact`` needs a new version.
_SIGNS = str.maketrans({
    "−": "-", "–": "-", "×": r"\times ", "÷": "/", "·": r"\cdot ", "π": r"\pi ", "°": r"^\circ",
    "∞": r"\infty ", "∪": r"\cup ", "∈": r"\in ", "±": r"\pm ", "√": r"\sqrt", "\u00a0": " ",
    "’": "'", "“": '"', "”": '"', "，": ",", "％": "%",
})  # fmt: skip
_FRACTION = re.compile(r"(?:(?<![\d.,])(\d{1,15})\s{0,2})?([¼-¾⅐-⅞])")
_RAISED = re.compile("[⁺⁻]?[⁰¹²³⁴-⁹]+")
_DIGITS = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_WORDY = r"(?:text(?:bf|rm|it|sf|tt|normal)?|mbox|mathrm|mathbf|mathit|operatorname|rm|hbox)"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), sign)
    for pattern, sign in (
        (r"\\(?:left|right|displaystyle|limits)(?![A-Za-z])", ""),
        (r"(?<=\d)(?:\{,\}|,\\[!,] ?)(?=\d)", ","),
        (r"\\[!,;:]|\\ |~|\\quad|\\qquad", " "),
        (r"\\[dtc]frac", r"\\frac"),
        (r"\\leq?(?:slant)?(?![A-Za-z])|≤|<=", r"\\leq "),
        (r"\\geq?(?:slant)?(?![A-Za-z])|≥|>=", r"\\geq "),
        (r"\^\s{0,4}\{?\s{0,4}\\circ\s{0,4}\}?|\\degree", ""),
        (r"\\%", "%"),
        (r"\\\$|\$|\\[()\[\]]", ""),
        (rf"\\{_WORDY}\s{{0,4}}\{{\s{{0,4}}(?:and|or)\s{{0,4}}\}}", ","),
        (r"(?<=[\w}).]) {1,4}(?:and|or) {1,4}(?=[-\d\\(.a-zA-Z]{1,3}(?![a-zA-Z]))", ","),
    )
)
_WRAPPED = re.compile(rf"\\{_WORDY}\s{{0,4}}\{{([^{{}}]{{0,400}})\}}")
_POWER = r"(?:\^\s{0,4}\{?-?\d{1,2}\}?)?"
_UNIT_BEHIND = re.compile(
    rf"(?<=[\d}}])\s{{0,8}}\\{_WORDY}\s{{0,4}}\{{[^{{}}]{{0,80}}\}}\s{{0,4}}{_POWER}\.?$"
)
_PLAIN_UNIT = re.compile(
    r"^([-+]?[\d.,]{1,400}(?:/\d{1,40})?|[-+]?\\frac\s{0,4}\{\d{1,40}\}\s{0,4}\{\d{1,40}\})"
    rf"(?: {{0,4}}%| {{1,4}}[A-Za-z][A-Za-z ./-]{{1,40}}{_POWER}|cm|mm|km|kg|kWh?)\.?$"
)
_NAMED = re.compile(r"^\s*[A-Za-z]{1,2}(?:_\{?\w\}?)?\s{0,4}(?:=|\\in(?![A-Za-z]))\s*(?=\S)")
_SHORT_FRAC = re.compile(r"\\frac\s*(\d|[A-Za-z](?![A-Za-z]))\s*(?=\{|[A-Za-z\d])")
_SHORT_BELOW = re.compile(r"(\\frac\{[^{}]{1,200}\})\s*(\d|[A-Za-z](?![A-Za-z]))")
_SHORT_ROOT = re.compile(r"\\sqrt\s*(\d|[A-Za-z](?![A-Za-z]))")
_THOUSANDS = re.compile(r"^[-+]?\d{1,3}(?:,\s?\d{3}){1,300}(?:\.\d{1,400})?%?$")
_GROUPED = re.compile(r"^[-+]?\d{1,3}(?:\s\d{3}){1,300}(?:\.\d{1,400})?%?$")
"""Thousands that spaces part."""
_SPACES = re.compile(r"(\\[A-Za-z]+|\d|)\s+(?=(\S|$))")
_LETTER = r"[A-Za-zÀ-ÖØ-öø-ɏЀ-ӿḀ-ỿ]"
_WORD = rf"{_LETTER}(?:{_LETTER}|['-])*"
_WORDS = re.compile(rf"{_WORD}(?:[ .]+{_WORD})*[.!?]?")
_QUOTED = re.compile(r"""^["']([^"']{1,400})["']$""")
_ACCENTED = re.compile(r"([a-zα-ω])[\u0300-\u036f]+")
_STROKES = str.maketrans({
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i",
})  # fmt: skip
_DOT = re.compile(r"(?<!\d)\.|\.(?!\d)")
_HYPHEN = re.compile(r"(?<=[^\W\d_]{3})-(?=[^\W\d_]{3})")
# Rules may make room for each other, as a fraction within a unit does, so they are applied again.
# The bound keeps a text on which two rules undo each other from being spelt for ever.
_PASSES = 8


def canonical(text: str) -> str:
    """The one spelling of an answer; equal spellings are equal answers.

    It is its own canonical spelling: the rules are applied until they change nothing, and a text that they
    keep changing is left as it stands.
    """
    text = text.strip()
    if len(text) > ANSWER_CHARS:
        return text
    spelt = text
    for _ in range(_PASSES):
        before, spelt = spelt, _respelt(spelt)
        if spelt == before:
            return spelt
    return text


def _respelt(text: str) -> str:
    """One pass. ``5.4 \\text{ cents}`` says 5.4; ``\\text{east}`` says east; ``x = 5`` says 5."""
    # A unit behind a number goes before wrappers do, for afterwards nobody could tell it from
    # words.
    text = _UNIT_BEHIND.sub("", plain_signs(text))
    text = _NAMED.sub("", unwrapped(text)).strip()
    measured = _PLAIN_UNIT.match(text)
    if measured and not text.rstrip(".").endswith("%"):
        # "42 or more" and "42 is wrong" are not 42.
        behind = text[measured.end(1) :].casefold()
        if not LIMITING.intersection(behind.split()) and scaled(behind.strip())[0] == 1:
            text = measured[1]
    quoted = _QUOTED.match(text)
    if quoted is not None and is_words(quoted[1]):
        text = quoted[1]
    if is_words(text):
        return folded(text.rstrip(".!?"))
    text = _SHORT_BELOW.sub(r"\1{\2}", _SHORT_FRAC.sub(r"\\frac{\1}", text))
    text = _SHORT_ROOT.sub(r"\\sqrt{\1}", text)
    # A comma between other groups than thousands parts the members of a list, and stays.
    if _THOUSANDS.match(text.strip().rstrip(".")):
        text = text.replace(",", "")
    if _GROUPED.match(text.strip().rstrip(".")):
        text = "".join(text.split())
    text = _SPACES.sub(_closed_up, text)
    return text.removesuffix(".") or text


def _closed_up(space: re.Match[str]) -> str:
    """What stands for a space and what is before it."""
    before, behind = space.groups()
    # Without it two would be one: a command and a letter, or two numbers.
    stays = behind.isalpha() if before.startswith("\\") else before and behind.isdecimal()
    return f"{before} " if stays else before


def plain_signs(text: str) -> str:
    """The text in ASCII's signs, without what only typesets it."""
    text = raised_digits(text).translate(_SIGNS)
    for pattern, sign in _RULES:
        text = pattern.sub(sign, text)
    return text.strip().lstrip("=").strip()


def plain_fractions(text: str, spelt: str = r"\frac{%d}{%d}") -> str:
    """The text with ``½`` as a fraction of whole numbers, and ``2½`` as ``\\frac{5}{2}``: it may stand in a formula."""
    return _FRACTION.sub(lambda sign: _as_ratio(sign[1], sign[2], spelt), text).replace("⁄", "/")


def _as_ratio(whole: str | None, sign: str, spelt: str) -> str:
    above, below = map(int, unicodedata.normalize("NFKC", sign).split("⁄"))
    return spelt % (int(whole or 0) * below + above, below)


def raised_digits(text: str) -> str:
    """The text with ``^{-3}`` for ``⁻³``."""
    return _RAISED.sub(_power, text)


def _power(raised: re.Match[str]) -> str:
    digits = raised[0].translate(_DIGITS)
    return f"^{digits}" if len(digits) == 1 else f"^{{{digits}}}"


def unwrapped(text: str) -> str:
    r"""The text without ``\text{}`` and its like around words."""
    return _WRAPPED.sub(r" \1 ", text)


def folded(words: str) -> str:
    """Words as they are compared: without case, accents, articles, and dots of initials."""
    parts = _DOT.sub(" ", _HYPHEN.sub(" ", without_accents(words.casefold()))).split()
    # Single letters that follow each other are the initials of one name: P. B. and PB are one.
    found: list[str] = []
    follows = False
    for part in without_articles(parts):
        initial = len(part) == 1 and part.isalpha()
        if follows and initial:
            found[-1] += part
        else:
            found.append(part)
        follows = initial
    return " ".join(found)


def without_accents(words: str) -> str:
    """Words in small letters, those of Latin and Greek without their accents."""
    words = unicodedata.normalize("NFD", words)
    return unicodedata.normalize("NFC", _ACCENTED.sub(r"\1", words)).translate(_STROKES)


def without_articles(parts: list[str]) -> list[str]:
    """The words of a text without ``the``, and without ``a`` or ``an`` before its first word."""
    # A lone "a" before a letter may be a variable or an option: "a b" keeps both.
    if len(parts) > 1 and parts[0] in ("a", "an") and len(parts[1]) > 1:
        parts = parts[1:]
    return [part for part in parts if part != "the"] or parts[:1]


def is_words(text: str) -> bool:
    """Whether a text is nothing but words (or names, or letters)."""
    # The length is looked at first, for the pattern of words is tried at every pass.
    return len(text) <= ANSWER_CHARS and _WORDS.fullmatch(text.strip()) is not None
