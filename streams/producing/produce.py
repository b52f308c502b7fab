"""Producing a source: each line becomes a problem on its topic, or a dead letter with its bytes.

A finite source opens one series for each scope that its lines fall into. Everything is appended in one
commit, so that a produce that dies has done nothing, and doing it again does the rest.

Theory of operation. ``Producer.run`` reads each line (``sources``) and takes it: what the line leaves open comes from
the ``Plan``, then from the policy's usual settings. The problem that comes of it has a name that follows from its
content, so a line that is on the log already is known by its name and skipped. Whatever is wrong with a line is a
``BadLine``. It costs no other line anything, and becomes a dead letter that holds the bytes and, in a header, the
plan, so that the mended line can be produced as it was meant. What must never happen: that a label gets into a
problem, or that an id stands for two texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal, TypeAlias

from handlers.policies.base import Around, Policy
from schemas.answer_type import AnswerType
from schemas.events.base import Event
from schemas.events.episode import ProblemAdmitted
from schemas.events.learning import PositionVoided, SeriesOpened, Timing
from schemas.identity import digest, hash01, names_a_file
from schemas.letters import PLAN, errors_of
from schemas.problem import (
    Feedback,
    Limits,
    Perturbed,
    Problem,
    ProblemRecord,
    Profile,
    of_tenant,
)
from schemas.settings import BadSetting, PromptWords
from schemas.subjects import of_subject
from schemas.written import readable
from streams.engine.policies import NoPolicy
from streams.engine.prompts.catalogue import need_known, usual_of
from streams.producing.others import Others
from streams.producing.perturbing import Perturbation, perturb
from streams.producing.sources import BadLine, SourceLine, parse
from streams.producing.subjects import UNREAD, Subjects
from streams.producing.typed import BadType, need_same_type, type_mark, with_known_type
from streams.runtime.embedded.intake import SCOPE, episode_of, scope_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.episodes import first_text, is_open_on
from streams.runtime.embedded.queries.messages import text_put, value_of
from streams.runtime.room import need_room

Order: TypeAlias = Literal["released", "shuffled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The options of the command line for every line that does not state them itself."""

    source: str
    find: Callable[[str], Policy[Any]]
    content: str | None = None
    """Names a source that has no name of its own: the digest of what was read from ``-``."""
    policy: str | None = None
    domain: str | None = None
    profile: Profile = "service"
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    walk: int = 1
    memory: str = "main"
    tenant: str | None = None
    subject: str | None = None
    priority: int | None = None
    series: str | None = None
    timing: Timing = "barrier"
    order: Order = "released"
    perturb: Perturbation | None = None
    """Puts each problem another way, as a problem of its own."""
    finite: bool = True
    around: Around = field(default_factory=Around)
    """What the policies will have at hand, on which their usual settings may hang."""
    statements: dict[str, str] = field(default_factory=dict[str, str])
    """How the problems of domains are put, where a line does not say it."""
    answer_type: AnswerType | None = None
    """What the answers are, where no line says it itself."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """What is to come back on the answers."""
    prompts: Mapping[str, PromptWords] = field(default_factory=dict[str, PromptWords])
    """What prompts say otherwise, for the policies that ask with them."""

    @property
    def series_id(self) -> str | None:
        """The series that a finite source opens: by name, else by what was asked for, never by content."""
        if not self.finite or self.policy is None:
            return None
        if self.series is not None:
            return self.series
        # The series is part of each episode's name. By content it would be another one as soon as a
        # line is mended, and all other lines would be new problems.
        source = self.content or self.source
        asked = (source, self.domain, self.policy, self.profile, self.values, self.seed, self.walk)
        typed = None if self.answer_type is None else self.answer_type.text
        said = (self.perturb, self.tenant, self.prompts or None, typed)
        # What is not set is left out, so that names of series stay as they were before there
        # was such an option.
        more = (each for each in said if each is not None)
        return digest((*asked, *more))

    def as_header(self) -> dict[str, Any]:
        """The plan as JSON values, its series by name."""
        left = ("find", "around")
        values = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if name not in left
        }
        limits = self.limits.model_dump(exclude_none=True)
        typed = None if self.answer_type is None else self.answer_type.said
        said = {"limits": limits, "series": self.series_id, "answer_type": typed}
        return values | said | self.around.said()

    @classmethod
    def from_header(cls, values: dict[str, Any], find: Callable[[str], Policy[Any]]) -> Plan:
        """The plan that a header holds."""
        typed = values.get("answer_type")
        told: dict[str, Any] = values | {
            "limits": Limits(**values["limits"]),
            "answer_type": None if typed is None else AnswerType.model_validate(typed),
        }
        around = Around.of({name: told.pop(name, None) for name in Around.__dataclass_fields__})
        return cls(**told, around=around, find=find)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line that was not taken, and why."""

    line: SourceLine
    error: BadLine
    key: str
    """Names it among the dead letters."""


@dataclass(slots=True)
class Produced:
    """The counts of a produce, for its last line."""

    produced: int = 0
    known: int = 0
    refused: list[Refusal] = field(default_factory=list[Refusal])
    series: list[str] = field(default_factory=list[str])
    scopes: Counter[str] = field(default_factory=Counter[str])
    """How many new problems each scope has that learns."""


@dataclass(slots=True)
class Places:
    """The positions of one scope's series: who holds each, and which are void from the start."""

    policy: Policy[Any]
    first: Problem
    size: int = 0
    voids: dict[int, str] = field(default_factory=dict[int, str])

    def next(self) -> int:
        """The next position."""
        self.size += 1
        return self.size - 1

    def void(self, reason: str) -> None:
        """A position that nobody will fill."""
        # It takes a position all the same, or those behind it would move up and fall
        # into other windows.
        self.voids[self.next()] = reason


class Producer:
    """One produce of one source into one log."""

    def __init__(self, log: SqliteLog, plan: Plan, others: Others | None = None) -> None:
        self.log, self.plan, self.done = log, plan, Produced()
        self.others = Others(log) if others is None else others
        self.subjects = Subjects(log)
        self.headers = dict(plan.headers)
        """Of each message: one for all, unless a problem has more."""
        self.places: dict[str, Places] = {}
        self.texts: dict[tuple[str, str], bytes] = {}
        """Digests of problems' texts, by domain and id."""
        self.seen: set[str] = set()
        self.messages: list[tuple[str, str, Mapping[str, Any], bytes]] = []

    def run(self, lines: Iterable[SourceLine], *, dry: bool = False) -> Produced:
        """Take every line, then append everything in one commit."""
        self.others.look()
        self.subjects.dry = dry
        # Read as they are taken, so that refusals stand among the messages in the
        # order of their lines.
        records: Iterable[tuple[SourceLine, ProblemRecord]] = self._read(lines)
        if self.plan.order == "shuffled":
            # By a hash of each id, so that a line that is added later leaves the order
            # of the others alone.
            seed = self.plan.seed
            records = sorted(records, key=lambda each: hash01("order", seed, each[1].id))
        for line, record in records:
            try:
                self._take(record)
            except BadLine as error:
                self._refuse(line, error)
        # A refused line holds a void place. With several scopes in one source nobody can say in
        # which of them it would have stood, and then it holds none.
        if len(self.places) == 1:
            (places,) = self.places.values()
            for refusal in self.done.refused:
                places.void(f"refused: {refusal.error.code}")
        if not dry:
            self.log.publish(self.messages, self._commands())
        return self.done

    def _read(self, lines: Iterable[SourceLine]) -> Iterator[tuple[SourceLine, ProblemRecord]]:
        for line in lines:
            try:
                yield line, parse(line.raw)
            except BadLine as error:
                self._refuse(line, error)

    def _take(self, record: ProblemRecord) -> None:
        perturbed = None
        if self.plan.perturb is not None:
            record, perturbed = perturb(record, self.plan.perturb, self.plan.seed)
        problem, policy = self._problem(record, perturbed)
        episode = episode_of(problem, "cot")
        self._check_text(episode, problem)
        # Checked line by line: in the commit, one that is too large would take all others with it.
        label = label_of(problem, record)
        need_room(self.log.room, problem, label)
        place = self._place(problem, policy)
        if episode in self.seen:
            self.done.known += 1
            if place is not None:
                place.void("duplicate")
            return
        self.seen.add(episode)
        # It counts for its place even if it is on the log already: positions follow the source, and
        # not what happened to be there before.
        position = None if place is None else place.next()
        if self._is_known(episode, problem):
            self.done.known += 1
            return
        self.done.produced += 1
        problem = problem.model_copy(update={"position": position})
        if policy is not None and policy.learns != "none":
            self.done.scopes[scope_of(policy, problem)] += 1
        headers = self.headers
        if policy is not None and names_a_file(policy.name):
            headers = {**headers, SCOPE: scope_of(policy, problem)}
        self.messages.append(
            ("problems", episode, headers, problem.model_dump_json(exclude_defaults=True).encode())
        )
        if label is not None:
            # A record of its own: nothing that a policy may read holds the answer.
            body = label.model_dump_json(exclude_none=True).encode()
            key = digest([label.domain, label.problem_id, record.answer])
            self.messages.append(("feedback", key, {}, body))

    def _is_known(self, episode: str, problem: Problem) -> bool:
        """Whether somebody put it on the log before, under whatever name, and be it long admitted.

        Raises ``BadLine`` where it was put with another type of answer.
        """
        if not (
            self.log.has_message("problems", episode)
            or episode in self.others.episodes
            or self.log.holding([episode], "admitted")
        ):
            return False
        admitted = self.log.find(episode, "admitted")
        if isinstance(admitted, ProblemAdmitted):
            put: Problem | None = admitted.problem
        else:
            body = value_of(self.log, "problems", episode)
            put = None if body is None else readable(body)
        if put is not None:
            need_same_type(problem, type_mark(put))
        # What a solve began, and perhaps left, no worker has heard of: it is put for them too.
        begun = not self.log.is_owned_elsewhere and is_open_on(self.log, episode, aside=True)
        return not begun or self.log.has_message("problems", episode)

    def _problem(
        self, record: ProblemRecord, perturbed: Perturbed | None
    ) -> tuple[Problem, Policy[Any] | None]:
        plan = self.plan
        policy_name = record.policy or plan.policy
        values = {**plan.values, **(record.settings or {})}
        policy = self._policy(policy_name, values) if policy_name else None
        if policy is not None:
            usual = usual_of(policy, plan.profile, plan.around, plan.prompts, values)
            values = {**usual, **values}
        domain = record.domain or plan.domain or record.dataset or "default"
        tenant = record.tenant or plan.tenant
        subject = self.subjects.mark(record.subject or plan.subject)
        id, memory = of_subject(
            subject, *of_tenant(tenant, record.id, record.memory or plan.memory)
        )
        # A digest of standard input would stand on the log in clear, and confirm to anybody
        # what its lines said.
        named = plan.series is not None or plan.content is None
        series = self.subjects.series(subject, plan.series_id, named=named)
        problem = Problem(
            id=id,
            problem=record.problem,
            statement=record.statement or plan.statements.get(domain),
            answer_type=record.answer_type or plan.answer_type,
            domain=domain,
            dataset=record.dataset,
            policy=None if policy is None else policy.name,
            profile=plan.profile,
            settings=values,
            limits=(record.limits or Limits()).over(plan.limits),
            seed=plan.seed if record.seed is None else record.seed,
            walk=plan.walk,
            memory=memory,
            series=series,
            labelled=record.answer is not None,
            perturbed=perturbed,
            tenant=tenant,
            priority=plan.priority if record.priority is None else record.priority,
            subject=subject,
        )
        self.subjects.need_own(problem)
        try:
            return with_known_type(problem, record.answer), policy
        except BadType as error:
            raise BadLine(1, error.field, error.what, "input.answer_type") from None

    def _policy(self, name: str, values: dict[str, Any]) -> Policy[Any]:
        try:
            policy = self.plan.find(name)
            need_known(policy, policy.resolve(self.plan.profile, values))
        except NoPolicy as error:
            raise BadLine(1, "policy", str(error), "input.policy") from error
        except BadSetting as error:
            raise BadLine(
                1, str(error).partition(":")[0], str(error).partition(": ")[2], "input.setting"
            ) from error
        return policy

    def _check_text(self, episode: str, problem: Problem) -> None:
        """Raises ``BadLine`` where another text bears this id: labels and tables could not tell the two apart."""
        key = (problem.domain, problem.id)
        put = text_put(self.log, episode)
        known = self.others.texts.get(key) if put is None else put
        # Of a problem that nobody put there may be a case of another tool's.
        if known is None and key not in self.texts:
            known = first_text(self.log, *key)
        mine = _digest(problem.problem)
        before = self.texts.setdefault(key, _digest(known) if known else mine)
        if before != mine:
            raise BadLine(
                1,
                "id",
                f"{problem.id!r} is already taken by another problem text",
                "input.duplicate",
            )

    def _place(self, problem: Problem, policy: Policy[Any] | None) -> Places | None:
        """Where positions of this problem's series are handed out; none for late members and streams."""
        if problem.series is None or policy is None:
            return None
        scope = scope_of(policy, problem)
        # Its size was announced and cannot grow: whoever comes now is a late member,
        # without a position.
        if self.log.find(f"n/{scope}/{problem.series}", "series") is not None:
            return None
        return self.places.setdefault(scope, Places(policy, problem))

    def _refuse(self, line: SourceLine, error: BadLine) -> None:
        # The error's text quotes the line. Where nothing of that may be kept, its code has to do.
        name, raw = self.subjects.letter(line.raw, self.plan.subject)
        key = f"{self.plan.source}:{line.number}:{name}"
        self.done.refused.append(Refusal(line, error, key))
        errors = errors_of(
            "problems",
            source=self.plan.source,
            offset=line.number,
            exception=error.code,
            message=error.code if name == UNREAD else str(error),
        )
        self.messages.append(("dead-letters", key, {**errors, PLAN: self.plan.as_header()}, raw))

    def _commands(self) -> Iterator[tuple[str, str, Event]]:
        for scope, places in self.places.items():
            series = places.first.series or ""
            self.done.series.append(series)
            key = f"n/{scope}/{series}"
            first, policy = places.first, places.policy
            values = policy.settings.learning_values(first.profile, first.settings)
            settings = policy.settings.resolve(first.profile, first.settings)
            policy = policy.under(settings)
            # One window for all where nothing is learned: nobody has to wait for a
            # version in between.
            learns = policy.learns != "none"
            window = policy.window(settings, places.size) if learns else max(places.size, 1)
            opened = SeriesOpened(
                scope=scope,
                series=series,
                size=places.size,
                window=window,
                timing=self.plan.timing,
                policy=policy.name,
                policy_version=policy.version,
                profile=first.profile,
                settings=values,
                seed=self.plan.seed,
                walk=self.plan.walk,
                order=self.plan.order,
                ahead=None if policy.reads(settings) else True,
            )
            yield key, "series", opened
            for position, reason in places.voids.items():
                yield (
                    key,
                    f"void.{position}",
                    PositionVoided(scope=scope, series=series, position=position, reason=reason),
                )


def _digest(text: str) -> bytes:
    """What a text is held by: of a million problems the texts themselves would be most of the memory."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def label_of(problem: Problem, record: ProblemRecord) -> Feedback | None:
    """The answer that came with a problem, as feedback."""
    if record.answer is None:
        return None
    return Feedback(
        domain=problem.domain, problem_id=problem.id, reference=record.answer, by="source"
    )
