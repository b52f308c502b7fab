"""Answers of a type: how their form is told, whether an answer has it, and the one way to write it.

What is delivered, voted on and graded is this canonical form. An answer of another form is none: it is asked for
once more, with what was wrong, and never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import orjson
from pydantic import ValidationError

from handlers.answers.forms_choice import LETTERS, choice_form, listed
from handlers.answers.forms_json import fenced, json_form
from handlers.answers.grade import CODE, Grade, References, grade_reference, references_of
from handlers.answers.plain import plain_text
from handlers.answers.stated import FORMS as TOLD
from handlers.answers.units import unit
from handlers.answers.value import Value, read
from schemas.answer_type import AnswerType, Form, WrongForm

TYPED: Final = "typed@1"
"""The grader of answers whose canonical forms are equal or not, with nothing between."""
EXACT_FORMS: Final = frozenset({"choice", "yes_no", "json"})
UNFIT: Final = EXACT_FORMS | {"number"}
"""Types of which a label of another form says nothing."""
LINE = 1_000

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
_CODE = re.compile(r"^([A-Z]{3})\s{0,4}(\d[\d,. ]{0,40})$")
"""A currency before its number, as in USD 9.50."""
_VULGAR = str.maketrans({"½": " 1/2", "¼": " 1/4", "¾": " 3/4", "⅓": " 1/3", "⅔": " 2/3"})
_SIGNS = {"US$": "USD", "$": "USD", "€": "EUR", "£": "GBP"}
_SCALES = {
    "dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
}  # fmt: skip
_YES_NO = re.compile(r"\W{0,4}(yes|no|true|false)\W{0,4}", re.IGNORECASE)
_YES_NO_FIRST = re.compile(
    r"[*_\s]{0,4}(yes|no|true|false)[*_]{0,3}\s?[,.:;!(–—-](?!\s{0,4}(?:yes|no|true|false)\W{0,4}$)",
    re.IGNORECASE,
)
"""What opens a sentence is the answer where a sign parts it from the rest: "No idea" is none."""
_YES_NO_LAST = re.compile(r"[^.!?]{0,200}\bis\s{1,4}(true|false)\W{0,4}", re.IGNORECASE)
_SENTENCE = re.compile(r"[^\W\d_]{2,40}(?:[\s,;]{1,4}[^\W\d_]{2,40}){3}")
"""Four words in a row: who says so much gives no expression."""


def known(said: AnswerType, problem: str) -> AnswerType:
    """The type with the options that the problem lists, where it names none itself.

    Raises ``ValueError``, its first word the part of the type that is wrong, where nobody could answer so.
    """
    if said.type == "choice" and said.options is None:
        found = listed(problem)
        if len(found) < 2:
            raise ValueError("options: missing, and the problem lists none as A) ... B) ...")
        try:
            said = AnswerType(type="choice", options=found)
        except ValidationError as error:
            what = str(error.errors(include_url=False)[0]["msg"]).removeprefix("Value error, ")
            raise ValueError(
                f"options: {what.removeprefix('options: ')}, as the problem lists them"
            ) from None
    if said.unit is not None and unit(said.unit) is None:
        raise ValueError("unit: is none that is known; write it as km/h, m^2, USD or minutes")
    if said.shape is not None:
        from jsonschema import Draft202012Validator, SchemaError

        try:
            Draft202012Validator.check_schema(said.shape)
        except SchemaError as error:
            where = ".".join(map(str, error.absolute_path)) or "the whole"
            raise ValueError(f"schema: {where}: {error.message[:200]}") from None
    return said


# ── Told ─────────────────────────────────────────────────────────────────────────────────────


def form(said: AnswerType, problem: str) -> str:
    """How an answer is to be written, as whoever gives one is told."""
    match said.type:
        case "number" if said.unit:
            return f"The answer is one number in {said.unit}."
        case "choice":
            return " ".join(filter(None, (TOLD["multiple_choice"], task(said, problem))))
        case "json":
            spelled = orjson.dumps(said.shape).decode()
            return f"The answer is one JSON value that holds to this JSON Schema, and nothing else:\n{spelled}"
        case kind:
            return _FORMS[kind]


_FORMS: Mapping[Form, str] = {
    "number": TOLD["gsm8k"],
    "expression": TOLD["math500"],
    "yes_no": TOLD["yes_no"],
    "text": TOLD["free_text"],
    "code": TOLD[CODE],
}


def task(said: AnswerType, problem: str) -> str | None:
    """What there is to choose from, where the problem does not say it: who judges an answer has to know it too."""
    if said.options is None or listed(problem) == said.options:
        return None
    return "\n".join(("The options:", *_lettered(said.options)))


def _lettered(said: tuple[str, ...]) -> Iterator[str]:
    return (f"{letter}) {option}" for letter, option in zip(LETTERS, said, strict=False))


# ── Read ─────────────────────────────────────────────────────────────────────────────────────


def canonical(said: AnswerType, answer: object) -> str:
    """The one way to write an answer of this type. Raises ``WrongForm`` for an answer of another form.

    Writing a canonical answer again changes nothing.
    """
    if said.type == "json":
        return json_form(said, answer)
    return _READERS[said.type](said, answer if isinstance(answer, str) else str(answer))


def _number(said: AnswerType, answer: str) -> str:
    value = _quantity(answer)
    if value.number is None:
        raise WrongForm("is no number")
    try:
        return _written(said, value, value.number)
    except WrongForm:
        raise
    except ValueError:  # Python writes no number of more than 4,300 digits
        raise WrongForm("is a number that is too long") from None


def _written(said: AnswerType, value: Value, number: Fraction) -> str:
    if said.unit is None:
        return f"{_spelled(number)}%" if value.kind == "percent" else _spelled(number)
    if value.kind == "percent":
        raise WrongForm(f"is a percentage, and a number in {said.unit} is asked for")
    if value.kind == "words" and value.text.casefold() != said.unit.casefold():
        raise WrongForm(f"is in a unit that nobody knows here; give it in {said.unit}")
    return f"{_spelled(_in_unit(value, said.unit))} {said.unit}"


def _quantity(answer: str) -> Value:
    """What a number is, of what: a measure, a percentage, or of kind ``words`` beside a word that is no known unit."""
    bare = (
        plain_text(answer.strip().strip("*_`\"'").strip())
        .strip()
        .strip("*_`\"'")
        .rstrip(".")
        .strip()
    )
    if len(bare) >= LINE:
        return read(bare)
    bare = _ABOUT.sub("", _NAMED.sub("", bare, count=1), count=1).translate(_VULGAR).strip()
    bare = _MINUS.sub("-", _CODE.sub(r"\2 \1", bare))
    if bare.startswith("(") and bare.endswith(")") and bare.count("(") == 1:
        bare = bare[1:-1].strip()
    for sign, name in _SIGNS.items():
        if sign in bare[:4] or bare.endswith(sign):
            bare = f"{bare.replace(sign, '', 1).strip()} {name}"
            break
    whole = read(bare)
    if whole.number is not None and whole.unit is not None:
        return whole
    found = _HEAD.fullmatch(bare)
    if found is None or not any(map(str.isdigit, found[1])):
        return whole if whole.kind in ("number", "percent") else Value("formula", bare)
    head, behind = read(found[1].strip()), found[2].strip()
    if head.number is None:
        return whole
    return _with_words(head.number, behind)


def _with_words(number: Fraction, behind: str) -> Value:
    first, _, rest = behind.partition(" ")
    scale = _SCALES.get(first.casefold().rstrip("s"))
    if scale is not None:
        return _with_words(number * scale, rest.strip())
    if behind in ("%", r"\%") or behind.casefold() in ("percent", "per cent"):
        return Value("percent", behind, number)
    if not behind:
        return Value("number", "", number)
    if any(map(str.isdigit, behind)):
        return Value("formula", behind)
    return Value("number" if (told := unit(behind)) else "words", behind, number, unit=told)


def _in_unit(value: Value, wanted: str) -> Fraction:
    """The number in the unit that is asked for; one without a unit was given in it."""
    meant = unit(wanted)
    assert value.number is not None
    if value.unit is None or meant is None:
        return value.number
    if value.unit.dimension != meant.dimension:
        raise WrongForm(f"is in another kind of unit than {wanted}")
    return value.number * value.unit.factor / meant.factor


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


def _expression(said: AnswerType, answer: str) -> str:
    if not answer.strip():
        raise WrongForm("is empty")
    if _SENTENCE.search(plain_text(answer)):
        raise WrongForm("is a sentence, and one value or expression is asked for")
    return answer.strip()


def _yes_no(said: AnswerType, answer: str) -> str:
    bare = plain_text(answer.strip()[:400]).strip().strip("_*`")
    found = _YES_NO.fullmatch(bare) or _YES_NO_FIRST.match(bare) or _YES_NO_LAST.fullmatch(bare)
    if found is None:
        raise WrongForm("is neither yes nor no")
    return "yes" if found[1].casefold() in ("yes", "true") else "no"


def _text(said: AnswerType, answer: str) -> str:
    bare = answer.strip()
    if not bare:
        raise WrongForm("is empty")
    return bare


def _code(said: AnswerType, answer: str) -> str:
    fences = fenced(answer)
    code = (fences[-1] if fences else answer).replace("\r\n", "\n").strip("\n")
    if not code.strip():
        raise WrongForm("is empty")
    return code


_READERS: Mapping[Form, Callable[[AnswerType, str], str]] = {
    "number": _number,
    "expression": _expression,
    "choice": choice_form,
    "yes_no": _yes_no,
    "text": _text,
    "code": _code,
}


# ── Graded ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Compared:
    """What an answer is held against: references in the form of its type, that type, and whose rule else holds."""

    references: References | None
    dataset: str
    typed: AnswerType | None


def compared(dataset: str, typed: AnswerType | None, label: Any) -> Compared:
    """A label, if there is one, for an answer of this type; every grade begins here.

    Whoever grades, the operator's own grader among them, is given a label in its type's form, as far as it has it.
    """
    if typed is None:
        return Compared(None if label is None else references_of(label), dataset, None)
    references = None if label is None else _meant(typed, _labels(typed, label))
    return Compared(references, CODE if typed.type == "code" else dataset, typed)


def settled(said: AnswerType | None, answer: str | None, references: References) -> Grade | None:
    """The grade where canonical forms decide: of options, yes or no, and JSON values; else ``None``.

    A label of another form than its type's settles nothing: it says neither that the answer is right nor wrong.
    """
    if said is None or answer is None:
        return None
    aliases = (references,) if isinstance(references, str) else references
    wanted = {form for each in aliases if (form := _or_none(said, each)) is not None}
    given = _or_none(said, answer)
    if not wanted and said.type in UNFIT:
        return Grade(
            outcome="unknown", grader=TYPED, detail=f"no label of it is of the type {said.type}"
        )
    if said.type not in EXACT_FORMS or given is None:
        return None
    right = given in wanted
    return Grade(
        outcome="right" if right else "wrong", grader=TYPED, detail="equal" if right else "differs"
    )


def by_rules(
    answer: str | None,
    reference: References,
    dataset: str,
    problem: str,
    typed: AnswerType | None = None,
) -> Grade:
    """The grade that needs no other process: by the form of the answer's type, else by its data set's rule."""
    found = settled(typed, answer, reference)
    return found or grade_reference(answer, reference, dataset=dataset, problem=problem)


def unfit(typed: AnswerType, label: Any) -> str | None:
    """Why a label cannot be an answer of a type, in words; nothing where it can, or is code's tests."""
    if label is None or typed.type == "code":
        return None
    references = _labels(typed, label)
    for each in (references,) if isinstance(references, str) else references:
        try:
            canonical(typed, each)
        except WrongForm as wrong:
            return f"{wrong}, and the answer type is {typed.type}"
    return None


def _labels(said: AnswerType, label: Any) -> References:
    """A label as texts to compare with: of a JSON answer one value, unless its texts are all JSON of the type."""
    if said.type != "json" or isinstance(label, str):
        return references_of(label)
    texts = references_of(label)
    if not isinstance(texts, str) and all(_or_none(said, each) is not None for each in texts):
        return texts
    return orjson.dumps(label).decode()


def _meant(said: AnswerType, references: References) -> References:
    """References in the canonical form of their type, as far as they have it: 90 minutes are 1.5 hours."""
    if said.type == "code":
        return references
    if isinstance(references, str):
        return _or_none(said, references) or references
    return tuple(_or_none(said, each) or each for each in references)


def _or_none(said: AnswerType, answer: str) -> str | None:
    try:
        return canonical(said, answer)
    except WrongForm:
        return None
