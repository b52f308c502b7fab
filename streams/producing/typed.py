"""Problems that say what their answer is, held to it before anything is spent on them; and labels, to theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from handlers.answers.forms import known, unfit
from schemas.answer_type import AnswerType, AnswerTypeSaid
from schemas.events.episode import ProblemAdmitted
from schemas.events.traces import TraceTaken
from schemas.faults import first_fault
from schemas.identity import text_digest
from schemas.problem import Feedback, Problem
from schemas.written import problem_of
from streams.producing.sources import BadLine
from streams.runtime.embedded.queries.messages import value_of
from streams.runtime.embedded.queries.problems import begun_of, put_of

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


class BadType(ValueError):
    """An answer type, or a label beside it, that nobody could answer by. ``field`` names which."""

    def __init__(self, field: str, what: str) -> None:
        super().__init__(f"{field}: {what}")
        self.field, self.what = field, what


def answer_type_of(said: str | Mapping[str, Any]) -> AnswerType:
    """The type that a word or JSON values say. Raises ``BadType``."""
    try:
        return TypeAdapter[AnswerType](AnswerTypeSaid).validate_python(said)
    except ValidationError as error:
        place, what = first_fault(error)
        part, _, rest = what.partition(": ")
        # A check of the whole type names its field in the text, one of a single field in its place.
        if not place and part in AnswerType.model_json_schema()["properties"]:
            place, what = part, rest
        raise BadType(f"answer_type.{place}" if place else "answer_type", what) from error


def type_mark(problem: Problem) -> str:
    """Tells the type of a problem's answer from others; empty where it has none. Options may stand in its text."""
    said = _listed(problem)
    return "" if said is None else text_digest(said.text)


def _listed(problem: Problem) -> AnswerType | None:
    """The type of a problem's answer, with the options that its text lists."""
    said = problem.answer_type
    if said is not None and said.type == "choice":
        with suppress(ValueError):
            return known(said, problem.problem)
    return said


def need_same_type(problem: Problem, mark: str) -> None:
    """Raises ``BadLine`` where a problem's episode is there, and its type has another ``mark``."""
    # The type is no part of an episode's name. To pass over the problem as known would drop
    # what it says.
    if type_mark(problem) != mark:
        raise other_type(problem.id)


def other_type(id: str) -> BadLine:
    """The refusal of a problem that is already there with another type of answer."""
    what = f"{id!r} is already there with another type of answer"
    return BadLine(1, "answer_type", what, "input.duplicate")


def with_known_type(problem: Problem, label: Any = None) -> Problem:
    """The problem with all that its answer type leaves to its text. Raises ``BadType``."""
    said = problem.answer_type
    if isinstance(label, dict) and (said is None or said.type != "json"):
        raise BadType("answer", "is an object, which is the answer of an answer_type json alone")
    if said is None:
        return problem
    try:
        said = known(said, problem.problem)
    except ValueError as error:
        part, _, what = str(error).partition(": ")
        raise BadType(f"answer_type.{part}", what) from None
    # A label that no answer could equal would count every answer as wrong, and
    # nobody would see why.
    why = unfit(said, label)
    if why is not None:
        raise BadType("answer", why)
    return problem.model_copy(update={"answer_type": said})


def need_fit(log: SqliteLog, said: Feedback) -> None:
    """Raises ``BadLine`` for a reference that cannot be an answer to any problem that feedback is about.

    It is asked of what a person gives, who can be told. What comes by its topic is kept, and graded as unknown.
    """
    if said.reference is None:
        return
    # One problem may have been put with several types, in other runs; without one it takes any.
    whys = [each and unfit(each, said.reference) for each in _types_of(log, said)]
    if whys and all(whys):
        raise BadLine(1, "reference", str(whys[0]), "input.answer_type")


def _types_of(log: SqliteLog, said: Feedback) -> Iterator[AnswerType | None]:
    """The types of the episodes that feedback is about, as far as they are on the log, admitted or not."""
    if said.episode is not None:
        begun = [log.find(said.episode, address) for address in ("admitted", "taken")]
        put = [value_of(log, "problems", said.episode)]
    else:
        named = said.domain or "", said.problem_id or ""
        begun, put = [*begun_of(log, *named)], [*put_of(log, *named)]
    for event in begun:
        if isinstance(event, ProblemAdmitted):
            yield _listed(event.problem)
        elif isinstance(event, TraceTaken):
            typed = event.answer_type
            yield None if typed is None else AnswerType.model_validate(typed)
    for value in put:
        # Of what is no problem the intake says so.
        with suppress(ValueError):
            if value is not None:
                yield _listed(problem_of(value))
