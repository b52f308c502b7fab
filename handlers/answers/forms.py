"""Answers of a type: how their form is told, whether an answer has it, and the one way to write it.

What is delivered, voted on and graded is this canonical form. An answer of another form is none: it is asked for
once more, with what was wrong, and never guessed.
"""

# Theory of operation. ``known`` completes a type when its problem is admitted, and refuses one that
# nobody could answer. ``form`` and ``task`` tell it in prompts. ``canonical`` is applied wherever
# an answer field of a reply is read, and once more to what a policy concludes with; it is the one
# place that says what an answer of a type looks like, so that votes, graders and consumers agree.
# ``compared`` puts the label into the same form, and ``settled`` grades by it.
#
# Whoever writes a canonical form otherwise changes answers of recorded episodes: that needs a new
# version of the grader ``typed`` and of the policies (deploy/decisions/0028).

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import ValidationError

from handlers.answers.forms_choice import LETTERS, choice_form, listed
from handlers.answers.forms_json import fenced, json_form
from handlers.answers.forms_number import number_form
from handlers.answers.grade import (
    CODE,
    Grade,
    References,
    aliases_of,
    grade_reference,
    references_of,
)
from handlers.answers.plain import plain_text
from handlers.answers.stated import FORMS as TOLD
from handlers.answers.units import unit
from schemas.answer_type import AnswerType, Form, WrongForm
from schemas.faults import first_fault

TYPED: Final = "typed@1"
"""The grader of answers whose canonical forms are equal or not, with nothing between."""
EXACT_FORMS: Final = frozenset({"choice", "yes_no", "json"})
UNFIT: Final = EXACT_FORMS | {"number"}
"""Types of which a label of another form says nothing."""
_YES_NO = re.compile(r"\W{0,4}(yes|no|true|false)\W{0,4}", re.IGNORECASE)
_YES_NO_FIRST = re.compile(
    r"[*_\s]{0,4}(yes|no|true|false)[*_]{0,3}\s?[,.:;!(–—-](?!\s{0,4}(?:yes|no|true|false)\W{0,4}$)",
    re.IGNORECASE,
)
"""What opens a sentence is the answer where a sign parts it from the rest: "No idea" is none."""
_YES_NO_LAST = re.compile(r"[^.!?]{0,200}\bis\s{1,4}(true|false)\W{0,4}", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:not (?:the case|true|clear|certain|known)|false that|wrong to|whether|nobody|no one|doubt|deny|denies|"
    r"untrue|neither|cannot|unlikely|impossible|incorrect|opposite|false to|wrong that)\b|n['’]t\b",
    re.IGNORECASE,
)
"""What turns the last word of a sentence round, or leaves it open."""
_SENTENCE = re.compile(r"[^\W\d_]{2,40}(?:[\s,;]{1,4}[^\W\d_]{2,40}){3}")
"""Four words in a row: who says so much gives no expression."""


def known(said: AnswerType, problem: str) -> AnswerType:
    """The type with the options that the problem lists, where it names none itself.

    Raises ``ValueError``, its first word the part of the type that is wrong, where nobody could answer so.
    """
    if said.type == "choice" and said.options is None:
        # Only options that are all listed count, since an option that is missing could not be
        # chosen.
        found = listed(problem)
        if len(found) < 2:
            raise ValueError("options: missing, and the problem lists none as A) ... B) ...")
        try:
            said = AnswerType(type="choice", options=found)
        except ValidationError as error:
            what = first_fault(error)[1].removeprefix("options: ")
            raise ValueError(f"options: {what}, as the problem lists them") from None
    if said.unit is not None and unit(said.unit) is None:
        raise ValueError("unit: is none that is known; write it as km/h, m^2, USD or minutes")
    if said.shape is not None:
        # Imported here, because most problems have no schema and the module is large.
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
    lettered = (f"{letter}) {each}" for letter, each in zip(LETTERS, said.options, strict=False))
    return "\n".join(("The options:", *lettered))


# ── Read ─────────────────────────────────────────────────────────────────────────────────────


def canonical(said: AnswerType, answer: object) -> str:
    """The one way to write an answer of this type. Raises ``WrongForm`` for an answer of another form.

    Writing a canonical answer again changes nothing.
    """
    if said.type == "json":
        return json_form(said, answer)
    text = answer if isinstance(answer, str) else str(answer)
    match said.type:
        case "number":
            return number_form(said, text)
        case "choice":
            return choice_form(said, text)
        case "yes_no":
            bare = plain_text(text.strip()[:400]).strip().strip("_*`")
            found = _YES_NO.fullmatch(bare) or _YES_NO_FIRST.match(bare)
            if found is None and not _DENIED.search(bare):
                found = _YES_NO_LAST.fullmatch(bare)
            if found is None:
                raise WrongForm("is neither yes nor no")
            return "yes" if found[1].casefold() in ("yes", "true") else "no"
        case "code":
            # The last fence holds the program; those before it are what led to it. Indentation at
            # its beginning is Python's, so only empty lines go.
            fences = fenced(text)
            text = (fences[-1] if fences else text).replace("\r\n", "\n").strip("\n")
        case "expression" if _SENTENCE.search(plain_text(text)):
            raise WrongForm("is a sentence, and one value or expression is asked for")
        case _:
            text = text.strip()
    if not text.strip():
        raise WrongForm("is empty")
    return text


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
    references = None if label is None else _labels(typed, label)
    # A label is put into its type's form as well, as far as it has it: 90 minutes are 1.5 hours.
    # The label of code is its tests, which have no form.
    if references is not None and typed.type != "code":
        spelt = tuple(_or_none(typed, each) or each for each in aliases_of(references))
        references = spelt[0] if isinstance(references, str) else spelt
    return Compared(references, CODE if typed.type == "code" else dataset, typed)


def settled(said: AnswerType | None, answer: str | None, references: References) -> Grade | None:
    """The grade where canonical forms decide: of options, yes or no, and JSON values; else ``None``.

    A label of another form than its type's settles nothing: it says neither that the answer is right nor wrong.
    """
    if said is None or answer is None:
        return None
    wanted = {form for each in aliases_of(references) if (form := _or_none(said, each)) is not None}
    given = _or_none(said, answer)
    # A label of another form is the operator's mistake, and no model may be called wrong for it.
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
    for each in aliases_of(_labels(typed, label)):
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


def _or_none(said: AnswerType, answer: str) -> str | None:
    try:
        return canonical(said, answer)
    except WrongForm:
        return None
