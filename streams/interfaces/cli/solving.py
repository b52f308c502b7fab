"""The `solve` command: one problem, now, on a partition of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs
from pydantic import ValidationError

from handlers.answers.plain import shown
from handlers.policies.base import Policy
from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeOpened
from schemas.faults import first_fault
from schemas.identity import address_order, is_numbered
from schemas.problem import PROBLEM_CHARS, Limits, Problem, of_tenant
from schemas.settings import unoffered
from state.journal import Recorder
from streams.answering.budgets import OutOfBudget
from streams.answering.world import World
from streams.core.backbone import BackboneError
from streams.core.grants import SIMULATED, Lacking
from streams.core.judgements import judgements, words
from streams.engine.episode import settings_of
from streams.interfaces.cli.config import display, load
from streams.interfaces.cli.dead_letters import option
from streams.interfaces.cli.draining import finished, over_budget
from streams.interfaces.cli.errors import FAILED, OK, SPENT, usage
from streams.interfaces.cli.expecting import say_expected_of_one
from streams.interfaces.cli.opening import is_missing, open_own
from streams.interfaces.cli.options import pairs
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.producing import check_names
from streams.interfaces.cli.prompting import set_for
from streams.interfaces.cli.setup import (
    Models,
    as_cli,
    need_budget_prices,
    need_prices,
    offered_by,
    policy_of,
    world_of,
)
from streams.interfaces.cli.spent import spent
from streams.interfaces.cli.typed import as_usage, given_type
from streams.producing.sources import BadLine
from streams.producing.subjects import Subjects
from streams.producing.typed import BadType, with_known_type
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.embedded.solving import Onlooker, Solved, solve_on, text_id
from streams.views.facts import says
from streams.views.rows import rows
from streams.views.words import one_line, plural, sure

if TYPE_CHECKING:
    from streams.interfaces.cli.options import PolicyOptions


class Whose(NamedTuple):
    """Whose a problem is, and whom it is about."""

    tenant: str | None = None
    subject: str | None = None


def solve(
    text: str,
    log: str | None,
    way: PolicyOptions,
    models: Models,
    *,
    limits: Limits,
    json: bool,
    whose: Whose,
) -> int:
    """Solve one problem and print the answer; what it may know is the latest memory of its scope."""
    settings = pairs(way.settings, "--set")
    found = policy_of(way.policy, way.profile, settings)
    # Somebody waits at the terminal: a dead endpoint ends the command, where a worker would wait
    # for it.
    name = found.resolve(way.profile, settings).backbone
    world = world_of(models, patient=False, offering=(name,))
    # What was said last counts most: a policy's own values, then prompts of a file, then --set.
    usual = found.usual(way.profile, world.around.under(settings))
    settings = {**usual, **set_for(found, way.prompts), **settings}
    need_offered(log, models, name)
    check_names(way, whose.tenant)
    typed = given_type(way.answer_type)
    problem = _problem(
        # One character more than may be, which the check of its length then refuses by name.
        sys.stdin.read(PROBLEM_CHARS + 1) if text == "-" else text,
        answer_type=typed,
        domain=way.domain or "default",
        statement=load().statements.get(way.domain or "default"),
        policy=found.name,
        profile=way.profile,
        settings=settings,
        limits=limits,
        seed=way.seed,
        memory=way.memory,
        tenant=whose.tenant,
    )
    # Before the log is opened, which makes its file: a wrong command line leaves nothing behind.
    need_budget_prices(world)
    if limits.cost is not None:
        need_prices(world, "--cost-limit", [name])
    with closing(open_own(log)) as opened:
        # Only here, as it is the log that holds the keys of subjects.
        problem = _about(opened, whose.subject, problem)
        try:
            solved = finished(
                world, solve_on(opened, found, problem, world, Terminal(found, problem, world))
            )
        except BackboneError as error:
            raise as_cli(error) from error
        except OutOfBudget as error:
            raise over_budget(error) from error
        journal = opened.journal(solved.episode)
        code = _tell(log, solved, journal, json=json)
        # Told as an error after the answer was printed: the best so far is a result, and that a
        # limit ended it is what a script has to know.
        if code == SPENT:
            raise spent(solved.episode, journal, solved.closed, option(log))
    return code


def need_offered(log: str | None, models: Models, name: str | None) -> None:
    """Raises a usage error where a backbone is named that is not offered, unless its answer may be on the log."""
    offered = offered_by(models)
    if name is not None and name not in offered and is_missing(log):
        raise usage(
            unoffered(name, offered),
            field="--set backbone",
            error="backbone.unknown",
            hint=f"Offer it: --offer {name}=BACKBONE",
        )


def _problem(text: str, **given: Any) -> Problem:
    # Named by its text: the same question is the same episode, and is not paid for twice.
    own = text_id(text, given["answer_type"])
    # Tenants are kept apart by names, so that one never meets what another was told.
    id, memory = of_tenant(given["tenant"], own, given["memory"])
    try:
        said: dict[str, Any] = {**given, "id": id, "memory": memory, "problem": text}
        return with_known_type(Problem(**said))
    except BadType as error:
        raise as_usage(error) from error
    except ValidationError as error:
        place, what = first_fault(error)
        field = place.partition(".")[0] or "PROBLEM"
        raise usage(what, field=field.upper() if field == "problem" else f"--{field}") from error


def _about(log: SqliteLog, subject: str | None, problem: Problem) -> Problem:
    """The problem as one of its subject's, if it has one. Raises a usage error where the log has no keys."""
    subjects = Subjects(log)
    try:
        problem = subjects.about(subject, problem)
        subjects.need_own(problem)
    except BadLine as error:
        raise usage(error.what, field=f"--{error.field}", error=error.code) from error
    except ValidationError as error:
        raise usage(first_fault(error)[1], field="--memory") from error
    return problem


class Terminal(Onlooker):
    """A terminal is told on standard error how a problem is solved, and shows each event as it is recorded."""

    def __init__(self, policy: Policy[Any], problem: Problem, world: World) -> None:
        self.policy, self.problem, self.world = policy, problem, world

    def waits(self, why: str) -> None:
        """Say who works on the same episode."""
        say(why)

    def is_known(self, episode: str, journal: Mapping[str, Event]) -> None:
        """Say which of the given options were not used."""
        now: str | None = None
        with suppress(Lacking):  # what is known is told without the backbone that gave it
            now = self.world.terms(settings_of(self.policy, self.problem).backbone).backbones
        say_known(episode, journal, self.problem, now)

    def begins(self, log: SqliteLog) -> None:
        """Say what the work is expected to take."""
        say_expected_of_one(self.world, log, self.policy, self.problem)

    def resumes(self, limits: Limits) -> None:
        """Say which limits hold."""
        say(f"resumed with the limits it was begun with: {worded(limits)}")

    def recorder(self, writer: Writer) -> Recorder:
        """Return a recorder that shows what it records."""
        return Live(writer)


def say_known(
    episode: str, journal: Mapping[str, Event], problem: Problem, backbones: str | None
) -> None:
    """Say that nothing is asked, which of the given options made no other episode, and how to ask anew."""
    say("known: solved on this log before; the recorded answer follows, and nothing was asked")
    opened = journal.get("opened")
    if not isinstance(opened, EpisodeOpened):
        return
    told = [("limits", worded(opened.limits), worded(problem.limits))]
    if backbones is not None:
        told.append(("backbone", opened.backbones, backbones))
    for name, before, now in told:
        if before != now:
            say(f"  its {name} then: {before}; not used: {now}")
    # The highest address, as that is from where nothing has to be asked again.
    last = max((at for at in journal if is_numbered(at)), key=address_order, default="0")
    say(f"  anew: --seed {problem.seed + 1}, or another --log")
    say(f"  go on from it: metalogue fork {episode} --at {last}, with --backbone or limits")


def worded(limits: Limits) -> str:
    """Limits in words."""
    said = limits.model_dump(exclude_none=True)
    return ", ".join(f"{name} {most:g}" for name, most in said.items()) or "none"


class Live:
    """A recorder that shows each event on a terminal as it is recorded."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        # Handed on as they are: only what is stated can be shown.
        self.commit, self.keep, self.send = writer.commit, writer.keep, writer.send
        # Only where a person looks on. In a file or a pipe the lines would be in the way of the
        # answer.
        self.shown = display() == "full" and sys.stderr.isatty()
        self.steps: list[tuple[str, Event]] = []

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        """Record and show."""
        self.writer.state(topic, episode, address, event)
        if self.shown and is_numbered(address):
            self.steps.append((address, event))
            say(told(self.steps))


def told(steps: Sequence[tuple[str, Event]]) -> str:
    """The newest step in a line, as `show` says it: who was asked and what it took, or what was made of a reply."""
    at, event = steps[-1]
    source = getattr(event, "source", None)
    # A reading names the reply that it was made of; that one says which role was asked.
    reply = next((e for where, e in reversed(steps) if where == source), None)
    if isinstance(reply, Completed):
        who, what, _ = says(event, reply)
        return f"{at:>8}  {who:<12} {one_line(what)}"
    (row,) = rows([(at, event)])
    if not row.called:
        return f"{at:>8}  {row.asked:<12} {one_line(row.answered)}"
    tokens = f"{row.prompt_tokens or 0:,} in  {row.completion_tokens or 0:,} out"
    took = "" if row.seconds is None else f"  {row.seconds:.1f} s"
    unknown = row.prompt_tokens is None or row.completion_tokens is None
    return f"{at:>8}  {row.asked:<12} replied  {'tokens unknown' if unknown else tokens}{took}"


def _tell(log: str | None, solved: Solved, journal: Mapping[str, Event], *, json: bool) -> int:
    opened, judged = journal.get("opened"), judgements(journal.values())
    simulated = isinstance(opened, EpisodeOpened) and SIMULATED in opened.backbones
    closed = solved.closed
    plain = None if closed.answer is None else shown(closed.answer)
    if json:
        body = closed.told() | {"plain": plain}
        del body["items"]
        who = {"episode": solved.episode, "simulated": simulated, "known": solved.known}
        told = {**who, **body}
        out_json({**told, "judgements": structs.asdict(judged)})
    else:
        if plain is not None:
            out(plain)
        said = sure(closed.confidence, closed.confidence_source, closed.calibrated)
        calls = plural(closed.usage.calls, "call")
        marked = " SIMULATED" if simulated else ""
        say(f"{closed.status} by {closed.ended_by}, {said}, {calls}{marked}")
        if judged.unread:
            say(f"  {words(judged)}: metalogue show says what came instead")
        say(f"  metalogue show {solved.episode}{option(log)}")
    if closed.status == "exhausted":
        return SPENT
    return OK if closed.status == "answered" else FAILED
