"""Taking cases in: for each its record, its reflection and its verdict, in one commit with the series of their scope.

Taking a file again takes what is new in it: a case is named by its scope, its tool and its trace, or by what was
said in it where it bears no id, or where its trace holds another case already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson
from msgspec import structs
from pydantic import ValidationError

from handlers.policies.base import Around, Policy
from schemas.answer_type import AnswerType
from schemas.events.base import Event
from schemas.events.learning import Reflected, SeriesOpened
from schemas.events.traces import TraceTaken
from schemas.faults import first_fault
from schemas.identity import canonical, digest, scope_id, taken_id, text_digest
from schemas.letters import PLAN, errors_of
from schemas.problem import Feedback, Problem, Profile, of_tenant
from schemas.settings import PromptWords
from streams.engine.policies import Find
from streams.engine.prompts.catalogue import usual_of
from streams.producing.sources import BadLine, SourceLine
from streams.producing.subjects import UNREAD, Subjects
from streams.producing.traces.case import Case, Label
from streams.producing.traces.reading import Reading, Refused
from streams.producing.traces.reflecting import reflection_of
from streams.producing.typed import BadType, other_type, with_known_type
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.episodes import cases_of, first_text
from streams.runtime.embedded.queries.messages import values
from streams.runtime.room import need_room

TOPIC = "traces"
"""What refused lines say that they were meant for."""
ASSUMED_BY = "trace"
"""Who gave a verdict, where nobody knows which tool recorded it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """For whom cases are taken in, as the command line says it."""

    source: str
    find: Find
    policy: str
    profile: Profile = "service"
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    domain: str | None = None
    memory: str = "main"
    tenant: str | None = None
    tool: str | None = None
    evaluation: str | None = None
    tools: bool = False
    """Whether tools are configured, on which the usual settings of a policy may hang."""
    prompts: Mapping[str, PromptWords] = field(default_factory=dict[str, PromptWords])
    statements: Mapping[str, str] = field(default_factory=dict[str, str])
    answer_type: AnswerType | None = None
    """What the answers of all cases are."""

    def as_header(self) -> dict[str, Any]:
        """The plan as JSON values."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "find"}
        typed = self.answer_type
        return values | {"answer_type": None if typed is None else typed.said}

    @classmethod
    def from_header(cls, values: dict[str, Any], find: Find) -> Plan:
        """The plan that a header holds."""
        typed = values.get("answer_type")
        said = None if typed is None else AnswerType.model_validate(typed)
        told: dict[str, Any] = values | {"answer_type": said}
        return cls(**told, find=find)


@dataclass(slots=True)
class Taken:
    """What became of the cases of a file."""

    taken: int = 0
    known: int = 0
    labelled: int = 0
    """Of those taken, how many came with a verdict, a score or a reference."""
    refused: list[Refused] = field(default_factory=list[Refused])
    scopes: set[str] = field(default_factory=set[str])
    paths: set[str] = field(default_factory=set[str])
    """Paths of cases, to a policy that tells them apart by their paths."""


@dataclass(slots=True)
class Placed:
    """A case as it is put on record, and what was said of it."""

    taken: TraceTaken
    labels: list[Feedback]


class Taker:
    """Takes the cases of one file into one log."""

    def __init__(self, log: SqliteLog, plan: Plan) -> None:
        """Raises ``NoPolicy``, or ``BadSetting`` for settings that are none of the policy's."""
        self.log, self.plan, self.done = log, plan, Taken()
        self.policy: Policy[Any] = plan.find(plan.policy)
        usual = usual_of(self.policy, plan.profile, Around(plan.tools), plan.prompts, plan.values)
        self.values = {**usual, **plan.values}
        self.settings = self.policy.resolve(plan.profile, self.values)
        self.scopes: defaultdict[str, dict[str, Placed]] = defaultdict(dict)
        """Cases by scope and name, in their order."""
        self.traces: defaultdict[str, list[tuple[str, TraceTaken]]] = defaultdict(list)
        """Cases of the log by the traces that this file tells in spans."""
        self.known: set[str] = set()
        """Names of cases that were on the log before."""
        self.texts: dict[tuple[str, str], str] = {}
        self.subjects = Subjects(log)

    def run(self, lines: Iterable[SourceLine], *, dry: bool = False) -> Taken:
        """Read every line, then append everything in one commit."""
        reading = Reading(self.plan.evaluation)
        reading.take(lines)
        self.done.refused += reading.refused
        spans = {case.trace.lower() for case in reading.cases if case.in_spans and case.trace}
        for name, taken in cases_of(self.log, spans) if spans else ():
            self.traces[str(taken.trace).lower()].append((name, taken))
        for case in reading.cases:
            try:
                self._take(case)
            except BadLine as error:
                self.done.refused.append((case.line, error))
        commands = [each for scope in self.scopes for each in self._said(scope)]
        # No more of a dry run: to name what it refused could begin a subject's key.
        if dry:
            return self.done
        messages: list[tuple[str, str, dict[str, Any], bytes]] = []
        for label in self._labels():
            value = label.model_dump(mode="json", exclude_none=True)
            messages.append(("feedback", digest(value), {}, canonical(value)))
        for refused in self.done.refused:
            line, wrong = refused
            key, raw = self.letter(refused)
            errors = errors_of(
                TOPIC,
                source=self.plan.source,
                offset=line.number,
                exception=wrong.code,
                # Its text quotes the line, of which nothing may be kept then.
                message=wrong.code if key.endswith(UNREAD) else str(wrong),
            )
            headers = {**errors, PLAN: self.plan.as_header()}
            messages.append(("dead-letters", key, headers, raw))
        self.log.publish(messages, commands)
        return self.done

    def letter(self, refused: Refused) -> tuple[str, bytes]:
        """The key of a refusal among the dead letters, and what is kept of its line."""
        line, error = refused
        # By the error as well: one line may hold several traces, and would name only the first of
        # its refusals.
        name, raw = self.subjects.letter(line.raw, None, str(error))
        return f"{TOPIC}:{self.plan.source}:{line.number}:{name}", raw

    @cached_property
    def learning(self) -> dict[str, Any]:
        """The values that a scope goes by."""
        values = self.policy.settings.learning_values(self.plan.profile, self.values)
        return dict(values)

    # -- cases -------------------------------------------------------------------------------------

    def _take(self, case: Case) -> None:
        """Give a case its place. Raises ``BadLine`` where it is no problem, or the log has no room for it."""
        plan = self.plan
        domain = case.domain or plan.domain or case.dataset or "default"
        said = case.problem_id or f"trace-{text_digest(case.problem)}"
        id, memory = of_tenant(plan.tenant, said, plan.memory)
        scope = scope_id(domain, self.policy.name, memory, self.learning)
        taken = TraceTaken(
            scope=scope,
            policy=self.policy.name,
            profile=plan.profile,
            settings=self.values,
            problem_id=id,
            domain=domain,
            problem=case.problem,
            statement=plan.statements.get(domain),
            dataset=case.dataset,
            series="-",
            position=0,
            labelled=case.label is not None,
            answer=case.answered,
            steps=case.steps,
            source=plan.source,
            tool=plan.tool or case.tool,
            trace=case.trace,
            model=case.model,
        )
        taken = self._checked(taken, memory, case.label)
        name = self._name(case, taken)
        label: Feedback | None = None
        if case.label is not None:
            label = Feedback(episode=name, by=taken.tool or ASSUMED_BY, **case.label.said)
            need_room(self.log.room, label=label)
        if self.log.room is not None:
            size = len(taken.to_json()) + len(reflection_of(self.policy, taken).to_json())
            if size > self.log.room:
                said = f"comes to {size:,} bytes; this log takes {self.log.room:,}"
                raise BadLine(1, "messages", said, "input.size")
        # Twice in one file is once, and whoever wrote it twice may have judged it in between.
        self.done.known += name in self.scopes[scope]
        placed = self.scopes[scope].setdefault(name, Placed(taken, []))
        if label is not None:
            placed.labels.append(label)
            placed.taken = structs.replace(placed.taken, labelled=True)

    def _name(self, case: Case, taken: TraceTaken) -> str:
        """The name of a case: by its scope, tool and trace, and by what was said too where the trace holds more cases.

        Raises ``BadLine`` for spans of a trace that was taken with other ones, and for another type of answer.
        """
        mine = self.scopes[taken.scope]
        steps = [structs.astuple(step) for step in taken.steps]
        # Without an id from its tool, only what was said in it tells two cases of
        # one problem apart.
        said: list[Any] = [taken.scope, taken.tool, taken.trace or steps]
        name = taken_id(taken.domain, taken.problem_id, said)
        before = mine[name].taken if name in mine else self.log.find(name, "taken")
        if case.in_spans:
            # A part of a trace may have come before: from an export in progress, or on a line that
            # was mended. To call the rest known would lose it, and its verdict would judge the part.
            traces = [*self.traces[str(taken.trace).lower()], (name, before)]
            found = {known: each for known, each in traces if _is_beside(each, taken)}
            name = next((known for known, each in found.items() if _is_same(each, taken)), name)
            before = found.get(name)
            if found and not _is_same(before, taken):
                what = (
                    f"{taken.trace} was taken with other steps: import a trace once all of it is "
                    "written, or with another --tool, as a case of its own"
                )
                raise BadLine(1, "traceId", what, "input.duplicate")
        elif isinstance(before, TraceTaken) and not _is_same(before, taken):
            # Many tools give one id to all conversations of a session.
            name = taken_id(
                taken.domain, taken.problem_id, [*said, taken.problem, taken.answer, steps]
            )
            before = mine[name].taken if name in mine else self.log.find(name, "taken")
        if isinstance(before, TraceTaken) and before.answer_type != taken.answer_type:
            raise other_type(taken.problem_id)
        return name

    def _labels(self) -> Iterator[Feedback]:
        """What was said of the answers. On a known case whoever else has judged it has the last word."""
        labels = [
            (name, label)
            for cases in self.scopes.values()
            for name, placed in cases.items()
            for label in placed.labels
        ]
        # Those of known cases too: whoever takes the file again may have judged more of it since.
        known = {name: label.by for name, label in labels if name in self.known}
        judged: set[str] = set()
        for _, value in values(self.log, "feedback") if known else ():
            with suppress(ValueError, AttributeError, TypeError):  # anybody may put anything there
                word = orjson.loads(value)
                by = known.get(word.get("episode"))
                if by is not None and by != word.get("by") and word.get("passed") is None:
                    judged.add(word["episode"])
        return (label for name, label in labels if name not in judged)

    def _checked(self, taken: TraceTaken, memory: str, label: Label | None) -> TraceTaken:
        """The case with the type of its answer.

        Raises ``BadLine`` for what no problem could be, a name that speaks of a subject or that another problem bears,
        or a reference of another form.
        """
        given = {"id": taken.problem_id, "problem": taken.problem, "domain": taken.domain}
        given["memory"] = memory
        typed = self.plan.answer_type
        try:
            problem = Problem.model_validate(given).model_copy(update={"answer_type": typed})
            self.subjects.need_own(problem, id="problem_id")
            if typed is not None:
                problem = with_known_type(problem, None if label is None else label.reference)
        except BadType as error:
            where = "reference" if error.field == "answer" else error.field
            raise BadLine(1, where, error.what, "input.answer_type") from error
        except ValidationError as error:
            place, what = first_fault(error)
            raise BadLine(1, place, what, "input.field") from error
        # Cases and episodes of one problem are counted together, so they must have
        # been asked the same.
        key = (taken.domain, taken.problem_id)
        known = first_text(self.log, *key)
        before = self.texts.setdefault(key, known or taken.problem)
        if before != taken.problem:
            what = f"{taken.problem_id!r} is already taken by another problem text"
            raise BadLine(1, "problem_id", what, "input.duplicate")
        said = None if problem.answer_type is None else problem.answer_type.said
        return structs.replace(taken, answer_type=said)

    # -- records -----------------------------------------------------------------------------------

    def _said(self, scope: str) -> Iterator[tuple[str, str, Event]]:
        """The series of a scope, and what is new of its cases. Nothing where all of them are known."""
        found = self.scopes[scope]
        known = self.log.holding(found, "reflected")
        self.known |= known
        self.done.known += len(known)
        self.done.scopes.add(scope)
        if len(known) == len(found):
            return
        series, members = self._members(scope, known)
        policy = self.policy.under(self.settings)
        opened = SeriesOpened(
            scope=scope,
            series=series,
            size=len(members),
            window=policy.window(self.settings, None),
            # What is produced after it waits until all of it is learned from.
            timing="barrier",
            policy=policy.name,
            policy_version=policy.version,
            profile=self.plan.profile,
            settings=self.learning,
            seed=0,
            walk=1,
        )
        yield f"n/{scope}/{series}", "series", opened
        for position, name in enumerate(members):
            if name in known:
                continue
            taken = structs.replace(found[name].taken, series=series, position=position)
            yield name, "taken", taken
            reflected = reflection_of(self.policy, taken)
            yield name, "reflected", reflected
            if isinstance(path := reflected.summary.get("path"), str):
                self.done.paths.add(path)
            self.done.taken += 1
            self.done.labelled += taken.labelled

    def _members(self, scope: str, known: Container[str]) -> tuple[str, list[str]]:
        """The series that the new cases make, and its members in their order.

        A command that died may have said a part of one: it goes on under the same name.
        """
        found = self.scopes[scope]
        begun: dict[str, str] = {}
        for name in found:
            if name in known:
                reflected = self.log.find(name, "reflected")
                begun[name] = (isinstance(reflected, Reflected) and reflected.series) or ""
        # A series is named by its members. Only the one of the dead command makes the
        # same name of these.
        for series in sorted({*begun.values()}):
            members = [name for name in found if begun.get(name, series) == series]
            if _named(scope, members) == series:
                return series, members
        members = [name for name in found if name not in known]
        return _named(scope, members), members


def _is_same(one: Event | None, two: TraceTaken) -> bool:
    """Whether two cases say the same: what was asked, said, done and answered."""
    return isinstance(one, TraceTaken) and (one.problem, one.answer, one.steps) == (
        two.problem,
        two.answer,
        two.steps,
    )


def _is_beside(one: Event | None, two: TraceTaken) -> bool:
    """Whether two cases are of one scope and tool."""
    return isinstance(one, TraceTaken) and (one.scope, one.tool) == (two.scope, two.tool)


def _named(scope: str, members: Sequence[str]) -> str:
    """The series of these cases, by what is in it."""
    return digest([TOPIC, scope, *members])
