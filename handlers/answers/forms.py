"""Answers of a type: how their form is told, whether an answer has it, and the one way to write it.

What is delivered, voted on and graded is this canonical form. An answer of another form is none: it is asked for
once more, with what was wrong, and never guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from handlers.answers.choice import options
from handlers.answers.equal import equal
from handlers.answers.grade import CODE, Grade, References, references_of
from handlers.answers.plain import plain_text
from handlers.answers.stated import FORMS as TOLD
from handlers.answers.units import unit
from handlers.answers.value import Value, read
from schemas.answer_type import LETTERS as SMALL
from schemas.answer_type import AnswerType, Form

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

TYPED: Final = "typed@1"
"""The grader of answers whose canonical forms are equal or not, with nothing between."""
EXACT_FORMS: Final = frozenset({"choice", "yes_no", "json"})
JSON_CHARS = 16_384
"""No JSON answer is longer: what is held against a schema may take its square."""
LETTERS = SMALL.upper()

_LETTER = re.compile(
    r"(?:option|choice|answer)?\s{0,4}\(?\s{0,2}([A-Z])\s{0,2}(?:[).:]\s{0,4}(.*))?",
    re.DOTALL | re.IGNORECASE,
)
_YES_NO = re.compile(r"\W{0,4}(yes|no|true|false)\b", re.IGNORECASE)
_FENCE = re.compile(r"\s{0,9}```[\w+-]{0,20}[ \t]{0,9}\n(.*?)\n?[ \t]{0,9}```\s{0,9}", re.DOTALL)
_SENTENCE = re.compile(r"[^\W\d_]{2,40}(?:[\s,;]{1,4}[^\W\d_]{2,40}){3}")
"""Four words in a row: who says so much gives no expression."""


class WrongForm(ValueError):
    """An answer has not the form that was asked for; the message says what is wrong and repeats nothing of it."""


def known(said: AnswerType, problem: str) -> AnswerType:
    """The type with the options that the problem lists, where it names none itself.

    Raises ``ValueError``, its first word the part of the type that is wrong, where nobody could answer so.
    """
    if said.type == "choice" and said.options is None:
        listed = tuple(options(problem).values())
        if len(listed) < 2:
            raise ValueError("options: missing, and the problem lists none as A) ... B) ...")
        said = AnswerType(type="choice", options=listed)
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
            listed = task(said, problem)
            return (
                TOLD["multiple_choice"] if listed is None else f"{TOLD['multiple_choice']} {listed}"
            )
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
    if said.options is None or tuple(options(problem).values()) == said.options:
        return None
    return "\n".join(("The options:", *_listed(said.options)))


def _listed(said: tuple[str, ...]) -> Iterator[str]:
    return (f"{letter}) {option}" for letter, option in zip(LETTERS, said, strict=False))


# ── Read ─────────────────────────────────────────────────────────────────────────────────────


def canonical(said: AnswerType, answer: object) -> str:
    """The one way to write an answer of this type. Raises ``WrongForm`` for an answer of another form.

    Writing a canonical answer again changes nothing.
    """
    if said.type == "json":
        return _json(said, answer)
    return _READERS[said.type](said, answer if isinstance(answer, str) else str(answer))


def _number(said: AnswerType, answer: str) -> str:
    value = read(plain_text(answer)) if read(answer).number is None else read(answer)
    if value.number is None:
        raise WrongForm("is no number")
    if said.unit is None:
        return f"{_spelled(value.number)}%" if value.kind == "percent" else _spelled(value.number)
    if value.kind == "percent":
        raise WrongForm(f"is a percentage, and a number in {said.unit} is asked for")
    return f"{_spelled(_in_unit(value, said.unit))} {said.unit}"


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
    places = 0
    rest = exact.denominator
    while places < 12 and rest != 1:
        places += 1
        scaled = exact * 10**places
        rest = scaled.denominator
    if rest != 1:
        return f"{exact.numerator}/{exact.denominator}"
    digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
    return f"{'-' if exact < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _expression(said: AnswerType, answer: str) -> str:
    if read(answer).kind == "words" or _SENTENCE.search(plain_text(answer)):
        raise WrongForm("is a sentence, and one value or expression is asked for")
    return answer.strip()


def _choice(said: AnswerType, answer: str) -> str:
    choices = said.options or ()
    bare = plain_text(answer[:1000]).strip().strip("*_`\"'").strip()
    spelt = [each for each in choices if _folded(each) == _folded(bare)]
    if len(spelt) == 1:
        return spelt[0]
    found = _LETTER.fullmatch(bare.rstrip("."))
    index = LETTERS.index(found[1].upper()) if found else len(choices)
    if found and index < len(choices):
        beside = found[2]
        if (
            beside
            and not _names(beside, choices[index])
            and any(_names(beside, c) for c in choices)
        ):
            raise WrongForm("names one option by its letter and another by its text")
        return choices[index]
    named = [each for each in choices if _names(bare, each)]
    if len(named) == 1:
        return named[0]
    listed = ", ".join(LETTERS[: len(choices)])
    raise WrongForm(f"names none of the options {listed}, or more than one")


def _names(answer: str, option: str) -> bool:
    return _folded(answer) == _folded(option) or equal(answer, option) == "right"


def _folded(text: str) -> str:
    return " ".join(plain_text(text).split()).casefold().strip(" .")


def _yes_no(said: AnswerType, answer: str) -> str:
    found = _YES_NO.match(plain_text(answer[:200]))
    if found is None or _YES_NO.search(plain_text(answer[found.end() : 200])):
        raise WrongForm("is neither yes nor no")
    return "yes" if found[1].casefold() in ("yes", "true") else "no"


def _text(said: AnswerType, answer: str) -> str:
    bare = answer.strip()
    if not bare:
        raise WrongForm("is empty")
    return bare


def _code(said: AnswerType, answer: str) -> str:
    fenced = _FENCE.fullmatch(answer)
    code = (fenced[1] if fenced else answer).strip("\n")
    if not code.strip():
        raise WrongForm("is empty")
    return code


def _json(said: AnswerType, answer: object) -> str:
    value = _loaded(answer) if isinstance(answer, str) else answer
    error = next(_validator(said).iter_errors(value), None)
    if error is not None:
        where = "".join(f"[{each!r}]" for each in error.absolute_path)
        rule = orjson.dumps(error.validator_value).decode()[:200]
        raise WrongForm(
            f"holds not to the schema{' at ' + where if where else ''}: {error.validator} {rule}"
        )
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        raise WrongForm("holds a number of more than 64 bits") from None


def _loaded(answer: str) -> Any:
    fenced = _FENCE.fullmatch(answer)
    bare = (fenced[1] if fenced else answer).strip()
    if len(bare) > JSON_CHARS:
        raise WrongForm(f"is longer than {JSON_CHARS:,} characters")
    try:
        # Numbers of more than 64 bits are told apart here; orjson would round them.
        return json.loads(bare, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise WrongForm("is no JSON value") from None


def _refused(constant: str) -> Any:
    raise ValueError(constant)


@lru_cache(maxsize=64)
def _validator(said: AnswerType) -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(said.shape or {})


_READERS: Mapping[Form, Callable[[AnswerType, str], str]] = {
    "number": _number,
    "expression": _expression,
    "choice": _choice,
    "yes_no": _yes_no,
    "text": _text,
    "code": _code,
}


# ── Graded ───────────────────────────────────────────────────────────────────────────────────


def labels(said: AnswerType, label: Any) -> References:
    """A label as texts to compare with: of a JSON answer one value, unless its texts are all JSON of the type."""
    if said.type != "json" or isinstance(label, str):
        return references_of(label)
    texts = references_of(label)
    if not isinstance(texts, str) and all(_or_none(said, each) is not None for each in texts):
        return texts
    return orjson.dumps(label).decode()


def settled(said: AnswerType, answer: str | None, references: References) -> Grade | None:
    """The grade where canonical forms decide: of options, yes or no, and JSON values; else ``None``."""
    if said.type not in EXACT_FORMS or answer is None:
        return None
    aliases = (references,) if isinstance(references, str) else references
    wanted = {form for each in aliases if (form := _or_none(said, each)) is not None}
    given = _or_none(said, answer)
    if given is None or not wanted:
        return None
    right = given in wanted
    return Grade(
        outcome="right" if right else "wrong", grader=TYPED, detail="equal" if right else "differs"
    )


def meant(said: AnswerType, references: References) -> References:
    """References in the canonical form of their type, as far as they have it: 90 minutes are 1.5 hours."""
    if isinstance(references, str):
        found = _or_none(said, references)
        return references if found is None else found
    return tuple(_or_none(said, each) or each for each in references)


def _or_none(said: AnswerType, answer: str) -> str | None:
    try:
        return canonical(said, answer)
    except WrongForm:
        return None
