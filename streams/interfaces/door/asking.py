"""A problem as a program asks for it, with how it is to be solved and who is to answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError

from schemas.answer_type import AnswerType
from schemas.carried import TooMuch, carried, comes_back, of_text
from schemas.faults import first_fault
from schemas.problem import Limits, Problem, Profile, ReferenceAnswer, of_tenant
from schemas.settings import BACKBONE, PolicySettings, meant, unoffered
from streams.interfaces.cli.kafka_log import is_kafka
from streams.interfaces.cli.setup import Models, policy_of
from streams.interfaces.door.errors import Error, in_our_words
from streams.interfaces.door.messages import Marks
from streams.producing.typed import BadType, answer_type_of
from streams.runtime.embedded.solving import text_id

if TYPE_CHECKING:
    from handlers.policies.base import Policy

DEFAULT_POLICY = "cot"
NAMES: Mapping[type, str] = {str: "a text", Mapping: "names with values", Iterable: "problems one after another",
                             int: "a whole number"}  # fmt: skip
"""Types of parameters in the words of who passes them."""


def at_least_one(name: str, number: object) -> int:
    """A parameter that counts something. Raises an ``Error``: with none of it nothing would ever go on."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        what = f"expected a whole number of at least 1, found {number!r:.80}"
        raise Error(what, code="input.field", field=name)
    return number


def need_file(log: str | None) -> None:
    """Raise an ``Error`` where what is to be worked on here lies on Kafka, or is no text."""
    of_type("log", log, str, type(None))
    if log is not None and is_kafka(log):
        what = "a log on Kafka has workers of its own"
        hint = "Put the problem there with Client, and start workers: metalogue worker --log URL"
        raise Error(what, code="usage", field="log", hint=hint)


def of_type(name: str, value: object, *types: type) -> None:
    """Raise an ``Error`` where a parameter is of another type: Python holds nobody to an annotation."""
    # A text is letters one after another, and each of them would be worked on.
    letters = Iterable in types and isinstance(value, (str, bytes))
    if letters or not isinstance(value, types):
        wanted = " or ".join("nothing" if each is type(None) else NAMES[each] for each in types)
        what = f"expected {wanted}, found {type(value).__name__}"
        raise Error(what, code="input.field", field=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How problems are worked on, where one does not say it itself.

    ``policy`` is a name such as ``mc2``, or ``FILE.py:NAME`` for one of your own. ``settings`` are the policy's,
    by name. ``answer_type`` says what the answer is, such as ``"number"`` or ``{"type": "choice", "options":
    ["red", "green"]}``: one of another form is asked for once more, and never delivered. ``memory`` names what is
    learned into and drawn from: problems of two memories never teach each other.
    ``tenant`` says whose problems they are: their memory is that of its name unless another one is named, their ids
    begin with it, and its budget of a day covers their calls. ``priority``, from −9 to 9, is 0 unless it is said:
    the higher is begun first. Limits hold for each episode; none is unlimited.
    """

    policy: str = DEFAULT_POLICY
    profile: Profile = "service"
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    domain: str = "default"
    answer_type: str | Mapping[str, Any] | None = None
    memory: str = "main"
    tenant: str | None = None
    priority: int | None = None
    seed: int = 0
    call_limit: int | None = None
    token_limit: int | None = None
    cost_limit: float | None = None
    time_limit: float | None = None

    def but(self, other: Mapping[str, Any]) -> Way:
        """This way with some of it as it is said for one problem. Raises an ``Error`` for what is no part of it."""
        unknown = [name for name in other if name not in self.__dataclass_fields__]
        if unknown:
            known = meant(unknown[0], tuple(self.__dataclass_fields__))
            raise Error(f"no such parameter; {known}", code="usage", field=unknown[0])
        return replace(self, **other)

    def own(self, id: str) -> tuple[str, str]:
        """A problem's id and memory as those of its tenant. Raises an ``Error`` that names a field that is wrong."""
        of_type("memory", self.memory, str)
        of_type("tenant", self.tenant, str, type(None))
        own, memory = of_tenant(self.tenant, id, self.memory)
        said = {"id": own, "memory": memory, "tenant": self.tenant, "priority": self.priority}
        said |= {"seed": self.seed, "domain": self.domain, "profile": self.profile}
        # Checked on a problem that says nothing else, so that a wrong name is told of
        # before anything is read.
        try:
            Problem.model_validate({"problem": "-"} | said)
        except ValidationError as error:
            place, what = first_fault(error)
            raise Error(what, code="input.field", field=place.partition(".")[0]) from error
        return own, memory

    def typed(self) -> AnswerType | None:
        """What the answer is. Raises an ``Error`` that names what is wrong with it."""
        if self.answer_type is None:
            return None
        try:
            return answer_type_of(self.answer_type)
        except BadType as error:
            raise Error(error.what, code="input.answer_type", field=error.field) from error

    def limits(self) -> Limits:
        """The limits. Raises an ``Error`` that names one that is not positive."""
        try:
            return Limits(
                calls=self.call_limit,
                tokens=self.token_limit,
                cost=self.cost_limit,
                seconds=self.time_limit,
            )
        except ValidationError as error:
            place, what = first_fault(error)
            named = {"calls": "call", "tokens": "token", "cost": "cost", "seconds": "time"}
            # By the name of the parameter: ``calls`` is what a record says, and nobody passed that.
            raise Error(what, code="usage", field=f"{named[place]}_limit") from error

    def check(self) -> None:
        """Raise an ``Error`` that names what is wrong with it, whatever the problem."""
        self.found()
        self.typed()
        self.limits()
        self.own("-")

    @property
    def backbone(self) -> str | None:
        """Who answers in the place of the usual one, by the settings as they resolve. Raises as ``found`` does."""
        settings: PolicySettings = self.found().resolve(self.profile, self.settings)
        return settings.backbone

    def need_offered(self, offered: Collection[str]) -> None:
        """Raise an ``Error`` where it chooses a backbone that is not offered."""
        name = self.backbone
        if name is not None and name not in offered:
            field = f"settings.{BACKBONE}"
            raise Error(unoffered(name, offered), code="backbone.unknown", field=field)

    def found(self) -> Policy[Any]:
        """The policy. Raises an ``Error`` for it or one of its settings."""
        of_type("policy", self.policy, str)
        of_type("settings", self.settings, Mapping)
        with in_our_words():
            return policy_of(self.policy, self.profile, self.settings)


@dataclass(frozen=True, slots=True)
class Asked:
    """A problem with its id: what was given, or one that hangs on its text alone.

    ``answer`` is a reference. It only grades, and no prompt ever shows it.
    """

    problem: str
    id: str
    answer: ReferenceAnswer = None

    @classmethod
    def of(
        cls,
        problem: str,
        id: str | None = None,
        answer: ReferenceAnswer = None,
        answer_type: AnswerType | None = None,
    ) -> Asked:
        """A problem as it is put. Without an id, another type of answer makes it another problem.

        Raises an ``Error`` for what is no text.
        """
        of_type("problem", problem, str)
        of_type("id", id, str, type(None))
        sayable("problem", problem)
        sayable("answer", answer)
        return cls(problem, text_id(problem, answer_type) if id is None else id, answer)


def sayable(field: str, value: Any) -> None:
    """Raise an ``Error`` for what no record can hold: half of a character, a number of no size, what is no data."""
    try:
        orjson.dumps(value)
    except TypeError as error:
        raise Error(str(error), code="input.field", field=field) from error


def marks_of(headers: Mapping[str, str]) -> Marks:
    """Headers as an answer bears them. Raises an ``Error`` for one that does not come back, or for too many."""
    of_type("headers", headers, Mapping)
    for name, value in headers.items():
        of_type("headers", name, str)
        of_type("headers", value, str)
        sayable("headers", [name, value])
    # Refused now: a caller who waits for an answer by a header that never comes back
    # would wait for ever.
    for name in headers:
        if not comes_back(name):
            what = f"{name!r} says what a message is, and does not come back: name it otherwise"
            raise Error(what, code="input.headers", field="headers")
    try:
        carried(of_text(headers))
    except TooMuch as error:
        raise Error(str(error), code="input.headers", field="headers") from error
    return frozenset(headers.items())


def models_of(
    backbone: str | None,
    roles: Mapping[str, str] | None,
    prices: Mapping[str, tuple[float, float]] | None = None,
    limits: Limits | None = None,
    tools: str | None = None,
    budgets: Mapping[str, str] | None = None,
    offers: Mapping[str, str] | None = None,
) -> Models:
    """Return who answers: one backbone for all roles, and perhaps others for some of them."""
    of_type("backbone", backbone, str, type(None))
    of_type("tools", tools, str, type(None))
    mappings = {"roles": roles, "prices": prices, "budgets": budgets, "offers": offers}
    for name, given in mappings.items():
        of_type(name, given, Mapping, type(None))
    # Spelled as options of the command line, whose code reads them: one reader, and
    # one set of errors.
    named = [f"{role}={each}" for role, each in (roles or {}).items()]
    try:
        told = [f"{model}={paid},{earned}" for model, (paid, earned) in (prices or {}).items()]
    except (TypeError, ValueError) as error:
        what = "expected two prices of each model, of its prompts and of its completions"
        raise Error(what, code="input.field", field="prices") from error
    kept = [f"{tenant}={budget}" for tenant, budget in (budgets or {}).items()]
    return Models(
        backbone=backbone,
        roles=named,
        offered=[f"{name}={each}" for name, each in (offers or {}).items()],
        prices=told,
        limits=limits,
        tools=tools,
        budgets=kept,
    )
