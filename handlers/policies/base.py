"""What a policy is: a typed generator with its settings, and, if it learns, how.

Every policy, ours or a user's own, is one ``Policy`` value; drivers, learners, verification and the
command line know nothing else about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from handlers.answers.forms import form, task
from handlers.answers.stated import posed, stated
from handlers.policies.parameters import as_set
from handlers.policies.typed import held, held_together
from handlers.roles.objects import as_text
from schemas.answer_type import AnswerType
from schemas.asking import Steps
from schemas.events.base import Event
from schemas.events.learning import Reflected
from schemas.events.traces import TraceTaken
from schemas.identity import with_prompts, without_prompts
from schemas.memory import Memory, MemoryItem
from schemas.price import Price
from schemas.problem import Profile
from schemas.settings import EVERY_ROLE, BadSetting, PolicySettings, chosen, meant
from schemas.spoken import spoken

# Who calls what. A driver runs ``solve`` and sends the answers in; when the episode has closed,
# ``reflect`` makes the summary that its reflection carries. When a window is full the learner runs
# ``learn`` as an episode of its own, and the fold applies ``rule`` to the summaries. Verification
# runs all of these once more over the record and compares.
#
# What must never happen. A policy must not touch a clock, a random source or a client: a replay
# would come to other requests, and the log could not be verified. It must not see an outcome or a
# label while it works, or what it learned would say nothing of other problems. And ``reflect`` must
# ask nobody, since it is made again whenever a log is verified: what a policy wants to know of a
# batch it asks in ``learn``.

S = TypeVar("S", bound=PolicySettings)
W = TypeVar("W")
D = TypeVar("D")

Learns: TypeAlias = Literal["labels", "self", "none"]


@dataclass(frozen=True, slots=True)
class Around:
    """What a policy will have at hand, as far as whoever puts a problem knows it."""

    tools: bool = False
    """Whether tools are configured."""
    roles: tuple[str, ...] = ()
    """Roles that have a model of their own."""
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """What a million tokens cost, by role, ``*`` for the rest; of a model without a known price nothing."""
    offered: Mapping[str, Price | None] = field(default_factory=dict[str, "Price | None"])
    """The same of the backbones that problems may choose instead of ``*``, by name."""

    def under(self, settings: Mapping[str, Any]) -> Around:
        """What is at hand where the settings choose one of those that are offered."""
        name = chosen(settings)
        if name is None:
            return self
        price = self.offered.get(name)
        prices = {role: each for role, each in self.prices.items() if role != "*"}
        return replace(self, prices=prices if price is None else prices | {"*": price})

    def said(self) -> dict[str, Any]:
        """Itself as JSON values; roles and prices where there are any."""
        prices = {role: price.model_dump() for role, price in self.prices.items()}
        offered = {name: each and each.model_dump() for name, each in self.offered.items()}
        more = {"roles": list(self.roles), "prices": prices, "offered": offered}
        return {"tools": self.tools} | {name: value for name, value in more.items() if value}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Around:
        """What was said so."""
        prices: Mapping[str, Any] = values.get("prices") or {}
        offered: Mapping[str, Any] = values.get("offered") or {}
        return cls(
            bool(values.get("tools")),
            tuple(values.get("roles") or ()),
            {role: Price.model_validate(each) for role, each in prices.items()},
            {name: each and Price.model_validate(each) for name, each in offered.items()},
        )


@dataclass(frozen=True, slots=True)
class Task:
    """What a policy is given: the problem's text, never its label."""

    id: str
    problem: str
    domain: str
    seed: int
    memory_version: int = 0
    statement: str | None = None
    """How its domain's problems are put, where the problem came with it."""
    answer_type: AnswerType | None = None
    """What its answer is, where the problem says so: answers of another form are none."""

    @property
    def subject(self) -> str:
        """The problem's name in evidence: ``domain/id``."""
        return f"{self.domain}/{self.id}"

    @property
    def stated(self) -> str:
        """The problem as who answers it is shown it: with what its domain leaves unsaid."""
        said = self.answer_type
        told = None if said is None else form(said, self.problem)
        return stated(self.domain, self.problem, self.statement, told)

    @property
    def posed(self) -> str:
        """The problem as who gives no answer is shown it: without the form of its answer."""
        said = self.answer_type
        more = None if said is None else task(said, self.problem)
        return posed(self.domain, self.problem, self.statement, more)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What led to an answer: where its last reply is recorded, and its steps, or a text that numbers its own."""

    source: str
    steps: tuple[str, ...] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """How a policy ended. No answer means that it abstained; ``ended_by`` always says what ended it.

    ``limit`` names the limit that ended it, if one did (the answer is then the best so far).
    ``confidence`` is raw, in [0, 1], or unknown; ``calibrated`` is added by whoever drives the policy.
    """

    answer: str | None
    ended_by: str
    confidence: float | None = None
    confidence_source: str | None = None
    limit: str | None = None
    calibrated: float | None = None
    trajectory: Trajectory | None = field(default=None, compare=False, repr=False)
    """The final trajectory, where the policy tells it; it is not recorded again."""


class Trace:
    """The recorded events of an episode at numbered addresses, in order, with the texts of its replies.

    They are gathered when first looked at: most policies leave nothing to learn from, and never do.
    ``embedded`` are the texts that vectors are made of, by address, where who made the trace knows them.
    """

    def __init__(
        self,
        events: Iterable[tuple[str, Event]],
        embedded: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    ) -> None:
        self._events, self.embedded = events, embedded

    @cached_property
    def events(self) -> tuple[tuple[str, Event], ...]:
        """Address and event of each record."""
        return tuple(self._events)

    def text(self, address: str) -> str:
        """The reply recorded at an address, without its thoughts. Raises ``KeyError`` if there is none."""
        for at, event in self.events:
            if at == address:
                return as_text(spoken(str(getattr(event, "text", ""))).text)
        raise KeyError(address)


@dataclass(frozen=True, slots=True)
class Member:
    """One finished episode of a batch, as a learner sees it: its reflection, and its outcome if asked for."""

    episode: str
    reflected: Reflected
    outcome: str = "unknown"

    @property
    def subject(self) -> str:
        """The problem's name in evidence: ``domain/id``."""
        return f"{self.reflected.domain}/{self.reflected.problem_id}"


def task_of(reflected: Reflected, seed: int) -> Task:
    """A reflected problem as a task, for who works on it once more to learn from it."""
    asked = (reflected.problem_id, reflected.problem, reflected.domain)
    return Task(*asked, seed, statement=reflected.statement, answer_type=type_of(reflected))


def type_of(reflected: Reflected) -> AnswerType | None:
    """What the answer to a reflected problem is, where it says so."""
    said = reflected.answer_type
    return None if said is None else AnswerType.model_validate(said)


def put(reflected: Reflected) -> str:
    """A reflected problem as who answers it is shown it: with what its domain leaves unsaid."""
    return task_of(reflected, 0).stated


def told(reflected: Reflected) -> str:
    """A reflected problem as who learns from it is shown it: without the form of its answer."""
    return task_of(reflected, 0).posed


@dataclass(frozen=True, slots=True)
class Batch:
    """What a learning episode is given: a window's members and the memory version before it."""

    scope: str
    number: int
    members: tuple[Member, ...]
    memory: Memory
    seed: int
    revision: int = 0
    """Above 0 where it is learned from again, without the problems that were forgotten since."""
    kept: tuple[MemoryItem, ...] = ()
    """Its lessons that stay when it is learned from again."""
    facts: tuple[Event, ...] = ()
    """What its learning rule took from, so far as that stays."""
    stale: frozenset[str] = frozenset()
    """Roles whose rules are withdrawn unless they are written anew."""

    @property
    def name(self) -> str:
        """Its number, with its revision: ``4``, ``4.1``."""
        return f"{self.number}.{self.revision}" if self.revision else str(self.number)


def no_reflection(trace: Trace, conclusion: Conclusion, settings: Any) -> dict[str, Any]:
    """Leaves nothing to learn from."""
    return {}


def no_texts(trace: Trace, settings: Any) -> tuple[str, ...]:
    """Its summary holds no vectors, or says itself what they are made of."""
    return ()


def learn_nothing(batch: Batch, settings: Any) -> Steps[None]:
    """Learns nothing from a batch."""
    yield from ()


@dataclass(frozen=True, slots=True)
class Together(Generic[S]):
    """A set episode: ``solve`` gives one conclusion for each task, in order, under one shared limit.

    Each task comes with the calls that it may spend itself, if they are limited. ``part`` is what a
    set's record holds of one member, by its subject; ``size`` is how many are in a set at most.
    """

    solve: Callable[[Sequence[tuple[Task, int | None]], S], Steps[tuple[Conclusion, ...]]]
    part: Callable[[Trace, str], Trace]
    size: Callable[[S], int]


@dataclass(frozen=True, kw_only=True)
class Policy(Generic[S]):
    """A way to work on a problem.

    ``solve`` is the policy itself. ``reflect`` makes the pure summary that ``Reflected`` carries.
    ``learn`` is asked at the end of each window of ``window(settings, size of the series or None)``
    members. ``live_batches`` says how many batches' lessons stay live (None: all).
    """

    name: str
    version: str
    about: str
    settings: type[S]
    solve: Callable[[Task, S], Steps[Conclusion]]
    roles: tuple[str, ...] = ()
    """The model roles that it may ask, at work or when it learns: each may have a backbone of its own."""
    learns: Learns = "none"
    reflect: Callable[[Trace, Conclusion, S], dict[str, Any]] = no_reflection
    measured_texts: Callable[[Trace, S], tuple[str, ...]] = no_texts
    """What the summary's vectors are made of, in order, where a learning rule cannot tell from it."""
    learn: Callable[[Batch, S], Steps[None]] = learn_nothing
    takes: Callable[[TraceTaken, S], dict[str, Any]] | None = None
    """What another tool's trace leaves, without its verdict; none where it learns from its own work alone."""
    relearn: Callable[[Batch, S], Steps[None]] = learn_nothing
    """What is said anew of a batch that lost a forgotten problem; rules that are not are withdrawn."""
    found_by: Callable[[MemoryItem, S], str] = field(default=lambda item, settings: item.text)
    """What of a lesson is embedded, should another embedder have to."""
    window: Callable[[S, int | None], int] = field(default=lambda settings, size: size or 10)
    reads: Callable[[S], bool] = field(default=lambda settings: True)
    """Whether its episodes read what was learned: those that do not need no batch before theirs."""
    unlearnable: Callable[[S], str | None] = field(default=lambda settings: None)
    """Why nothing can be learned under these settings, where that is so."""
    live_batches: Callable[[S], int | None] = field(default=lambda settings: None)
    rule: str | None = None
    """The learning rule (``handlers.learning.rules``) of its arms, weights or beliefs, if it has any."""
    rule_constants: Callable[[S], dict[str, Any]] = field(default=lambda settings: {})
    retirement: str | None = None
    """The rule (``handlers.learning.retire``) that retires memory items, in profile ``service``."""
    together: Together[S] | None = None
    """How it works on the members of a window together, if it can."""
    warm_source: Callable[[S], str | None] = field(default=lambda settings: None)
    """The scope whose memory this one starts from, if it was set."""
    warm_start: Callable[[Memory], Sequence[Event]] = field(default=lambda source: ())
    """What is taken over from that memory, as learning facts (MC²: K_0)."""
    most_calls: Callable[[S], int | None] = field(default=lambda settings: None)
    """How many calls an episode makes at most under these settings, if they say so."""
    confidence_source: str | None = None
    usual: Callable[[Profile, Around], Mapping[str, Any]] = field(
        default=lambda profile, around: {}
    )
    """What is set where nobody set it, by the profile and what is at hand."""
    origin: Mapping[str, str] = field(default_factory=dict[str, str])
    """For a user's own policy: its file, name and source digest."""
    formerly: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Earlier versions whose episodes it goes on with as they did, each with the settings that came since, as they have
    to be set for it; with none where only what it learns of a batch has changed.

    Each as it stands on record, with the digest of its source for a policy of one's own."""
    learns_as: tuple[str, ...] = ()
    """Earlier versions that learned of a batch as it does."""

    def __post_init__(self) -> None:
        # Wrapped once, here, so that parameters, words and typed answers hold for every
        # policy alike, a user's own included. ``learn_nothing`` stays bare: by it others tell
        # who learns at all.
        for name in ("solve", "learn", "relearn"):
            work = getattr(self, name)
            if work is not learn_nothing:
                object.__setattr__(self, name, as_set(work))
        # The outermost layer, for the form that an answer must have is the
        # problem's, whatever was set.
        object.__setattr__(self, "solve", held(self.solve))
        if self.together is not None:
            together = replace(self.together, solve=held_together(as_set(self.together.solve)))
            object.__setattr__(self, "together", together)

    def resolve(self, profile: Profile, values: Mapping[str, Any]) -> S:
        """Its settings. Raises ``BadSetting``, also for a role that it never asks."""
        # A parameter for a role that is never asked would do nothing, and nobody would notice.
        settings = self.settings.resolve(profile, values)
        for role in settings.parameters:
            if role not in (EVERY_ROLE, *self.roles):
                known = meant(role, (EVERY_ROLE, *self.roles))
                raise BadSetting(f"settings.parameters: {self.name} asks no role {role!r}; {known}")
        return settings

    def under(self, settings: PolicySettings) -> Policy[S]:
        """The policy in the version that it is under these settings: other prompts make another one."""
        if not settings.prompts:
            return self
        made = copy(self)  # not by ``replace``, under which its work would be wrapped again
        object.__setattr__(made, "version", with_prompts(self.version, settings.prompts))
        return made

    def as_begun(self, version: str) -> Policy[S]:
        """The policy as the version that began an episode; as it is where it does not work as that one."""
        earlier = without_prompts(version)
        lacked = self.formerly.get(earlier)
        if lacked is None:
            return self
        made = copy(self)
        object.__setattr__(made, "version", earlier)
        if lacked:
            object.__setattr__(made, "solve", _under(self.solve, lacked))
            if self.together is not None:
                solve = _under(self.together.solve, lacked)
                object.__setattr__(made, "together", replace(self.together, solve=solve))
        return made

    def learned_as(self, version: str) -> bool:
        """Whether what this version learned of a batch is what it would learn of it."""
        own, earlier = without_prompts(self.version), without_prompts(version)
        alike = version.removeprefix(earlier) == self.version.removeprefix(own)
        return alike and earlier in (own, *self.learns_as)

    @property
    def reference(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.version}"


def _under(
    work: Callable[[W, S], Steps[D]], lacked: Mapping[str, Any]
) -> Callable[[W, S], Steps[D]]:
    """The work as it was before some settings came, which none of its records names."""
    return lambda task, settings: work(task, settings.model_copy(update=dict(lacked)))
