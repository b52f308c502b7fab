"""What comes in: problems, their limits, and feedback on answers."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, Literal, Self, TypeAlias, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    model_validator,
)

from schemas.answer_type import AnswerTypeSaid
from schemas.subjects import MARK

Profile: TypeAlias = Literal["service", "paper"]
# Every problem is recorded and shown in prompts. Bounds are refused at the door, with a line and a
# column, because behind it nobody could mend them.
PROBLEM_CHARS = 262_144
ID_CHARS = 200
REFERENCE_CHARS = 65_536
STATEMENT_CHARS = 4_096

# Names become parts of episodes' names and of paths, and so they hold no slash and no blank.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


def _printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("must be printable, without spaces at its ends")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return text


ProblemId = Annotated[
    str, StringConstraints(min_length=1, max_length=ID_CHARS), AfterValidator(_printable)
]
ProblemText = Annotated[
    str, StringConstraints(min_length=1, max_length=PROBLEM_CHARS), AfterValidator(_not_blank)
]
Statement = Annotated[
    str, StringConstraints(min_length=1, max_length=STATEMENT_CHARS), AfterValidator(_not_blank)
]
"""How problems of a domain are put: what a bare problem leaves unsaid, and the form of its answer."""
Subject = ProblemId
"""Whom a problem is about, as its application calls them: the name stands in the file of keys alone."""
SubjectMark = Annotated[str, StringConstraints(pattern=rf"^{MARK.pattern}$")]
# As many bits as a float says exactly: JSON readers of other languages would change a larger number.
WHOLE: Final = 1 << 53
Seed = Annotated[int, Field(ge=0, lt=WHOLE)]
Priority = Annotated[int, Field(ge=-9, le=9)]
"""Which of the problems that may be begun is begun first: the higher; 0 where nothing is said."""


def finite(value: Any) -> Any:
    """The value, if canonical JSON can say every number in it. Raises ``ValueError`` otherwise."""
    match value:
        # Canonical JSON says whole numbers of 64 bits and finite ones. Whatever else was admitted
        # could not be digested, and so never be named.
        case int() if not -(1 << 63) <= value < 1 << 64:
            raise ValueError("a number of more than 64 bits")
        case float() if not math.isfinite(value):
            raise ValueError("must be a finite number")
        case dict():
            for item in cast("dict[Any, Any]", value).values():
                finite(item)
        case list() | tuple():
            for item in cast("list[Any]", value):
                finite(item)
        case _:
            pass
    return cast("Any", value)


Count = Annotated[PositiveInt, AfterValidator(finite)]
"""How many of a thing there may be: one or more, and no more than canonical JSON can say."""


class Limits(BaseModel):
    """What one episode may spend; left out means unlimited."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # What shows an episode would end in a defect at a number that canonical JSON cannot say.
    calls: Count | None = None
    tokens: Count | None = None
    cost: PositiveFloat | None = None
    seconds: PositiveFloat | None = None

    def over(self, other: Limits) -> Limits:
        """These limits where set, the other's elsewhere."""
        # Nearly every problem comes without limits of its own, and then no model need be built.
        if other == UNLIMITED:
            return self
        return Limits(**(other.model_dump(exclude_none=True) | self.model_dump(exclude_none=True)))

    def within(self, other: Limits) -> Limits:
        """These limits where set, each lowered to the other's where that is less."""
        most = other.model_dump(exclude_none=True)
        own = self.model_dump(exclude_none=True)
        return Limits(**{name: min(value, most.get(name, value)) for name, value in own.items()})


UNLIMITED = Limits()


Values = Annotated[dict[str, Any], AfterValidator(finite)]
"""Settings as they were set."""


def _short(value: Any) -> Any:
    if len(str(value)) > REFERENCE_CHARS:
        raise ValueError(f"must have at most {REFERENCE_CHARS:,} characters")
    return value


ReferenceAnswer = Annotated[
    str | int | float | bool | list[Any] | dict[str, Any] | None,
    AfterValidator(finite),
    AfterValidator(_short),
]
"""A reference answer as it was given, of at most ``REFERENCE_CHARS``."""


class ProblemRecord(BaseModel):
    """One line of a source, as a user writes it. Unknown fields are refused by name."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    id: ProblemId
    problem: ProblemText
    answer: ReferenceAnswer = None
    statement: Statement | None = None
    answer_type: AnswerTypeSaid | None = Field(
        default=None,
        description="What its answer is: an answer of another form is asked for once more, and is none.",
    )
    domain: Name | None = None
    dataset: Name | None = None
    policy: str | None = None
    settings: Values | None = None
    limits: Limits | None = None
    seed: Seed | None = None
    memory: Name | None = Field(default=None, description="The memory that it reads and teaches.")
    tenant: Name | None = None
    priority: Priority | None = None
    subject: Subject | None = Field(
        default=None,
        description="Whom it is about: what is said of them can be erased, on a log that was begun with keys.",
    )


class Perturbed(BaseModel):
    """How a problem was changed before it was put: by which perturbation, seed and option map."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: Literal["S5", "S6"]
    seed: Seed
    letters: dict[str, str] = Field(default={}, description="Which letter each option became.")


class Problem(BaseModel):
    """A problem with everything decided that its episode's identity hangs on."""

    # Left out fields are decided by defaults here and never by configuration: a problem that was
    # admitted once must mean the same on every machine.
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: ProblemId
    problem: ProblemText
    statement: Statement | None = Field(
        default=None,
        description="How its domain's problems are put, where the domain does not say it itself.",
    )
    answer_type: AnswerTypeSaid | None = None
    domain: Name
    dataset: str | None = None
    policy: str | None = None
    profile: Profile = "service"
    settings: Values = {}
    limits: Limits = Limits()
    seed: Seed = 0
    walk: int = Field(default=1, ge=1, lt=WHOLE, description="Which pass over the series this is.")
    memory: Name = "main"
    series: str | None = None
    position: int | None = Field(
        default=None,
        ge=0,
        lt=WHOLE,
        description="Place in the series, from 0; none for late members and streams.",
    )
    labelled: bool = False
    perturbed: Perturbed | None = None
    tenant: Name | None = Field(
        default=None, description="Whose problem it is: its budget of a day covers the calls."
    )
    priority: Priority | None = None
    subject: SubjectMark | None = Field(
        default=None,
        description="The mark of whom it is about, under which the keys of its log have them.",
    )


def begins_with(tenant: str) -> str:
    """What the ids of a tenant's problems begin with, and no other tenant's."""
    # A dot parts the tenant from the id, and both may hold some.
    return f"{tenant.replace('.', '%2E')}."


def of_tenant(tenant: str | None, id: str, memory: str) -> tuple[str, str]:
    """A tenant's id of a problem, which no other tenant's is equal to, and the memory that is its own unless told.

    Told is another name than ``main``, under which tenants may share what they learned.
    """
    if tenant is None:
        return id, memory
    # An id that has the tenant's name already is its own: a line that is produced twice must not
    # become two problems.
    begin = begins_with(tenant)
    own = id if id.startswith(begin) else begin + id
    return own, tenant if memory == "main" else memory


class Feedback(BaseModel):
    """A judgement from outside on an episode's or a problem's answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    domain: Name | None = None
    episode: str | None = None
    problem_id: str | None = None
    reference: ReferenceAnswer = None
    verdict: bool | None = None
    score: Annotated[float, Field(ge=0, le=1)] | None = None
    passed: Literal[True] | None = Field(
        default=None,
        description="Who looked at the answer cannot judge it: nothing is graded, it only leaves the review queue.",
    )
    review: Annotated[str, StringConstraints(pattern=r"^\d+(\.\d+)*$")] | None = Field(
        default=None,
        description="The address of the question of an open episode that this answers.",
    )
    of: str | None = Field(
        default=None,
        description="The answer that such a question proposed: a verdict counts for it alone.",
    )
    by: str = "unknown"
    answer_type: str | None = None
    at: Annotated[str, StringConstraints(min_length=1, max_length=ID_CHARS)] | None = Field(
        default=None,
        description="When it was judged. The same judgement is taken once, unless this says it is another.",
    )

    mark: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")] | None = Field(
        default=None,
        description="Stands for its words in names, where they may have to be erased: a digest that takes a key.",
    )

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.episode is None) == (self.problem_id is None or self.domain is None):
            raise ValueError("name an episode, or a domain and a problem_id")
        words = (self.reference, self.verdict, self.score, self.passed)
        if sum(each is not None for each in words) != 1:
            raise ValueError("give one of reference, verdict, score, passed")
        if self.review is None:
            return self
        # It answers a question that an open episode put to a person; that has a text, a verdict on
        # the answer that was proposed, or neither.
        if self.episode is None or self.score is not None:
            raise ValueError("review: name an episode, and give one of reference, verdict, passed")
        # The policy may have proposed another answer since: a verdict must not count for that one.
        if self.verdict is not None and self.of is None:
            raise ValueError("of: say which answer the verdict is about")
        if self.reference is not None and not isinstance(self.reference, str):
            raise ValueError("reference: a question is answered by text")
        return self

    def judges(self, answer: str | None) -> bool:
        """Whether it is about this answer. A pass is about none, and what was said to a question about its own."""
        return not self.passed and (
            self.review is None or (self.of is not None and self.of == answer)
        )
