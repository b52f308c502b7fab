"""The comparison rules of data sets that have their own: TheoremQA, SciBench, question answering.

Sources: TheoremQA (Chen et al. 2023), its grader: an integer after rounding, a float within 4 %, a
list of numbers in any order, truth values, option letters. SciBench (Wang et al. 2024), section 4:
a relative tolerance of 5 %, with units. HotpotQA (Yang et al. 2018): exact match and token F1.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

from handlers.answers.choice import choice
from handlers.answers.equal import equal
from handlers.answers.normalise import plain_fractions, raised_digits, without_accents
from handlers.answers.units import scaled, unit
from handlers.answers.value import Value, read
from schemas.outcome import Outcome

# The tolerances are those of the published graders, so that figures can be held against theirs.
THEOREMQA_TOLERANCE = Fraction(4, 100)
SCIBENCH_TOLERANCE = Fraction(5, 100)

_PREFIXES = {"": 0, "G": 9, "M": 6, "k": 3, "c": -2, "m": -3, "μ": -6, "u": -6, "n": -9, "p": -12}
_QUANTITY = re.compile(
    r"([-+]?(?:\d[\d,]{0,400}(?:\.\d{0,400})?|\.\d{1,400}))\s{0,4}"
    r"((?:e|E|(?:\\times|\*|×|x)\s{0,4}10\s{0,4}\^)\s{0,4}\{?\s{0,4}[-+−]?\d{1,4}\s{0,4}\}?)?(.{0,80})"
)
_POWER = re.compile(r"^10\s{0,4}\^\s{0,4}\{?\s{0,4}([-+−]?\d{1,3})\s{0,4}\}?")
_LATEX_UNIT = re.compile(r"\\(?:mathrm|text|mbox|rm)|[\\{}$~\s]")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = re.compile(r"[^\w\s]|_")
_TRUTH = {"true": "true", "yes": "true", "false": "false", "no": "false"}


# ── TheoremQA ────────────────────────────────────────────────────────────────────────────────


def theoremqa(answer: str, reference: str, problem: str = "") -> Outcome:
    """By the answer's type, which the reference's own spelling tells."""
    wanted = reference.strip()
    if wanted.lower() in ("true", "false"):
        said = _TRUTH.get(answer[:20].strip(" .*$\n").lower())
        if said is None:
            return "unknown"
        return "right" if said == wanted.lower() else "wrong"
    by_letter = choice(answer, wanted, problem)
    if by_letter is not None:
        return by_letter
    given, meant = read(answer), read(wanted)
    # The spelling says whether an integer is wanted, as in the published grader: 3.0 is a float.
    is_whole = re.search(r"[.eE/]", wanted) is None
    if wanted.startswith("["):
        found, listed = _numbers(given), _numbers(meant)
        if found is None or listed is None:
            return "unknown"
        if len(found) != len(listed):
            return "wrong"
        # Lists of numbers are sorted, as in the published grader.
        pairs = [*zip(sorted(found), sorted(listed), strict=True)]
    elif given.count is None or meant.count is None:
        return equal(given.text, meant.text)
    else:
        pairs = [(given.count, meant.count)]
    near = (
        round(said) == goal if is_whole else abs(said - goal) <= THEOREMQA_TOLERANCE * abs(goal)
        for said, goal in pairs
    )
    return "right" if all(near) else "wrong"


def _numbers(value: Value) -> list[Fraction] | None:
    found = [item.count for item in (value.items or (value,))]
    numbers = [number for number in found if number is not None]
    return numbers if len(numbers) == len(found) else None


# ── SciBench ─────────────────────────────────────────────────────────────────────────────────


def scibench(answer: str, reference: str) -> Outcome:
    """Within 5 % of the larger magnitude; units may differ by a prefix, or where the table of units knows both."""
    given, wanted = _quantity(answer), _quantity(reference)
    if given is None or wanted is None:
        # A reference without a number is a formula, which exact rules compare; an answer without
        # one cannot be held to a tolerance.
        return equal(answer, reference) if wanted is None else "unknown"
    scale = _scale(given[1], wanted[1])
    if scale is None:
        return "unknown"
    value, goal = given[0] * scale, wanted[0]
    near = abs(value - goal) <= SCIBENCH_TOLERANCE * max(abs(value), abs(goal))
    return "right" if near else "wrong"


def _quantity(text: str) -> tuple[Fraction, str] | None:
    """Number and unit; a power of ten may stand in the unit (``$10^{3}$ J``)."""
    text = raised_digits(plain_fractions(text[:1000], "%d/%d"))
    found = _QUANTITY.match(text.strip().strip("$").replace("−", "-"))
    if found is None or found[3].startswith("/"):
        value = read(text)
        if value.count is not None:
            return value.count, ""
        if found is None:
            return None
    exponent = int("".join(re.findall(r"[-+]?\d+\s*\}?$", found[2] or "")).strip("} ") or 0)
    scale, rest = scaled(found[3].strip())
    unit = _LATEX_UNIT.sub("", rest).lstrip("×*")
    if power := _POWER.match(unit.removeprefix("times")):
        exponent += int(power[1])
        unit = unit.removeprefix("times")[power.end() :]
    number = Fraction(found[1].replace(",", ""))
    return number * scale * Fraction(10) ** exponent, unit.strip(".,;")


def _scale(given: str, wanted: str) -> Fraction | None:
    """The factor from one unit to another; 1 when one is missing; ``None`` when unlike."""
    if given == wanted or not given or not wanted:
        return Fraction(1)
    told, meant = unit(given), unit(wanted)
    if told is not None and meant is not None:
        return told.factor / meant.factor if told.dimension == meant.dimension else None
    # Units that no table knows may still differ by a prefix alone, such as kdyn and dyn.
    for prefix, power in _PREFIXES.items():
        for other, other_power in _PREFIXES.items():
            rests = given.removeprefix(prefix), wanted.removeprefix(other)
            if rests[0] == rests[1] and given == prefix + rests[0] and wanted == other + rests[1]:
                return Fraction(10) ** (power - other_power) if rests[0] else None
    return None


# ── Question answering ───────────────────────────────────────────────────────────────────────


def exact_match(answer: str, reference: str) -> Outcome:
    """Equal after lower case, without punctuation, accents, articles and extra spaces."""
    return "right" if _tokens(answer) == _tokens(reference) else "wrong"


def token_f1(answer: str, reference: str) -> float:
    """Harmonic mean of token precision and recall, in [0, 1]; yes and no match only themselves."""
    given, wanted = _tokens(answer), _tokens(reference)
    shared = sum((Counter(given) & Counter(wanted)).values())
    # As in HotpotQA's own script: a long answer that contains "yes" earns nothing for it.
    closed = {"yes", "no", "noanswer"} & {*given[:1], *wanted[:1]}
    if not shared or (given != wanted and closed and min(len(given), len(wanted)) == 1):
        return 0.0
    return 2 * shared / (len(given) + len(wanted))


def _tokens(text: str) -> list[str]:
    return _ARTICLES.sub(" ", _PUNCTUATION.sub("", without_accents(text.lower()))).split()
